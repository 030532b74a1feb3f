import { expect, it } from 'vitest';
import { asServiceError } from '../../../functions/aws/service-error.ts';
import { shortenTexts } from '../../../functions/decisions/warnings.ts';
import { notWritten, reasonOf } from '../../../functions/tables/report.ts';

/** The judgement of an AWS error, which quotes the request. */
function sorted(name: string, $metadata?: object) {
  const error = Object.assign(new Error('quotes the secret'), { name, ...($metadata && { $metadata }) });
  return asServiceError(error, 'read the secret x/y', 'secretsmanager:GetSecretValue');
}

it.each([
  ...['AccessDeniedException', 'UnrecognizedClientException', 'InvalidBucketOwnerAWSAccountID'],
  ...['NoSuchBucket', 'NotFound', 'PermanentRedirect', 'ResourceNotFoundException'],
  ...['LimitExceededException', 'InvalidRequestException', 'EncryptionFailure', 'DecryptionFailure'],
  ...['KMS.DisabledException', 'KMSInvalidStateException', 'KmsAccessDeniedException'],
])('27, 33: %s is AccessRefused, and names the permission', (name) => {
  const facts = { permission: 'secretsmanager:GetSecretValue' };
  expect(sorted(name, { httpStatusCode: 400 })).toMatchObject({ name: 'AccessRefused', facts });
});

it.each([
  ...['ThrottlingException', 'TooManyRequestsException', 'OperationTimeoutException', 'Unknown'],
  ...['RequestTimeout', 'ExpiredToken', 'IncompleteBody', 'BadDigest', 'XAmzContentSHA256Mismatch'],
  ...['KMS.ThrottlingException', 'KMSThrottlingException', 'KmsThrottlingException'],
  ...['KMS.DependencyTimeoutException', 'KMS.KeyUnavailableException', 'KMS.KMSInternalException'],
])('25, 33: %s is ServiceUnavailable, although its status is 400', (name) => {
  expect(sorted(name, { httpStatusCode: 400 }).name).toBe('ServiceUnavailable');
});

it.each([
  ['25', 'SlowDown', 503, 'ServiceUnavailable'],
  ['25', 'AccessDeniedLater', 503, 'ServiceUnavailable'],
  ['35', 'RequestTimeTooSkewed', 403, 'ServiceUnavailable'],
  ['35', 'RequestInTheFuture', 403, 'ServiceUnavailable'],
  ['35', 'RequestExpired', 403, 'ServiceUnavailable'],
  ['27', 'Unknown', 403, 'AccessRefused'],
  ['27', 'SignatureDoesNotMatch', 403, 'AccessRefused'],
  ['27', 'EDQUOT', 403, 'DiskFull'],
  ['27', 'Unknown', 404, 'ServiceUnavailable'],
])('%s: %s with status %i is %s', (_, name, status, judged) => {
  expect(sorted(name, { httpStatusCode: status }).name).toBe(judged);
});

it('a fault of the SDK is no failure of AWS, and keeps its own words', () => {
  const judge = (error: Error) => asServiceError(error, 'read x', 's3:GetObject');
  const fault = new TypeError('The "path" argument must be of type string.');
  expect(judge(fault)).toBe(fault);
  // Such an error of the platform's answer has a status, and passes.
  expect(judge(Object.assign(fault, { $metadata: { httpStatusCode: 200 } })).name).toBe('ServiceUnavailable');
  const lost = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
  expect(judge(lost)).toMatchObject({ name: 'ServiceUnavailable', facts: { aws_error: 'ECONNRESET' } });
});

it.each<[string, object | undefined, string, object]>([
  [
    'AccessDenied',
    { httpStatusCode: 403, requestId: 'a1' },
    "The function's role needs secretsmanager:GetSecretValue, and the key that encrypts it. " +
      'AWS refused to read the secret x/y (AccessDenied).',
    { status: 403, aws_request_id: 'a1', permission: 'secretsmanager:GetSecretValue' },
  ],
  [
    'MetadataTooLarge',
    { httpStatusCode: 400 },
    'AWS refused to read the secret x/y (MetadataTooLarge). ' +
      'The call itself is at fault, so another try would fail too.',
    { status: 400 },
  ],
  ['ECONNREFUSED', undefined, 'AWS could not read the secret x/y (ECONNREFUSED).', {}],
])('%s is reported by name, status and ids, without the text of the error', (name, metadata, happened, facts) => {
  expect(sorted(name, metadata)).toMatchObject({ happened, facts: { aws_error: name, ...facts } });
  expect(sorted(name, metadata).message).not.toContain('quotes');
});

it('a warning that is cut still names the permission', () => {
  const month = `tables/${'t'.repeat(64)}/${'a'.repeat(64)}.2026-10.parquet`;
  const denied = asServiceError(
    Object.assign(new Error(), { name: 'AccessDenied', $metadata: { httpStatusCode: 403 } }),
    `write ${month} to bucket b`,
    's3:PutObject',
  );
  const warning = notWritten('t'.repeat(64), reasonOf(denied) ?? '', ' from 2026-10-02 on (30 of 31 days)');
  expect(shortenTexts([warning], 1_000)).toEqual([expect.stringMatching(/ needs s3:PutObject,.*…$/)]);
});
