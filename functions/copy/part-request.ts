import type { Readable } from 'node:stream';
import { CopyFailed } from '../workflow/errors.ts';
import { signPut } from './sign.ts';
import type { Destination, Upload } from './upload.ts';

// In which nothing of the part goes out, or no answer comes once all of it has; while it goes, undici waits on, and a call's
// deadline ends it.
const TIMEOUT_MS = 60_000;

/** One part, as it goes over the wire. */
export interface PartRequest {
  /** From 1. */
  readonly number: number;
  /** Signed beside those that all parts have in common; lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** What the body is called in place of its hash. */
  readonly payload?: string;
  readonly body: Readable;
  /** Of the body, framing included. */
  readonly length: number;
  /** Of the part, in base64; asked for once S3 has answered. */
  readonly checksum: () => string;
}

/**
 * PUTs one part as S3 UploadPart does: signed here, and sent by undici itself, because the SDK's way costs as much CPU as
 * all the rest of a copy.
 *
 * @returns the part's ETag
 * @throws PartRefused; CopyFailed where S3 has another checksum than we have; the signal's reason, or Node's or undici's error
 */
export async function requestPart(
  to: Destination,
  { id, origin, path }: Upload,
  { number, headers, payload, body, length, checksum }: PartRequest,
  signal: AbortSignal,
): Promise<string> {
  const { config } = to.s3;
  const [region, credentials] = await Promise.all([config.region(), config.credentials()]);
  const now = new Date(Date.now() + config.systemClockOffset);
  const owner = to.expectedBucketOwner;
  const unsigned = {
    ...{ host: new URL(origin).host, path, query: { partNumber: String(number), uploadId: id } },
    headers: { ...headers, ...(owner === undefined ? {} : { 'x-amz-expected-bucket-owner': owner }) },
    ...(payload === undefined ? {} : { payload }),
  };
  const signed = signPut(unsigned, { region, credentials, now });
  const answer = await to.dispatcher.request({
    ...{ origin, path: signed.path, method: 'PUT', body, signal },
    headers: { ...signed.headers, 'content-length': String(length) },
    ...{ headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS },
  });
  const text = await answer.body.text();
  const header = (name: string) => [answer.headers[name]].flat()[0];
  if (answer.statusCode !== 200) throw new PartRefused(answer.statusCode, text, header('x-amz-request-id'));
  const etag = header('etag');
  if (etag === undefined || header('x-amz-checksum-crc32') !== checksum()) {
    throw new CopyFailed(
      `S3's checksum of part ${number} of ${to.key} differs from that of the bytes sent. Try again.`,
    );
  }
  return etag;
}

/** As the SDK would have put it: the error's code is its name. */
export class PartRefused extends Error {
  readonly $metadata: { httpStatusCode: number; requestId?: string };

  constructor(status: number, document: string, requestId: string | undefined) {
    super(`S3 answered ${status}`);
    this.name = /<Code>([\w.]+)<\/Code>/.exec(document)?.[1] ?? `Status${status}`;
    this.$metadata = { httpStatusCode: status, ...(requestId === undefined ? {} : { requestId }) };
  }
}
