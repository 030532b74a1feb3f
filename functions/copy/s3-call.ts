import { setTimeout as sleep } from 'node:timers/promises';
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { asServiceError } from '../aws/service-error.ts';
import { CopyFailed, ExportError } from '../workflow/errors.ts';

/** The object to write. S3 refuses every call if another account owns the bucket. */
export interface Destination {
  /** Made by {@link createS3Client}: it must not retry, because each call is retried here. */
  readonly s3: S3Client;
  readonly bucket: string;
  readonly key: string;
  readonly expectedBucketOwner: string;
  /** The pause before the first retry, in milliseconds. */
  readonly retryPause?: number;
}

// Without timeouts, a call that S3 never answers would run until Lambda stops the function. One call carries at most
// 8 MiB, so 60 s allow 140 kB/s.
const CONNECT_TIMEOUT_MS = 5_000;
const ANSWER_TIMEOUT_MS = 60_000;

// Five tries with pauses of 0.2 + 0.4 + 0.8 + 1.6 = 3 s. A slow-down of S3 passes in seconds. The state machine waits for
// anything that lasts longer.
const TRIES = 5;
const RETRY_PAUSE_MS = 200;

/** 4xx errors that may go away if the same call is made again. */
const RETRYABLE =
  /^(RequestTimeout|RequestTimeTooSkewed|BadDigest|IncompleteBody|SlowDown|ExpiredToken|TimeoutError)$/;

/** Errors of a broken transfer. Copying the file again may succeed. S3 answers InvalidRequest if the size is wrong. */
const BROKEN =
  /^(BadDigest|EntityTooSmall|IncompleteBody|InvalidPart|InvalidPartOrder|InvalidRequest|NoSuchUpload|XAmz\w+Mismatch)$/;

/** A client with timeouts and without retries. */
export function createS3Client(config: S3ClientConfig = {}): S3Client {
  return new S3Client({
    maxAttempts: 1,
    // With "Expect: 100-continue", the SDK opens a new connection for each part and waits a round trip more.
    expectContinueHeader: false,
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: ANSWER_TIMEOUT_MS,
      // Without this, the SDK only logs a warning when requestTimeout is over.
      throwOnRequestTimeout: true,
      // While S3 joins the parts, it has begun to answer and sends a space now and then.
      socketTimeout: ANSWER_TIMEOUT_MS,
    },
    ...config,
  });
}

/** The parameters of a command that say which object it is about. */
export function addressed({ bucket, key, expectedBucketOwner }: Destination) {
  return { Bucket: bucket, Key: key, ExpectedBucketOwner: expectedBucketOwner };
}

/**
 * Makes a call of S3, and repeats it after an error that may go away.
 *
 * @throws CopyFailed, AccessRefused (which names the permission), ServiceUnavailable; the signal's reason
 */
export async function retry<T>(
  to: Destination,
  permission: string,
  call: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const { retryPause = RETRY_PAUSE_MS } = to;
  for (let tries = 1; ; tries++) {
    try {
      return await call();
    } catch (error) {
      signal?.throwIfAborted();
      if (tries === TRIES || !isRetryable(error)) throw asCopyError(to, permission, error);
    }
    await sleep(retryPause * 2 ** (tries - 1), undefined, signal && { signal });
  }
}

/** Returns true for a 5xx, for the 4xx listed above, and for network failures, which have a `code` of Node's. */
function isRetryable(error: unknown): boolean {
  const { name = '', code, $metadata } = error as SdkError;
  return ($metadata?.httpStatusCode ?? 0) >= 500 || RETRYABLE.test(name) || typeof code === 'string';
}

interface SdkError {
  readonly name?: string;
  readonly code?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

function asCopyError(to: Destination, permission: string, error: unknown): Error {
  if (error instanceof ExportError) return error;
  const name = error instanceof Error ? error.name : 'unknown';
  if (!BROKEN.test(name)) return asServiceError(error, `write ${to.key} to bucket ${to.bucket}`, permission);
  return new CopyFailed(`S3 refused the transfer of ${to.key} (${name}). Nothing is visible. Try again.`, {
    aws_error: name,
  });
}
