import { TaskError } from '../lambda/task-error.ts';
import type { Execution } from './step-functions.ts';

/** The Resource of a Task state that starts an execution and waits for its end. */
export const START_EXECUTION = 'arn:aws:states:::states:startExecution.sync:2';

export type Start = (name: string, input: unknown) => Execution;

/** Starts each name once. The name of a running execution with the same input gives that execution. */
export function startOnce(begin: Start): Start {
  const started = new Map<string, { readonly input: string; readonly execution: Execution }>();
  return (name, input) => {
    const text = JSON.stringify(input);
    const earlier = started.get(name);
    if (earlier?.input === text && !earlier.execution.history.result) return earlier.execution;
    if (earlier)
      throw new TaskError({
        error: 'StepFunctions.ExecutionAlreadyExistsException',
        cause: `Execution Already Exists: '${name}'`,
      });
    const execution = begin(name, input);
    started.set(name, { input: text, execution });
    return execution;
  };
}

/** Runs a task of {@link START_EXECUTION}. @throws TaskError unless the execution succeeds */
export async function runExecution(start: Start, input: unknown): Promise<unknown> {
  const { Name, Input } = input as { Name: string; Input: unknown };
  const { status, ...end } = await start(Name, Input).result;
  if (status === 'SUCCEEDED') return { Name, Status: status };
  throw new TaskError({ error: 'States.TaskFailed', cause: JSON.stringify({ Status: status, ...end }) });
}
