/** A task's failure as Step Functions sees it; plain data, because it crosses threads. */
export interface TaskFailure {
  readonly error: string;
  readonly cause: string;
}

export class TaskError extends Error {
  override readonly name: string;

  constructor({ error, cause }: TaskFailure) {
    super(cause);
    this.name = error;
  }
}

/** What Lambda says of a failed invocation, the way Step Functions puts it into a Cause. */
export function functionFailure(
  errorType: string,
  errorMessage: string,
  trace: readonly string[] = [],
): TaskFailure {
  return { error: errorType, cause: JSON.stringify({ errorType, errorMessage, trace }) };
}

/** @returns the failure that a rejected task stands for; anything that is no TaskError is Step Functions' own trouble */
export function failureOf(error: unknown): TaskFailure {
  if (error instanceof TaskError) return { error: error.name, cause: error.message };
  return { error: 'States.TaskFailed', cause: error instanceof Error ? error.message : String(error) };
}
