import { TableProblem } from '../../../functions/tables/report.ts';
import { type ErrorName, ExportError, InvalidInput } from '../../../functions/workflow/errors.ts';

/** The command line, its input or the config has faults, one per line. Nothing was started. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    const lines = faults.flatMap((fault) => `error: ${fault}`.split('\n'));
    super(lines.map(toPrintable).join('\n'));
    this.faults = faults;
  }
}

/** @throws UsageError if there are faults */
export function refuse(faults: readonly string[]): void {
  if (faults.length > 0) throw new UsageError(faults);
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

/** The advice after an AWS call that failed, by the name of its error. */
const AWS_ADVICE: readonly (readonly [names: RegExp, todo: string])[] = [
  [
    /Credentials|TokenProvider|ExpiredToken|InvalidClientTokenId|^InvalidToken$|InvalidAccessKeyId|SignatureDoesNotMatch|UnrecognizedClient/,
    "Sign in to AWS, such as with 'aws sso login', or set AWS_PROFILE. Then repeat the command.",
  ],
  [
    /NotFound|DoesNotExist|NoSuchBucket|PermanentRedirect/,
    "Run 'npx cdk deploy', or give another --stack or --region.",
  ],
  [
    /Throttling|TooManyRequests|SlowDown/,
    'AWS limits the calls of your account. Repeat the command in a minute.',
  ],
];

/**
 * The failure of a command's AWS call, with AWS's message.
 *
 * @param action continues "AWS could not …", such as "read the secret x"
 * @param permissions such as "secretsmanager:GetSecretValue"
 */
export function createAwsFailure(error: unknown, action: string, permissions: string): CommandFailed {
  const todo = adviseOnAws(error as AwsError, permissions) ?? "Correct what AWS's message names.";
  const happened = `AWS could not ${action} (${(error as Error).name})`;
  return new CommandFailed(quoteAws(happened, error as Error), todo, { cause: error });
}

/** An error of AWS's SDK. Without a status, AWS did not answer. */
interface AwsError extends Error {
  readonly $metadata?: { readonly httpStatusCode?: number };
}

function adviseOnAws(
  { name, message, $metadata }: AwsError,
  permissions: string | undefined,
): string | undefined {
  // The SDK has no name for it.
  if (message.startsWith('Region is missing')) return 'Set AWS_REGION, or give --region.';
  const advice = AWS_ADVICE.find(([names]) => names.test(name))?.[1];
  if (advice !== undefined) return advice;
  const { httpStatusCode: status } = $metadata ?? {};
  if (permissions && (status === 403 || /AccessDenied/.test(name))) return needs(permissions);
  if (status === undefined) return 'Check that this machine reaches AWS, then repeat the command.';
  return status >= 500 ? 'AWS has a problem. Repeat the command in a minute.' : undefined;
}

function needs(permissions: string): string {
  return `Your AWS user or role needs ${permissions}.`;
}

/** @param happened ends with the error's name, which is just `Error` if the SDK has none */
function quoteAws(happened: string, { name, message }: Error): string {
  const details = message === name ? '' : `: ${toPrintable(message).replace(/\.$/, '')}`;
  return `${happened.replace(/ \(Error\)$/, '')}${details}.`;
}

/** An error of a step speaks of the function's role. Here it is this person. Returns others unchanged. */
export function explainStepError(error: unknown): unknown {
  if (error instanceof TableProblem) {
    const [happened, todo = 'Correct the request or the config, and export the days again'] =
      error.message.split('; ');
    return new CommandFailed(`${happened}.`, `${todo}.`);
  }
  if (error instanceof InvalidInput) return new UsageError(error.facts.faults as string[]);
  if (!(error instanceof ExportError)) return error;
  const sentences = error.happened.split(/\. |\.$/);
  const happened = sentences.find((sentence) => !sentence.startsWith("The function's role")) ?? '';
  const { facts, cause } = error;
  const permissions = facts.permission ? `${facts.permission}, and may need the use of a KMS key` : undefined;
  const todo = cause instanceof Error ? adviseOnAws(cause, permissions) : undefined;
  // The message of any other error may quote what a call was to write, such as a secret.
  if (todo === undefined)
    return new CommandFailed(`${happened}.`, permissions ? needs(permissions) : 'Repeat the command.');
  return new CommandFailed(quoteAws(happened, cause as Error), todo);
}

/** The errors of a call of the platform. */
const PLATFORM_ERRORS: readonly string[] = [
  'PlatformUnavailable',
  'AnswerLost',
  'AnswerUnreadable',
  'RequestRefused',
  'RateLimited',
  'TokenRefused',
  'DownloadRefused',
] satisfies ErrorName[];

/** The platform did not answer, or its answer is an error or cannot be read. */
export function isPlatformFailure(error: unknown): error is ExportError {
  return error instanceof ExportError && PLATFORM_ERRORS.includes(error.name);
}

/** Says what happened, with the platform's id of the answer. Contains no secret. */
export function sayPlatformFailure({ happened, facts: { request_id } }: ExportError): string {
  return request_id === undefined ? happened : `${happened} Its request_id is ${request_id}.`;
}

/** Characters that move a terminal's cursor or reverse writing, as text of the platform may have. */
const UNPRINTABLE = /[\p{Cc}\p{Bidi_Control}]+/gu;

/** Makes a line safe for a terminal. */
export function toPrintable(line: string): string {
  return line.replace(UNPRINTABLE, ' ');
}

/** Like JSON.stringify, and escapes the characters that a terminal obeys. */
export function toPrintableJson(value: unknown): string {
  const toCode = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value).replace(UNPRINTABLE, (characters) => [...characters].map(toCode).join(''));
}
