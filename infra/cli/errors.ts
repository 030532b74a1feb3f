import { NoAnswer, PlatformError, UnreadableAnswer } from '../../functions/platform/errors.ts';
import { ExportError, InvalidInput, readMessage } from '../../functions/workflow/errors.ts';

/** Exit statuses of every command. */
export const DELIVERED = 0;
export const FAILED = 1;
export const BAD_USAGE = 2;
/** The status that a shell reports for a process that Ctrl-C ended. */
export const INTERRUPTED = 130;

/** The command line, its input or cdk.json has faults. Nothing was started. The message has one line per fault. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.map((fault) => toPrintable(`error: ${fault}`)).join('\n'));
    this.faults = faults;
  }
}

/** The command failed. Says what happened and what to do next, and never contains a secret. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
  readonly happened: string;
  readonly todo: string;

  constructor(happened: string, todo: string, options?: ErrorOptions) {
    super(`${happened}\nWhat to do: ${todo}`, options);
    this.happened = happened;
    this.todo = todo;
  }
}

/**
 * The failure of a command's AWS call. Takes only the name from the SDK's error, because its message may quote the request.
 *
 * @param action continues "AWS could not …", such as "read the secret x"
 * @param permissions such as "secretsmanager:GetSecretValue"
 */
export function createAwsFailure(error: unknown, action: string, permissions: string): CommandFailed {
  return new CommandFailed(
    `AWS could not ${action} (${(error as Error).name}).`,
    `Check your AWS credentials and Region. They need ${permissions}.`,
    { cause: error },
  );
}

/** An error of a step speaks of the function's role. Here it is this person. Returns others unchanged. */
export function explainStepError(error: unknown): unknown {
  if (error instanceof InvalidInput) return new UsageError(error.facts.faults as string[]);
  if (!(error instanceof ExportError)) return error;
  const { permission } = error.facts;
  const [happened = ''] = readMessage(error.message).happened.split('. ', 1);
  const todo =
    permission === undefined
      ? 'Try again. If it fails again, check your AWS credentials and Region.'
      : `Check your AWS credentials and Region. They need ${permission}, and may need the use of a KMS key.`;
  return new CommandFailed(happened.replace(/\.?$/, '.'), todo);
}

/** The platform did not answer, or its answer is an error or cannot be read. The message contains no secret. */
export function isPlatformFailure(error: unknown): error is Error {
  return [PlatformError, NoAnswer, UnreadableAnswer].some((type) => error instanceof type);
}

/** Makes a line safe for a terminal: text from the platform must not move the cursor or reverse the direction of writing. */
export function toPrintable(line: string): string {
  return line.replace(/[\p{Cc}\p{Bidi_Control}]+/gu, ' ');
}
