import { AccessRefused, DiskFull, ServiceUnavailable } from '../workflow/errors.ts';

/** AWS errors without the status 403 that repeat until a person changes a permission, a key or a bucket. */
const REFUSALS = [
  /^(AccessDenied|UnrecognizedClient|ResourceNotFound|InvalidRequest|(ResourceNumber)?LimitExceeded)Exception$/,
  /^(NoSuchBucket|InvalidBucketOwnerAWSAccountID|NotFound|PermanentRedirect)$/,
  /^(DecryptionFailure|EncryptionFailure|GlueEncryptionException)$/,
  /kms/i,
];

/**
 * Errors that look like refusals but pass: a wrong clock, which the SDK corrects after such an answer;
 * credentials that it renews; a body that did not arrive as it was sent; and a service or a KMS that is
 * overloaded or does not answer.
 */
const TEMPORARY = [
  /^(RequestTimeTooSkewed|RequestInTheFuture|RequestExpired|ExpiredToken(Exception)?|TokenRefreshRequired)$/,
  /^(RequestTimeout|IncompleteBody|BadDigest|XAmz\w+Mismatch|InternalService(Error|Exception))$/,
  /^(Throttling|TooManyRequests|OperationTimeout)(Exception)?$/,
  /^KMS\.?(Throttling|DependencyTimeout|KeyUnavailable|KMSInternal)Exception$/i,
];

/**
 * Turns the error of an AWS call into AccessRefused or DiskFull (a person must act), or into
 * ServiceUnavailable (retry later).
 *
 * @param doing as in "read the secret x/y"
 * @param permission the IAM action that the call needs
 */
export function asServiceError(error: unknown, doing: string, permission: string): Error {
  const { name, status, requestId } = identify(error);
  // A fault of the SDK or of ours, which no other try would mend. Its own name and message say most.
  if (status === undefined && (error instanceof TypeError || error instanceof RangeError)) return error;
  const facts = { aws_error: name, status, aws_request_id: requestId };
  if (/^(ENOSPC|EDQUOT)$/.test(name))
    return new DiskFull(`There was no room to ${doing} (${name}).`, facts, { cause: error });
  const isOneOf = (patterns: readonly RegExp[]) => patterns.some((pattern) => pattern.test(name));
  const isTemporary = isOneOf(TEMPORARY);
  if (!isTemporary && (isOneOf(REFUSALS) || status === 403)) {
    return new AccessRefused(
      // The permission comes first: a warning is cut, and doing may name a long key.
      `The function's role needs ${permission}, and the key that encrypts it. AWS refused to ${doing} (${name}).`,
      { ...facts, permission },
      { cause: error },
    );
  }
  // S3 answers HEAD without the error's name.
  if (!isTemporary && status === 400 && name !== 'Unknown') {
    const happened = `AWS refused to ${doing} (${name}). The call itself is at fault, so another try would fail too.`;
    return new AccessRefused(happened, facts, { cause: error });
  }
  return new ServiceUnavailable(`AWS could not ${doing} (${name}).`, facts, { cause: error });
}

/** Keeps names and numbers only: an SDK error's message may quote the request. */
function identify(error: unknown) {
  const {
    name = 'unknown',
    code,
    $metadata,
  } = Object(error) as {
    readonly name?: string;
    readonly code?: string;
    readonly $metadata?: { readonly httpStatusCode?: number; readonly requestId?: string };
  };
  // Node's own errors are all an `Error`.
  const distinct = name === 'Error' ? (code ?? name) : name;
  return { name: distinct, status: $metadata?.httpStatusCode, requestId: $metadata?.requestId };
}
