import { AccessRefused, DiskFull, ServiceUnavailable } from '../workflow/errors.ts';

/** AWS errors that repeat until a person changes a permission, a key or a bucket. */
const REFUSALS =
  /^(AccessDenied|AccessDeniedException|AllAccessDisabled|NoSuchBucket|NotFound|PermanentRedirect|InvalidAccessKeyId|SignatureDoesNotMatch|UnrecognizedClientException|InvalidBucketOwnerAWSAccountID|DecryptionFailure|LimitExceededException|InvalidRequestException|EncryptionFailure|ResourceNotFoundException|GlueEncryptionException|ResourceNumberLimitExceededException|KmsAccessDeniedException|KmsInvalidStateException|KMS\..*|.*KMS.*)$/;

/**
 * Errors that look like refusals but pass: a wrong clock, which the SDK corrects after such an answer;
 * credentials that it renews; a body that did not arrive as it was sent; and a service or a KMS that is
 * overloaded or does not answer.
 */
const TEMPORARY =
  /^(RequestTimeTooSkewed|RequestInTheFuture|RequestExpired|ExpiredToken(Exception)?|TokenRefreshRequired|RequestTimeout|IncompleteBody|BadDigest|XAmz\w+Mismatch|(Throttling|TooManyRequests|OperationTimeout)(Exception)?|InternalService(Error|Exception)|KMS\.?(Throttling|DependencyTimeout|KeyUnavailable|KMSInternal)Exception)$/i;

/**
 * Turns the error of an AWS call into AccessRefused or DiskFull (a person must act), or into
 * ServiceUnavailable (retry later).
 *
 * @param doing as in "read the secret x/y"
 * @param permission the IAM action that the call needs
 */
export function asServiceError(error: unknown, doing: string, permission: string): Error {
  const { name, status, requestId } = describe(error);
  // A fault of the SDK or of ours, which no other try would mend. Its own name and message say most.
  if (status === undefined && (error instanceof TypeError || error instanceof RangeError)) return error;
  const facts = { aws_error: name, status, aws_request_id: requestId };
  if (/^(ENOSPC|EDQUOT)$/.test(name))
    return new DiskFull(`There was no room to ${doing} (${name}).`, facts, { cause: error });
  const isTemporary = TEMPORARY.test(name);
  if (!isTemporary && (REFUSALS.test(name) || status === 403)) {
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
function describe(error: unknown): { name: string; status?: number; requestId?: string } {
  if (!(error instanceof Error)) return { name: 'unknown' };
  const { $metadata, code } = error as {
    readonly $metadata?: { readonly httpStatusCode?: number; readonly requestId?: string };
    readonly code?: string;
  };
  return {
    // Node's own errors are all an `Error`.
    name: error.name === 'Error' ? (code ?? error.name) : error.name,
    ...($metadata?.httpStatusCode !== undefined && { status: $metadata.httpStatusCode }),
    ...($metadata?.requestId !== undefined && { requestId: $metadata.requestId }),
  };
}
