import { TaskError } from '../lambda/task-error.ts';
import type { Execution } from './step-functions.ts';

/** The Resource of a Task state that starts an execution and waits for its end. */
export const START_EXECUTION = 'arn:aws:states:::states:startExecution.sync:2';

export interface Starts {
  /** Starts an execution. */
  start(name: string, input: unknown): Execution;
  /** Runs a task that starts an execution, as {@link START_EXECUTION} does. */
  run(input: unknown): Promise<unknown>;
}

/**
 * Starts each name once: a running one with the same input is that execution, and any other one is refused.
 *
 * @param begin starts an execution of a new name
 */
export function createStarts(begin: Starts['start']): Starts {
  const started = new Map<string, { readonly input: string; execution?: Execution | undefined }>();
  const start = (name: string, input: unknown): Execution => {
    const text = JSON.stringify(input);
    const earlier = started.get(name);
    if (earlier?.execution && earlier.input === text) return earlier.execution;
    if (earlier)
      throw new TaskError({
        error: 'StepFunctions.ExecutionAlreadyExistsException',
        cause: `Execution Already Exists: '${name}'`,
      });
    const execution = begin(name, input);
    const entry: { readonly input: string; execution?: Execution | undefined } = { input: text, execution };
    started.set(name, entry);
    void execution.result.then(() => {
      entry.execution = undefined;
    });
    return execution;
  };
  return {
    start,
    async run(input) {
      const { Name, Input } = input as { Name: string; Input: unknown };
      const { status, ...end } = await start(Name, Input).result;
      if (status !== 'SUCCEEDED')
        throw new TaskError({
          error: 'States.TaskFailed',
          cause: JSON.stringify({ Status: status, ...end }),
        });
      return { Name, Status: status };
    },
  };
}
