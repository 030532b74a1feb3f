import { describe, expect, it } from 'vitest';
import { asServiceError } from '../../../functions/aws/service-error.ts';
import { shortenWarnings } from '../../../functions/decisions/warnings.ts';
import { notWritten, reasonOf } from '../../../functions/tables/report.ts';
import { AccessRefused, DiskFull, ServiceUnavailable } from '../../../functions/workflow/errors.ts';

function errorNamed(name: string, $metadata?: object): Error {
  return Object.assign(new Error('quotes the secret'), { name, ...($metadata && { $metadata }) });
}

function sorted(error: unknown): Error {
  return asServiceError(error, 'read the secret x/y', 'secretsmanager:GetSecretValue');
}

describe('asServiceError', () => {
  it.each([
    ...['AccessDenied', 'AccessDeniedException', 'AllAccessDisabled', 'InvalidAccessKeyId'],
    ...['SignatureDoesNotMatch', 'UnrecognizedClientException', 'InvalidBucketOwnerAWSAccountID'],
    ...['NoSuchBucket', 'NotFound', 'PermanentRedirect', 'ResourceNotFoundException'],
    ...['LimitExceededException', 'InvalidRequestException', 'EncryptionFailure', 'DecryptionFailure'],
    ...['KMS.DisabledException', 'KMSInvalidStateException', 'KmsAccessDeniedException'],
    'KmsInvalidStateException',
  ])('27, 33: %s is AccessRefused, whatever its status', (name) => {
    expect(sorted(errorNamed(name, { httpStatusCode: 400 }))).toBeInstanceOf(AccessRefused);
  });

  it.each([
    ...['SlowDown', 'InternalError', 'TimeoutError', 'AbortError', 'NoSuchKey'],
    ...['AccessDeniedLater', 'NotAccessDenied', 'FileNotFound', 'NotFoundYet'],
  ])('25, 33: %s is ServiceUnavailable', (name) => {
    expect(sorted(errorNamed(name, { httpStatusCode: 503 }))).toBeInstanceOf(ServiceUnavailable);
  });

  it.each([
    ...['ThrottlingException', 'TooManyRequestsException', 'OperationTimeoutException'],
    ...[
      'Unknown',
      'RequestTimeout',
      'ExpiredToken',
      'IncompleteBody',
      'BadDigest',
      'XAmzContentSHA256Mismatch',
    ],
    ...['KMS.ThrottlingException', 'KMSThrottlingException', 'KmsThrottlingException'],
    ...['KMS.DependencyTimeoutException', 'KMS.KeyUnavailableException', 'KMS.KMSInternalException'],
  ])('25, 33: %s is ServiceUnavailable, although its status is 400', (name) => {
    expect(sorted(errorNamed(name, { httpStatusCode: 400 }))).toBeInstanceOf(ServiceUnavailable);
  });

  it('a fault of the SDK is no failure of AWS, and keeps its own words', () => {
    const fault = new TypeError('The "path" argument must be of type string.');
    expect(sorted(fault)).toBe(fault);
    // Such an error of the platform's answer has a status, and passes.
    expect(sorted(Object.assign(fault, { $metadata: { httpStatusCode: 200 } }))).toBeInstanceOf(
      ServiceUnavailable,
    );
    const lost = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
    expect(sorted(lost)).toMatchObject({ name: 'ServiceUnavailable', facts: { aws_error: 'ECONNRESET' } });
  });

  it('a call that AWS does not take would be refused again, and no permission helps', () => {
    const error = sorted(errorNamed('MetadataTooLarge', { httpStatusCode: 400 })) as AccessRefused;
    expect(error).toBeInstanceOf(AccessRefused);
    expect(error.message.split('\n')[0]).toBe(
      'AWS refused to read the secret x/y (MetadataTooLarge). The call itself is at fault, so another try would fail too.',
    );
    expect(error.facts).toEqual({ aws_error: 'MetadataTooLarge', status: 400 });
  });

  it.each([
    ['35', 'RequestTimeTooSkewed', 403, ServiceUnavailable],
    ['35', 'RequestInTheFuture', 403, ServiceUnavailable],
    ['35', 'RequestExpired', 403, ServiceUnavailable],
    ['27', 'Unknown', 403, AccessRefused],
    ['27', 'EDQUOT', 403, DiskFull],
    ['27', 'Unknown', 404, ServiceUnavailable],
  ])('%s: %s with status %i is judged by its status unless it means a wrong clock', (_, name, status, type) => {
    expect(sorted(errorNamed(name, { httpStatusCode: status }))).toBeInstanceOf(type);
  });

  it('reports name, status, id and permission, without the text of the error', () => {
    const { message, facts } = sorted(
      errorNamed('AccessDenied', { httpStatusCode: 403, requestId: 'a1' }),
    ) as AccessRefused;
    expect(message.split('\n')[0]).toBe(
      "The function's role needs secretsmanager:GetSecretValue, and the key that encrypts it. " +
        'AWS refused to read the secret x/y (AccessDenied).',
    );
    expect(facts).toStrictEqual({
      aws_error: 'AccessDenied',
      status: 403,
      aws_request_id: 'a1',
      permission: 'secretsmanager:GetSecretValue',
    });
  });

  it('names the permission in a warning that is cut', () => {
    const month = `tables/${'t'.repeat(64)}/${'a'.repeat(64)}.2026-10.parquet`;
    const denied = asServiceError(errorNamed('AccessDenied'), `write ${month} to bucket b`, 's3:PutObject');
    const part = ' from 2026-10-02 on (30 of 31 days)';
    const warning = notWritten('t'.repeat(64), reasonOf(denied) ?? '', part);
    expect(shortenWarnings([warning], 1_000)).toEqual([expect.stringMatching(/ needs s3:PutObject,.*…$/)]);
  });

  it.each<[string, unknown, string]>([
    ['no answer', errorNamed('ECONNREFUSED'), 'ECONNREFUSED'],
    ['nothing', undefined, 'unknown'],
  ])('reports only the name if there was %s', (_, error, aws_error) => {
    const { message, facts } = sorted(error) as ServiceUnavailable;
    expect(message.split('\n')[0]).toBe(`AWS could not read the secret x/y (${aws_error}).`);
    expect(facts).toEqual({ aws_error });
  });
});
