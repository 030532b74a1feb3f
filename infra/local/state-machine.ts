import { Worker } from 'node:worker_threads';
import type { ClockAnchor } from './clock.ts';
import { type Definition, keepTaskTimeouts, taskResources } from './definition.ts';
import type { ExecutionResult, HistoryEvent } from './history.ts';
import { jsonBytes, MAX_STATE_BYTES } from './limits.ts';
import { openQueue, type Queue } from './queue.ts';
import { takeRetryCount } from './retry-count.ts';
import type { FromMachine, MachineData, Start, ToMachine } from './state-machine-messages.ts';
import { failureOf } from './task-error.ts';

export interface Execution {
  readonly name: string;
  /** The history, from its beginning, as it happens; it ends with the execution. */
  readonly events: AsyncIterable<HistoryEvent>;
  /** Never rejects. */
  readonly result: Promise<ExecutionResult>;
  abort(): void;
}

/**
 * Does what a Task state names. A rejection with a TaskError fails the task as AWS would report it.
 *
 * @param resource the state's Resource
 */
export type RunTask = (resource: string, input: unknown) => Promise<unknown>;

export interface StateMachineOptions {
  readonly arn: string;
  readonly name: string;
  readonly definition: Definition;
  readonly clock: ClockAnchor;
  readonly runTask: RunTask;
}

export interface LocalStateMachine extends AsyncDisposable {
  /** @throws Error where the name was used before, or the input is larger than StartExecution takes */
  start(name: string, input: unknown): Execution;
  /** Aborts what still runs. */
  close(): Promise<void>;
}

interface Running {
  readonly events: Queue<HistoryEvent>;
  readonly end: (result: ExecutionResult) => void;
}

/**
 * Runs a definition in a thread whose clock is scaled; any number of executions at once.
 *
 * @throws Error that says what is wrong with the definition
 */
export async function startStateMachine(options: StateMachineOptions): Promise<LocalStateMachine> {
  const { definition, clock, arn, name: machineName } = options;
  const resources = taskResources(definition);
  const states = takeRetryCount(keepTaskTimeouts(definition, clock.speed));
  const workerData: MachineData = {
    definition: states,
    clock: { start: clock.start, speed: clock.speed },
    tasks: [...resources.keys()],
  };
  const worker = new Worker(new URL('./state-machine-worker.ts', import.meta.url), {
    workerData,
    execArgv: [],
  });
  const tell = (message: ToMachine) => worker.postMessage(message);
  const running = new Map<string, Running>();
  worker.on('message', (message: FromMachine) => hear(message, options.runTask, resources, running, tell));
  const { promise: ready, resolve, reject } = Promise.withResolvers<void>();
  worker.once('message', () => resolve());
  worker.on('error', (error) => {
    reject(error);
    endAll(running, { status: 'FAILED', error: 'States.Runtime', cause: error.message });
  });
  await ready;

  const used = new Set<string>();
  const begin = (start: Omit<Start, 'machine'>): Execution => {
    const { name } = start;
    const events = openQueue<HistoryEvent>();
    const { promise: result, resolve: end } = Promise.withResolvers<ExecutionResult>();
    running.set(name, { events, end });
    tell({ start: { ...start, machine: { arn, name: machineName } } });
    return { name, events, result, abort: () => tell({ abort: name }) };
  };
  const start = (name: string, input: unknown): Execution => {
    if (used.has(name)) throw new Error(`There was an execution ${name} already`);
    if (jsonBytes(input) > MAX_STATE_BYTES) {
      throw new RangeError(`The input is over ${MAX_STATE_BYTES} bytes, more than an execution takes`);
    }
    used.add(name);
    return begin({ name, input });
  };
  const close = async () => {
    endAll(running, { status: 'ABORTED' });
    await worker.terminate();
  };
  return { start, close, [Symbol.asyncDispose]: close };
}

function hear(
  message: FromMachine,
  runTask: RunTask,
  resources: ReadonlyMap<string, string>,
  running: Map<string, Running>,
  tell: (message: ToMachine) => void,
): void {
  if ('task' in message) {
    const { task, state, input } = message;
    runTask(resources.get(state) ?? '', input).then(
      (output) => tell({ task, output }),
      (error: unknown) => tell({ task, failure: failureOf(error) }),
    );
  } else if ('event' in message) {
    running.get(message.execution)?.events.push(message.event);
  } else if ('ended' in message) {
    end(running, message.ended, message.result);
  }
}

function end(running: Map<string, Running>, name: string, result: ExecutionResult): void {
  const execution = running.get(name);
  running.delete(name);
  execution?.events.close();
  execution?.end(result);
}

function endAll(running: Map<string, Running>, result: ExecutionResult): void {
  for (const name of [...running.keys()]) end(running, name, result);
}
