import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readSync, statfsSync, writeSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { listenOnLoopback } from '../loopback.ts';
import { type Answer, asS3Error, errorXml, S3Error } from './answers.ts';
import {
  type Address,
  type Call,
  type FreeBytes,
  type Operation,
  readAddress,
  type Upload,
  type Write,
} from './call.ts';
import { deleteObject, getObject, headObject, listObjects, putObject } from './objects.ts';
import { abortUpload, completeUpload, createUpload, listParts, uploadPart } from './uploads.ts';

/** The AWS account and Region that the local services stand for. The account owns the buckets, for ExpectedBucketOwner. */
export const ACCOUNT = '000000000000';
export const REGION = 'us-east-1';

/**
 * Clients of the local services need some credentials. These are no secret: nothing checks them. An S3 server without IAM
 * takes the key for the owner of its buckets.
 */
export const CREDENTIALS = { accessKeyId: ACCOUNT, secretAccessKey: 'local-secret-access-key' };

const MIN_PART_BYTES = 5 * 1024 * 1024;

export type S3Options = {
  /** Objects are plain files at DIRECTORY/BUCKET/KEY. */
  directory: string;
  buckets: readonly string[];
  /** Called when a request was processed, before its response is sent. */
  log?: (stored: Stored) => void;
  /** The clock for objects, and for the Date header: the SDK retries an error if Date differs from its own clock by minutes. */
  now?: () => number;
  /** The account that owns the buckets. Default: {@link ACCOUNT}. */
  account?: string;
  /** Keeps each version of an object, which GetObject serves by its id. Default: a new version replaces the one before. */
  versioned?: boolean;
  /** Default: S3's 5 MiB. Tests lower it to use many small parts. */
  minPartBytes?: number;
  /** Default: that of `node:fs`. Tests fill the disk. */
  write?: Write;
  /** Default: asks the system. */
  freeBytes?: FreeBytes;
};

/** A request that succeeded. */
export type Stored = {
  operation: Operation;
  key: string;
  /** Size of the body of a PUT. */
  bytes: number;
};

export type S3 = AsyncDisposable & { endpoint: string; close(): Promise<void> };

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
};

/**
 * Starts an S3 endpoint on a local folder: path-style, on 127.0.0.1 only, with the operations that an export needs.
 * It is as strict as S3 about checksums, lengths, conditions and multipart uploads, and refuses requests without
 * ExpectedBucketOwner.
 */
export async function startS3(options: S3Options): Promise<S3> {
  for (const bucket of options.buckets) await mkdir(join(options.directory, bucket), { recursive: true });
  const { now = Date.now } = options;
  const uploads = new Map<string, Upload>();
  const server = createServer((request, response) => {
    response.setHeader('Date', new Date(now()).toUTCString());
    response.setHeader('x-amz-request-id', randomUUID());
    // The client may disconnect while the response is sent.
    serve(options, uploads, request, response).catch(() => response.destroy());
  });
  const { address, close } = await listenOnLoopback(server, 0);
  return { endpoint: `http://${address}`, close, [Symbol.asyncDispose]: close };
}

async function serve(
  options: S3Options,
  uploads: Map<string, Upload>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const address = readAddress(request);
  try {
    const { operation, key } = address;
    if (operation === undefined) throw new S3Error('NotImplemented');
    const header = (name: string) => [request.headers[name]].flat()[0];
    authorize(options, address, header('x-amz-expected-bucket-owner'));
    const { directory, versioned = false, minPartBytes = MIN_PART_BYTES, now = Date.now } = options;
    const { write = writeSync, freeBytes = askFreeBytes } = options;
    const place = { directory, versioned, ...address };
    const answer = await HANDLERS[operation]({
      ...place,
      request,
      header,
      uploads,
      minPartBytes,
      now,
      write,
      freeBytes,
    });
    options.log?.({ operation, key, bytes: bodyBytes(request) });
    await send(response, answer);
  } catch (error) {
    if (response.headersSent) throw error;
    const { status, code, message } = asS3Error(error);
    request.resume(); // Reads the rest of the body, so that the client reads the response.
    await send(response, { status, ...(request.method !== 'HEAD' && { body: errorXml(code, message) }) });
  }
}

function askFreeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}

/** The size that the client states, without the framing of aws-chunked. */
function bodyBytes({ headers }: IncomingMessage): number {
  return Number(headers['x-amz-decoded-content-length'] ?? headers['content-length'] ?? 0);
}

function authorize(
  { buckets, account = ACCOUNT }: S3Options,
  { bucket }: Address,
  owner: string | undefined,
): void {
  if (!buckets.includes(bucket)) throw new S3Error('NoSuchBucket', 'The specified bucket does not exist');
  if (owner === undefined) throw new S3Error('AccessDenied', 'ExpectedBucketOwner is missing');
  if (owner !== account) throw new S3Error('AccessDenied', 'Access Denied');
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
 * above its high water mark of 64 KiB; only the last chunk may be smaller.
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
