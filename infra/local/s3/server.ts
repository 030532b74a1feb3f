import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { pipeline } from 'node:stream/promises';
import { listenOnLoopback } from '../loopback.ts';
import { type Answer, type ErrorCode, errorXml, S3Error } from './answers.ts';
import { type Call, operationOf } from './call.ts';
import { type Fault, type Operation, takeFault } from './faults.ts';
import { deleteObject, getObject, headObject, listObjects, putObject } from './objects.ts';
import { type Credentials, verifySignature } from './signature.ts';
import { removeStaleUploads } from './store.ts';
import {
  abortUpload,
  completeUpload,
  createUpload,
  listParts,
  listUploads,
  type Uploads,
  uploadPart,
} from './uploads.ts';

/** The account that owns every bucket here: what ExpectedBucketOwner has to say. */
export const ACCOUNT = '000000000000';

/** What a client of this endpoint signs with. They open nothing but a folder on this machine. */
export const CREDENTIALS: Credentials = {
  accessKeyId: 'LOCALACCESSKEYID',
  secretAccessKey: 'local-secret-access-key',
};

const MIN_PART_BYTES = 5 * 1024 * 1024;

export type S3Options = {
  /** Objects are plain files at DIRECTORY/bucket/key. */
  directory: string;
  /** 0, the default, is any free port. */
  port?: number;
  buckets: readonly string[];
  faults?: Fault[];
  log?: (entry: JournalEntry) => void;
  /** The clock that the answers tell; a client whose own one differs by minutes takes each refusal for a matter of time. */
  now?: () => number;
  account?: string;
  /** Refuses a call that does not say whom it expects to own the bucket. */
  requireOwner?: boolean;
  credentials?: Credentials;
  /** Only this region in the signature's scope; any unless given. */
  region?: string;
  tls?: { key: string; cert: string };
  /** S3's 5 MiB, unless a test wants many parts of few bytes. */
  minPartBytes?: number;
  /** Objects and parts are thrown away unseen, for measuring a client. */
  sink?: boolean;
};

export type JournalEntry = {
  operation: Operation | 'unknown';
  method: string;
  bucket: string;
  key: string;
  part?: number;
  /** Of the body that a PUT brought. */
  bytes?: number;
  status: number;
  error?: ErrorCode;
};

export type S3 = AsyncDisposable & {
  endpoint: string;
  /** Every request that was answered, in the order of the answers. */
  journal: JournalEntry[];
  /** Faults still to come; push one to plant it. */
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
 * S3, as far as an export needs it, over a local folder: path style, on 127.0.0.1 only, and strict where S3 is
 * (signatures, checksums, lengths, the rules of a multipart upload), so that what works here works there.
 */
export async function startS3(options: S3Options): Promise<S3> {
  for (const bucket of options.buckets) {
    await mkdir(`${options.directory}/${bucket}`, { recursive: true });
    await removeStaleUploads(options.directory, bucket, Date.now());
  }
  const journal: JournalEntry[] = [];
  const faults = options.faults ?? [];
  const uploads: Uploads = new Map();
  const { now = Date.now } = options;
  const listener: RequestListener = (request, response) => {
    response.setHeader('Date', new Date(now()).toUTCString());
    serve({ ...options, faults }, uploads, request, response)
      .then((entry) => {
        journal.push(entry);
        options.log?.(entry);
      })
      .catch(() => response.destroy()); // the client went away in the middle of its answer
  };
  const server = options.tls ? createTlsServer(options.tls, listener) : createServer(listener);
  const { address, close } = await listenOnLoopback(server, options.port ?? 0);
  const endpoint = `${options.tls ? 'https' : 'http'}://${address}`;
  return { endpoint, journal, faults, close, [Symbol.asyncDispose]: close };
}

type Options = S3Options & { faults: Fault[] };

async function serve(
  options: Options,
  uploads: Uploads,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<JournalEntry> {
  const { bucket, key, query } = address(request);
  const method = request.method ?? '';
  const operation = operationOf(method, key, query);
  const part = query.has('partNumber') ? Number(query.get('partNumber')) : undefined;
  const entry: Omit<JournalEntry, 'status'> = {
    operation: operation ?? 'unknown',
    method,
    bucket,
    key,
    ...(part === undefined ? {} : { part }),
    ...(method === 'PUT' && { bytes: bodyBytes(request) }),
  };
  const requestId = randomUUID();
  try {
    if (operation === undefined) throw new S3Error('NotImplemented');
    const header = (name: string) => [request.headers[name]].flat()[0];
    const { directory, minPartBytes = MIN_PART_BYTES, sink = false } = options;
    const call = { operation, request, directory, bucket, key, query, header, uploads, minPartBytes, sink };
    authorize(options, call);
    const fault = takeFault(options.faults, { operation, key, part });
    const answer = await answerWith(fault, call, response, requestId);
    if (answer !== undefined) await send(response, answer, requestId);
    return { ...entry, status: answer?.status ?? 0 };
  } catch (error) {
    if (response.headersSent) throw error;
    const known = error instanceof S3Error ? error : new S3Error('InternalError', String(error));
    // What is left of the body is thrown away, so that the client comes to read the answer.
    request.resume();
    const body = errorXml(known.code, known.message, requestId);
    await send(response, { status: known.status, ...(method === 'HEAD' ? {} : { body }) }, requestId);
    return { ...entry, status: known.status, error: known.code };
  }
}

/** As announced, without the framing of aws-chunked; what differs from it is refused. */
function bodyBytes({ headers }: IncomingMessage): number {
  return Number(headers['x-amz-decoded-content-length'] ?? headers['content-length'] ?? 0);
}

function authorize(options: Options, { request, bucket, header }: Call): void {
  verifySignature(request, options.credentials ?? CREDENTIALS, options.region);
  if (!options.buckets.includes(bucket))
    throw new S3Error('NoSuchBucket', 'The specified bucket does not exist');
  const owner = header('x-amz-expected-bucket-owner');
  if (owner === undefined && options.requireOwner) throw new S3Error('AccessDenied', 'No expected owner');
  if (owner !== undefined && owner !== (options.account ?? ACCOUNT))
    throw new S3Error('AccessDenied', 'Access Denied');
}

/** The operation, with a fault before, after or instead of it; undefined where there is to be no answer. */
async function answerWith(
  fault: Fault['answer'] | undefined,
  call: Call,
  response: ServerResponse,
  requestId: string,
): Promise<Answer | undefined> {
  if (fault === undefined) return HANDLERS[call.operation](call);
  if (fault === 'reset') {
    call.request.socket.resetAndDestroy();
    return undefined;
  }
  if (fault === 'stall') {
    call.request.resume();
    return undefined;
  }
  if (fault === 'error inside 200') {
    call.request.resume();
    return { status: 200, body: errorXml('InternalError', 'We encountered an internal error.', requestId) };
  }
  if (fault === 'wrong checksum') return withWrongChecksum(await HANDLERS[call.operation](call));
  if (fault !== 'lost answer') throw new S3Error(fault);
  await HANDLERS[call.operation](call);
  response.socket?.resetAndDestroy();
  return undefined;
}

function withWrongChecksum(answer: Answer): Answer {
  const headers = { ...answer.headers };
  if (headers['x-amz-checksum-crc32'] !== undefined) headers['x-amz-checksum-crc32'] = 'AAAAAA==';
  if (typeof answer.body !== 'string') return { ...answer, headers };
  return { ...answer, headers, body: answer.body.replace(/(<ChecksumCRC32>)[^<]*/, '$1AAAAAA==') };
}

function address(request: IncomingMessage): { bucket: string; key: string; query: URLSearchParams } {
  const [path = '', query = ''] = (request.url ?? '').split('?', 2);
  const [, bucket = '', ...key] = path.split('/');
  return {
    bucket: decodeURIComponent(bucket),
    key: decodeURIComponent(key.join('/')),
    query: new URLSearchParams(query),
  };
}

async function send(
  response: ServerResponse,
  { status, headers, body }: Answer,
  requestId: string,
): Promise<void> {
  const type: Record<string, string> = typeof body === 'string' ? { 'Content-Type': 'application/xml' } : {};
  response.writeHead(status, { ...type, ...headers, 'x-amz-request-id': requestId });
  if (typeof body !== 'object') response.end(body);
  else if (body.end < body.start) response.end();
  else await pipeline(createReadStream(body.path, { start: body.start, end: body.end }), response);
}
