/** A task's failure as Step Functions reports it. Plain data, because it crosses threads. */
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

/** Any other error than a TaskError is a fault of the local run itself: States.TaskFailed. */
export function taskFailure(error: unknown): TaskFailure {
  if (error instanceof TaskError) return { error: error.name, cause: error.message };
  return { error: 'States.TaskFailed', cause: error instanceof Error ? error.message : String(error) };
}
