import { S3Client } from '@aws-sdk/client-s3';

// The SDK tries a call 4 times, with pauses of at most 0.1 + 0.2 + 0.4 s.
const S3_TRIES = 4;

// Without these, a call that S3 never answers would last until Lambda ends the function: 4 × 60 s = 4 min at most. 8 MiB,
// the most that one call carries, may come at 140 kB/s.
const CONNECT_TIMEOUT_MS = 5_000;
const ANSWER_TIMEOUT_MS = 60_000;

/** For the calls that begin, join or put an object; parts have a way of their own (put-part.ts). */
export function openS3Client(): S3Client {
  return new S3Client({
    maxAttempts: S3_TRIES,
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: ANSWER_TIMEOUT_MS,
      // It would only warn.
      throwOnRequestTimeout: true,
      // While S3 joins parts it has begun to answer, and sends a blank now and then.
      socketTimeout: ANSWER_TIMEOUT_MS,
    },
  });
}
