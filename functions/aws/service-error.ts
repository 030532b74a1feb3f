import { AccessRefused, ServiceUnavailable } from '../workflow/errors.ts';

/** Names of AWS errors that stay as they are until somebody changes a permission, a key or a bucket. */
const REFUSALS =
  /^(AccessDenied|AccessDeniedException|AllAccessDisabled|NoSuchBucket|NotFound|PermanentRedirect|InvalidAccessKeyId|SignatureDoesNotMatch|UnrecognizedClientException|InvalidBucketOwnerAWSAccountID|DecryptionFailure|LimitExceededException|InvalidRequestException|EncryptionFailure|ResourceNotFoundException|KmsAccessDeniedException|KmsInvalidStateException|KMS\..*|.*KMS.*)$/;

/**
 * What looks like a refusal and passes: a clock that is wrong, which the SDK learns from such an answer and signs by from
 * then on, and a key that is there, but whose KMS is overloaded or does not answer.
 */
const PASSING =
  /^(RequestTimeTooSkewed|RequestInTheFuture|RequestExpired|KMS\.?(Throttling|DependencyTimeout|KeyUnavailable|KMSInternal)Exception)$/;

/**
 * Sorts what an AWS call threw into "a person must act" and "again later".
 *
 * @param doing as in "read the secret x/y"
 * @param permission the IAM action that the call needs
 */
export function asServiceError(error: unknown, doing: string, permission: string): Error {
  const { name, status, requestId } = describe(error);
  const facts = { aws_error: name, status, aws_request_id: requestId };
  if (!PASSING.test(name) && (REFUSALS.test(name) || status === 403)) {
    return new AccessRefused(
      `AWS refused to ${doing} (${name}). The function's role needs ${permission}, and the key that encrypts it.`,
      { ...facts, permission },
    );
  }
  return new ServiceUnavailable(`AWS could not ${doing} (${name}).`, facts);
}

/** Names and numbers only: an SDK error's message may quote what was sent. */
function describe(error: unknown): { name: string; status?: number; requestId?: string } {
  if (!(error instanceof Error)) return { name: 'unknown' };
  const { $metadata } = error as { $metadata?: { httpStatusCode?: number; requestId?: string } };
  return {
    name: error.name,
    ...($metadata?.httpStatusCode !== undefined && { status: $metadata.httpStatusCode }),
    ...($metadata?.requestId !== undefined && { requestId: $metadata.requestId }),
  };
}
