import { Readable } from 'node:stream';
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';

/** An object. S3 refuses every call if another account owns the bucket. */
export interface Place {
  readonly bucket: string;
  readonly key: string;
  readonly expectedBucketOwner: string;
}

/** The parameters of a command that say which object it is about. */
export function addressed({ bucket, key, expectedBucketOwner }: Place) {
  return { Bucket: bucket, Key: key, ExpectedBucketOwner: expectedBucketOwner };
}

// Without timeouts, a call that S3 never answers would run until Lambda stops the function. A part of a copy
// has 8 MiB, so 60 s allow 140 kB/s. The object store sets a limit for each call, all tries together. A month
// may take longer.
const CONNECT_TIMEOUT_MS = 5_000;
const ANSWER_TIMEOUT_MS = 60_000;

/**
 * Five tries, with pauses of at most 0.1 + 0.2 + 0.4 + 0.8 = 1.5 s, or 7.5 s if S3 says to slow down. The
 * state machine waits for anything that lasts longer.
 */
const TRIES = 5;

/** A larger PUT waits for S3's consent. S3 may refuse it unread and close, and the answer would be lost. */
const UNASKED_BYTES = 64 * 1024;

/** Over TLS, Node encrypts what it is given before it sends any of it. Two whole parts take 22 MB more. */
const SLICE_BYTES = 256 * 1024;

/** A CRC32 in S3's form: four bytes, big endian, in Base64. */
export function base64Crc32(crc: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc);
  return bytes.toString('base64');
}

/** The one client of S3, with the SDK's retries. A command with a Buffer brings its CRC32: S3 checks it. */
export function createS3Client(config: S3ClientConfig = {}): S3Client {
  const client = new S3Client({
    maxAttempts: TRIES,
    // With "Expect: 100-continue", the SDK opens a new connection for each part and waits a round trip more.
    expectContinueHeader: false,
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: ANSWER_TIMEOUT_MS,
      // Without this, the SDK only logs a warning when requestTimeout is over.
      throwOnRequestTimeout: true,
      // Ends a call that neither sends nor receives. While S3 joins the parts, it sends a space now and then.
      socketTimeout: ANSWER_TIMEOUT_MS,
    },
    ...config,
  });
  client.middlewareStack.add(
    (next, { commandName }) =>
      (args) => {
        const { body, headers } = args.request as SdkRequest;
        if (commandName === 'PutObjectCommand' && Number(headers['content-length']) > UNASKED_BYTES)
          headers.expect = '100-continue';
        // SigV4's SHA-256 over a part would cost more CPU than the rest of the copy.
        if (Buffer.isBuffer(body)) headers['x-amz-content-sha256'] = 'UNSIGNED-PAYLOAD';
        return next(args);
      },
    { step: 'build' },
  );
  client.middlewareStack.add(
    (next) => (args) => {
      const request = args.request as SdkRequest;
      const { protocol, body } = request;
      if (protocol !== 'https:' || !Buffer.isBuffer(body)) return next(args);
      // For this try only: the SDK cannot repeat a stream.
      return next({ ...args, request: { ...request, body: Readable.from(slicesOf(body)) } });
    },
    { step: 'finalizeRequest', priority: 'low' },
  );
  return client;
}

function* slicesOf(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += SLICE_BYTES) yield body.subarray(at, at + SLICE_BYTES);
}

interface SdkRequest {
  readonly protocol: string;
  readonly body: unknown;
  readonly headers: Record<string, string>;
}
