/** A task's failure as Step Functions reports it. Plain data, because it crosses processes. */
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

/** A failed invocation, with the JSON that Step Functions puts into the Cause. */
export function functionFailure(
  errorType: string,
  errorMessage: string,
  trace: readonly string[] = [],
): TaskFailure {
  return { error: errorType, cause: JSON.stringify({ errorType, errorMessage, trace }) };
}
