import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { listenOnLoopback } from '../loopback.ts';
import { type Answer, type ErrorCode, errorXml, S3Error } from './answers.ts';
import { type Call, type Operation, readAddress, type Upload } from './call.ts';
import { type Fault, handleWithFault, takeFault } from './faults.ts';
import { deleteObject, getObject, headObject, listObjects, putObject } from './objects.ts';
import { type Credentials, verifySignature } from './signature.ts';
import { removeStaleUploads } from './store.ts';
import { abortUpload, completeUpload, createUpload, listParts, listUploads, uploadPart } from './uploads.ts';

/** The default owner of the buckets, for ExpectedBucketOwner. */
export const ACCOUNT = '000000000000';

/** Clients of this endpoint sign with these. They are no secret: they only give access to a local folder. */
export const CREDENTIALS: Credentials = {
  accessKeyId: 'LOCALACCESSKEYID',
  secretAccessKey: 'local-secret-access-key',
};

const MIN_PART_BYTES = 5 * 1024 * 1024;

export type S3Options = {
  /** Objects are plain files at DIRECTORY/BUCKET/KEY. */
  directory: string;
  /** Default: any free port. */
  port?: number;
  buckets: readonly string[];
  faults?: Fault[];
  log?: (entry: JournalEntry) => void;
  /** The clock for objects, and for the Date header: the SDK retries an error if Date differs from its own clock by minutes. */
  now?: () => number;
  /** The account that owns the buckets. Default: {@link ACCOUNT}. */
  account?: string;
  /** Refuses requests without ExpectedBucketOwner. */
  requireOwner?: boolean;
  /** Keeps each version of an object, which GetObject serves by its id. Default: a new version replaces the one before. */
  versioned?: boolean;
  tls?: { key: string; cert: string };
  /** Default: S3's 5 MiB. Tests lower it to use many small parts. */
  minPartBytes?: number;
  /** Discards the bytes of objects and parts unchecked, for measuring a client. */
  sink?: boolean;
};

export type JournalEntry = {
  operation: Operation | 'unknown';
  method: string;
  bucket: string;
  key: string;
  part?: number;
  /** Size of the body of a PUT. */
  bytes?: number;
  /** 0 if no response was sent. */
  status: number;
  error?: ErrorCode;
};

export type S3 = AsyncDisposable & {
  endpoint: string;
  /** Every finished request, in order of the responses. */
  journal: JournalEntry[];
  /** Push a fault to make a later request fail. */
  faults: Fault[];
  close(): Promise<void>;
};

const HANDLERS: Record<Operation, (call: Call) => Promise<Answer>> = {
  PutObject: putObject,
  GetObject: getObject,
  HeadObject: headObject,
  DeleteObject: deleteObject,
  ListObjectsV2: listObjects,
  CreateMultipartUpload: createUpload,
  UploadPart: uploadPart,
  ListParts: listParts,
  CompleteMultipartUpload: completeUpload,
  AbortMultipartUpload: abortUpload,
  ListMultipartUploads: listUploads,
};

/**
 * Starts an S3 endpoint on a local folder: path-style, on 127.0.0.1 only, with the operations that an export needs.
 * It is as strict as S3 about signatures, checksums, lengths and multipart uploads.
 */
export async function startS3(options: S3Options): Promise<S3> {
  for (const bucket of options.buckets) {
    await mkdir(join(options.directory, bucket), { recursive: true });
    await removeStaleUploads(options.directory, bucket, Date.now());
  }
  const { faults = [], tls, now = Date.now } = options;
  const journal: JournalEntry[] = [];
  const state: State = { ...options, faults, uploads: new Map() };
  const listener: RequestListener = (request, response) => {
    response.setHeader('Date', new Date(now()).toUTCString());
    serve(state, request, response)
      .then((entry) => {
        journal.push(entry);
        options.log?.(entry);
      })
      .catch(() => response.destroy()); // The client disconnected while the response was sent.
  };
  const server = tls ? createTlsServer(tls, listener) : createServer(listener);
  const { address, close } = await listenOnLoopback(server, options.port ?? 0);
  const endpoint = `${tls ? 'https' : 'http'}://${address}`;
  return { endpoint, journal, faults, close, [Symbol.asyncDispose]: close };
}

type State = S3Options & { faults: Fault[]; uploads: Map<string, Upload> };

async function serve(
  state: State,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<JournalEntry> {
  const { operation, bucket, key, query } = readAddress(request);
  const { method = '' } = request;
  const part = query.has('partNumber') ? Number(query.get('partNumber')) : undefined;
  const entry: Omit<JournalEntry, 'status'> = {
    ...{ operation: operation ?? 'unknown', method, bucket, key },
    ...(part !== undefined && { part }),
    ...(method === 'PUT' && { bytes: bodyBytes(request) }),
  };
  response.setHeader('x-amz-request-id', randomUUID());
  try {
    const isOfVersion = query.has('versionId');
    if (operation === undefined || (isOfVersion && !(state.versioned && operation === 'GetObject')))
      throw new S3Error('NotImplemented');
    const header = (name: string) => [request.headers[name]].flat()[0];
    const { directory, uploads, minPartBytes = MIN_PART_BYTES, now = Date.now, sink = false } = state;
    const place = { directory, bucket, key, versioned: state.versioned ?? false };
    const call = { ...place, operation, request, query, header, uploads, minPartBytes, now, sink };
    authorize(state, call);
    const fault = takeFault(state.faults, { operation, key, part });
    const handle = HANDLERS[operation];
    const answer = await (fault ? handleWithFault(fault, handle, call, response) : handle(call));
    if (answer !== undefined) await send(response, answer);
    return { ...entry, status: answer?.status ?? 0 };
  } catch (error) {
    if (response.headersSent) throw error;
    const { status, code, message } =
      error instanceof S3Error ? error : new S3Error('InternalError', String(error));
    request.resume(); // Reads the rest of the body, so that the client reads the response.
    await send(response, { status, ...(method === 'HEAD' ? {} : { body: errorXml(code, message) }) });
    return { ...entry, status, error: code };
  }
}

/** The size that the client states, without the framing of aws-chunked. */
function bodyBytes({ headers }: IncomingMessage): number {
  return Number(headers['x-amz-decoded-content-length'] ?? headers['content-length'] ?? 0);
}

function authorize(
  { buckets, requireOwner, account = ACCOUNT }: State,
  { request, bucket, header }: Call,
): void {
  verifySignature(request, CREDENTIALS);
  if (!buckets.includes(bucket)) {
    throw new S3Error('NoSuchBucket', 'The specified bucket does not exist');
  }
  const owner = header('x-amz-expected-bucket-owner');
  if (owner === undefined && requireOwner)
    throw new S3Error('AccessDenied', 'ExpectedBucketOwner is missing');
  if (owner !== undefined && owner !== account) throw new S3Error('AccessDenied', 'Access Denied');
}

/** Of a file that is sent. More and smaller writes take more CPU. */
const READ_BYTES = 512 * 1024;

async function send(response: ServerResponse, { status, headers, body }: Answer): Promise<void> {
  response.writeHead(status, {
    ...(typeof body === 'string' && { 'Content-Type': 'application/xml' }),
    ...headers,
  });
  if (typeof body !== 'object') return void response.end(body);
  const { path, start, end } = body;
  if (end < start) response.end();
  else await pipeline(readRange(path, start, end), response);
}

/**
 * Yields the same buffer each time, so that a large file leaves no garbage. `pipeline` waits until the response has sent a chunk
 * above its high water mark of 64 KiB; only the last chunk may be smaller. Reads synchronously, so that the journal has the request
 * before its client has the last byte.
 */
function* readRange(path: string, start: number, end: number): Generator<Buffer> {
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, end + 1 - start));
    for (let at = start; at <= end; ) {
      const bytes = readSync(file, buffer, 0, Math.min(buffer.length, end + 1 - at), at);
      if (bytes === 0) throw new Error('The file is shorter than its metadata says');
      at += bytes;
      yield buffer.subarray(0, bytes);
    }
  } finally {
    closeSync(file);
  }
}
