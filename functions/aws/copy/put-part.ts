import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { CopyFailed, ServiceUnavailable } from '../../workflow/errors.ts';
import { base64Crc32 } from './crc32.ts';
import { signPut } from './sign.ts';
import { asPartError, type Destination, type Part, type Upload } from './upload.ts';

// A part is sent again from its buffer after 0.2 + 0.4 + 0.8 + 1.6 = 3 s of pauses; S3's slow-down passes in seconds,
// and what lasts longer is the state machine's to wait for.
const TRIES = 5;
const PAUSE_MS = 200;

// In which nothing of the part goes out, or no answer comes once all of it has; while it goes, undici waits on, and a call's
// deadline ends it.
export const TIMEOUT_MS = 60_000;

const SLICE_BYTES = 256 * 1024;

/** Codes that come with a 4xx and pass nevertheless. */
const PASSING = /^(RequestTimeout|BadDigest|IncompleteBody|SlowDown|ExpiredToken)$/;

/**
 * PUTs one part as S3 UploadPart does: signed here, with its checksum, and sent by undici itself, because the SDK's way
 * costs as much CPU as all the rest of a copy.
 *
 * @throws CopyFailed, AccessRefused, ServiceUnavailable
 */
export async function putPart(
  to: Destination,
  upload: Upload,
  part: { number: number; body: Buffer; crc32: number },
  { signal, pause = PAUSE_MS }: { signal?: AbortSignal | undefined; pause?: number } = {},
): Promise<Part> {
  const { number, body, crc32 } = part;
  for (let tries = 1; ; tries++) {
    const etag = await putOnce(to, upload, part, signal).catch((error: unknown) => {
      signal?.throwIfAborted();
      if (tries === TRIES || !passes(error)) throw asPartError(to, error);
      return undefined;
    });
    if (etag !== undefined) return { number, bytes: body.length, crc32, etag };
    await sleep(pause * 2 ** (tries - 1), undefined, signal && { signal });
  }
}

async function putOnce(
  to: Destination,
  { id, origin, path }: Upload,
  { number, body, crc32 }: { number: number; body: Buffer; crc32: number },
  signal: AbortSignal | undefined,
): Promise<string> {
  const { config } = to.s3;
  const [region, credentials] = await Promise.all([config.region(), config.credentials()]);
  const now = new Date(Date.now() + config.systemClockOffset);
  const checksum = base64Crc32(crc32);
  const owner = to.expectedBucketOwner;
  const { host } = new URL(origin);
  const headers = {
    'x-amz-checksum-crc32': checksum,
    ...(owner === undefined ? {} : { 'x-amz-expected-bucket-owner': owner }),
  };
  const query = { partNumber: String(number), uploadId: id };
  const signed = signPut({ host, path, query, headers }, { region, credentials, now });
  const answer = await to.dispatcher.request({
    origin,
    path: signed.path,
    method: 'PUT',
    headers: { ...signed.headers, 'content-length': String(body.length) },
    body: Readable.from(slices(body), { objectMode: false, highWaterMark: 1 }),
    signal: signal ?? null,
    headersTimeout: TIMEOUT_MS,
    bodyTimeout: TIMEOUT_MS,
  });
  return readPartAnswer(to, number, answer, checksum);
}

/** @returns the part's ETag @throws PartRefused; CopyFailed where S3 has another checksum than we have */
export async function readPartAnswer(
  to: Destination,
  number: number,
  answer: Dispatcher.ResponseData,
  checksum: string,
): Promise<string> {
  const text = await answer.body.text();
  const header = (name: string) => [answer.headers[name]].flat()[0];
  if (answer.statusCode !== 200) throw new PartRefused(answer.statusCode, text, header('x-amz-request-id'));
  const etag = header('etag');
  if (etag === undefined || header('x-amz-checksum-crc32') !== checksum) {
    throw new CopyFailed(
      `S3's checksum of part ${number} of ${to.key} differs from that of the bytes sent. Try again.`,
    );
  }
  return etag;
}

/** TLS encrypts what it is given at once, into as much memory again; so it is given a little at a time. */
function* slices(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += SLICE_BYTES) yield body.subarray(at, at + SLICE_BYTES);
}

/** As the SDK would have put it: the error's code is its name. */
class PartRefused extends Error {
  readonly $metadata: { httpStatusCode: number; requestId?: string };

  constructor(status: number, document: string, requestId: string | undefined) {
    super(`S3 answered ${status}`);
    this.name = /<Code>([\w.]+)<\/Code>/.exec(document)?.[1] ?? `Status${status}`;
    this.$metadata = { httpStatusCode: status, ...(requestId === undefined ? {} : { requestId }) };
  }
}

function passes(error: unknown): boolean {
  if (error instanceof PartRefused) return error.$metadata.httpStatusCode >= 500 || PASSING.test(error.name);
  if (error instanceof ServiceUnavailable) return true;
  return !(error instanceof CopyFailed) && typeof (error as { code?: unknown }).code === 'string';
}
