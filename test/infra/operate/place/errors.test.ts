import { describe, expect, it } from 'vitest';
import { asServiceError } from '../../../../functions/aws/service-error.ts';
import { CommandFailed, createAwsFailure, explainStepError } from '../../../../infra/operate/place/errors.ts';

function awsError(name: string, httpStatusCode?: number, message = 'A reason.'): Error {
  return Object.assign(new Error(message), { name, $metadata: { httpStatusCode } });
}

describe('a failed AWS call of a command', () => {
  it.each([
    ['CredentialsProviderError', undefined, 'Sign in to AWS'],
    ['ExpiredTokenException', 400, 'Sign in to AWS'],
    ['UnrecognizedClientException', 400, 'Sign in to AWS'],
    ['StateMachineDoesNotExist', 400, "Run 'npx cdk deploy', or give another --stack or --region."],
    ['NoSuchBucket', 404, "Run 'npx cdk deploy', or give another --stack or --region."],
    ['AccessDeniedException', 400, 'Your AWS user or role needs states:StartExecution.'],
    ['Unknown', 403, 'Your AWS user or role needs states:StartExecution.'],
    ['ThrottlingException', 400, 'Repeat the command in a minute.'],
    ['InternalServerException', 500, 'Repeat the command in a minute.'],
    ['TimeoutError', undefined, 'Check that this machine reaches AWS'],
    ['InvalidExecutionInput', 400, "Correct what AWS's message names."],
  ])("by its kind, with AWS's message: %s, status %s", (name, status, todo) => {
    const { happened, todo: advice } = createAwsFailure(
      awsError(name, status, 'A\u001breason.'),
      'start it',
      'states:StartExecution',
    );
    expect(happened).toBe(`AWS could not start it (${name}): A reason.`);
    expect(advice).toContain(todo);
  });

  it.each([
    ['AccessDenied', 403, ' (AccessDenied): A reason.', 'needs s3:GetObject, and may need the use'],
    ['InternalError', 500, ' (InternalError): A reason.', 'Repeat the command in a minute.'],
    ['RequestTimeTooSkewed', 403, ' (RequestTimeTooSkewed).', 'Repeat the command.'],
    ['InvalidToken', 400, ' (InvalidToken): A reason.', 'Sign in to AWS'],
    // Its message may quote what the call was to write.
    ['InvalidParameterException', 400, ' (InvalidParameterException).', 'Repeat the command.'],
  ])('that a step makes is about this person: %s', (name, status, happened, todo) => {
    const failure = explainStepError(asServiceError(awsError(name, status), 'read x', 's3:GetObject'));
    expect(failure).toBeInstanceOf(CommandFailed);
    expect(failure).toMatchObject({
      happened: expect.stringMatching(/^AWS (refused to|could not) read x /),
      todo: expect.stringContaining(todo),
    });
    expect((failure as CommandFailed).happened.endsWith(happened)).toBe(true);
  });
});
