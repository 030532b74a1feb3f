import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { base64Crc32 } from './crc32.ts';
import { PartRefused, requestPart } from './part-request.ts';
import { asPartError, type Destination, type Part, type Upload } from './upload.ts';

// A part is sent again from its buffer after 0.2 + 0.4 + 0.8 + 1.6 = 3 s of pauses; S3's slow-down passes in seconds,
// and what lasts longer is the state machine's to wait for.
const TRIES = 5;
const PAUSE_MS = 200;

const SLICE_BYTES = 256 * 1024;

/** Codes that come with a 4xx and pass nevertheless. */
const PASSING = /^(RequestTimeout|BadDigest|IncompleteBody|SlowDown|ExpiredToken)$/;

/**
 * Sends a part that is held, with its checksum, until S3 has it or it is of no use to try again.
 *
 * @throws CopyFailed, AccessRefused, ServiceUnavailable
 */
export async function putPart(
  to: Destination,
  upload: Upload,
  part: { number: number; body: Buffer; crc32: number },
  { signal, pause = PAUSE_MS }: { signal: AbortSignal; pause?: number },
): Promise<Part> {
  const { number, body, crc32 } = part;
  for (let tries = 1; ; tries++) {
    const etag = await putOnce(to, upload, part, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      if (tries === TRIES || !passes(error)) throw asPartError(to, error);
      return undefined;
    });
    if (etag !== undefined) return { number, bytes: body.length, crc32, etag };
    await sleep(pause * 2 ** (tries - 1), undefined, { signal });
  }
}

function putOnce(
  to: Destination,
  upload: Upload,
  { number, body, crc32 }: { number: number; body: Buffer; crc32: number },
  signal: AbortSignal,
): Promise<string> {
  const checksum = base64Crc32(crc32);
  const part = {
    ...{ number, length: body.length, checksum: () => checksum },
    headers: { 'x-amz-checksum-crc32': checksum },
    body: Readable.from(slices(body), { objectMode: false, highWaterMark: 1 }),
  };
  return requestPart(to, upload, part, signal);
}

/** TLS encrypts what it is given at once, into as much memory again; so it is given a little at a time. */
function* slices(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += SLICE_BYTES) yield body.subarray(at, at + SLICE_BYTES);
}

/** What S3 answered and may answer otherwise; else a failure of the network, which Node and undici give a code. */
function passes(error: unknown): boolean {
  if (error instanceof PartRefused) return error.$metadata.httpStatusCode >= 500 || PASSING.test(error.name);
  return typeof (error as { code?: unknown }).code === 'string';
}
