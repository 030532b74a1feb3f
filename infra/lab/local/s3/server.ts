import { randomUUID } from 'node:crypto';
import { createReadStream, openSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { finished, pipeline } from 'node:stream/promises';
import { type LoopbackServer, startOnLoopback } from '../loopback.ts';
import { asS3Error, errorXml, type S3Answer, S3Error } from './answers.ts';
import { type Operation, readAddress, type S3Call, type S3Endpoint, type S3Options } from './call.ts';
import { deleteObject, listObjects, putObject, readObject } from './objects.ts';
import { abortUpload, completeUpload, createUpload, listParts, uploadPart } from './uploads.ts';

/** The AWS account and Region that the local services stand for. The account owns the buckets. */
export const LOCAL_AWS_ACCOUNT = '000000000000';
export const LOCAL_REGION = 'us-east-1';

/**
 * Clients of the local services need some credentials. These are no secret: nothing checks them. An S3 server
 * without IAM takes the key for the owner of its buckets.
 */
export const CREDENTIALS = { accessKeyId: LOCAL_AWS_ACCOUNT, secretAccessKey: 'local-secret-access-key' };

/** Bytes of one read of a file. Smaller reads take more CPU. */
const READ_BYTES = 512 * 1024;

const DEFAULTS = {
  now: Date.now,
  account: LOCAL_AWS_ACCOUNT,
  versioned: false,
  minPartBytes: 5 * 1024 * 1024,
};

const HANDLERS: Record<Operation, (call: S3Call) => Promise<S3Answer>> = {
  PutObject: putObject,
  GetObject: readObject,
  HeadObject: readObject,
  DeleteObject: deleteObject,
  ListObjectsV2: listObjects,
  CreateMultipartUpload: createUpload,
  UploadPart: uploadPart,
  ListParts: listParts,
  CompleteMultipartUpload: completeUpload,
  AbortMultipartUpload: abortUpload,
};

/**
 * Starts an S3 endpoint on a local folder: path-style, on 127.0.0.1 only, with the operations that an export
 * needs. It is as strict as S3 about checksums, lengths, conditions, multipart uploads and the end of a
 * pre-signed URL, and refuses other requests without ExpectedBucketOwner.
 */
export async function startS3(options: S3Options): Promise<LoopbackServer> {
  const endpoint: S3Endpoint = { ...DEFAULTS, ...options, uploads: new Map() };
  for (const bucket of endpoint.buckets) await mkdir(join(endpoint.directory, bucket), { recursive: true });
  return startOnLoopback((...exchange) => serve(endpoint, ...exchange), endpoint);
}

async function serve(
  endpoint: S3Endpoint,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  response.setHeader('x-amz-request-id', randomUUID());
  try {
    const header = (name: string) => [request.headers[name]].flat()[0];
    const call: S3Call = { ...endpoint, ...readAddress(request), request, header };
    if (call.operation === undefined) throw new S3Error('NotImplemented');
    checkCaller(call);
    await sendS3Answer(response, await HANDLERS[call.operation](call));
  } catch (error) {
    if (response.headersSent) throw error;
    const { status, code, message } = asS3Error(error);
    // A client that still sends would not read the answer.
    await finished(request.resume()).catch(() => {});
    await sendS3Answer(response, { status, body: errorXml(code, message) });
  }
}

function checkCaller({ buckets, bucket, account, header, query, now }: S3Call): void {
  if (!buckets.includes(bucket)) throw new S3Error('NoSuchBucket', 'The specified bucket does not exist');
  if (query.has('X-Amz-Signature')) {
    if (now() >= expiryOf(query)) throw new S3Error('AccessDenied', 'Request has expired');
    return;
  }
  if (header('x-amz-expected-bucket-owner') !== account)
    throw new S3Error('AccessDenied', 'ExpectedBucketOwner is missing, or is not the owner');
}

/** Until when a pre-signed URL is valid, in epoch ms. Its signature is not checked, as no credentials are. */
function expiryOf(query: URLSearchParams): number {
  const [, date, time] = /^(\d{8})T(\d{6})Z$/.exec(query.get('X-Amz-Date') ?? '') ?? [];
  const from = `${date}${time}`.replace(/^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/, '$1-$2-$3T$4:$5:$6Z');
  return Date.parse(from) + Number(query.get('X-Amz-Expires')) * 1000;
}

/** Node sends no body in answer to HEAD. */
async function sendS3Answer(
  response: ServerResponse,
  { status = 200, headers, body }: S3Answer,
): Promise<void> {
  const isXml = typeof body === 'string';
  response.writeHead(status, { ...(isXml && { 'Content-Type': 'application/xml' }), ...headers });
  if (body === undefined || isXml || response.req.method === 'HEAD')
    return void response.end(isXml ? body : undefined);
  // Opens the file before another request can replace it.
  const { path, start, end } = body;
  await pipeline(
    createReadStream(path, { fd: openSync(path, 'r'), start, end, highWaterMark: READ_BYTES }),
    response,
  );
}
