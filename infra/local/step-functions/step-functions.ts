import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { compileFunction } from 'node:vm';
import type * as Interpreter from 'aws-local-stepfunctions';
import { type ClockAnchor, createScaledDate, createScaledTimers } from '../clock.ts';
import { TaskError, taskFailure } from '../lambda/task-error.ts';
import { adapt, type Definition, mapStates } from './definition.ts';
import type { ExecutionHistory, ExecutionResult, HistoryEvent, InterpreterEvent } from './history.ts';

/** The largest input or output of a state or an execution (Step Functions quota). */
const MAX_STATE_BYTES = 256 * 1024;

export interface Execution {
  readonly name: string;
  /** The history so far, and all of it once there is a result. */
  readonly history: ExecutionHistory;
  /** Calls back for each event of the history, from its beginning. */
  listen(callback: (event: HistoryEvent) => void): void;
  /** Never rejects. */
  readonly result: Promise<ExecutionResult>;
  abort(): void;
}

/**
 * Runs a task.
 *
 * @param resource the Resource of the Task state
 * @throws TaskError with the Error and Cause that AWS would report. Any other error becomes
 *   States.TaskFailed.
 */
export type RunTask = (resource: string, input: unknown) => Promise<unknown>;

export interface StateMachineOptions {
  readonly arn: string;
  readonly name: string;
  readonly definition: Definition;
  /** The interpreter's bundle. */
  readonly interpreter: string;
  readonly clock: ClockAnchor;
  readonly runTask: RunTask;
}

/** Disposing of it aborts all executions. */
export interface LocalStateMachine extends AsyncDisposable {
  /** @throws RangeError if the input is larger than StartExecution accepts */
  start(name: string, input: unknown): Execution;
}

type Json = Parameters<Interpreter.StateMachine['run']>[0];

/** Runs a state machine by a scaled clock, any number of executions at once. */
export function createStateMachine(options: StateMachineOptions): LocalStateMachine {
  const { arn, name: machineName, clock, runTask } = options;
  const timers = createScaledTimers(clock);
  const definition = adapt(options.definition, clock.speed);
  const { StateMachine } = loadInterpreter(options.interpreter, { Date: createScaledDate(clock), ...timers });
  const machine = new StateMachine(definition as never, { validationOptions: { noValidate: true } });
  /** The Resource of every Task state, by the state's name. Names are unique in a state machine. */
  const resources = new Map<string, string>();
  mapStates(definition, (state, name) => {
    if (state.Type === 'Task') resources.set(name, state.Resource ?? '');
    return state;
  });
  const running = new Set<Execution>();

  const start = (name: string, input: unknown): Execution => {
    if (jsonBytes(input) > MAX_STATE_BYTES)
      throw new RangeError(`The input is over ${MAX_STATE_BYTES} bytes, more than an execution accepts`);
    const ended = new AbortController();
    const handlers = Array.from(resources, ([state, resource]) => [
      state,
      createTask(runTask, resource, ended.signal),
    ]);
    const run = machine.run(input as Json, {
      overrides: { taskResourceLocalHandlers: Object.fromEntries(handlers) },
      context: {
        Execution: {
          Id: `${arn.replace(':stateMachine:', ':execution:')}:${name}`,
          Name: name,
          RedriveCount: 0,
        },
        StateMachine: { Id: arn, Name: machineName },
      },
    });
    const execution = follow(name, run, ended);
    running.add(execution);
    void execution.result.then(() => running.delete(execution));
    return execution;
  };
  return {
    start,
    async [Symbol.asyncDispose]() {
      const aborted = [...running];
      for (const execution of aborted) execution.abort();
      await Promise.all(aborted.map(({ result }) => result));
      timers.clearAll();
    },
  };
}

/** Evaluates the interpreter with a Date and timers of its own in place of this process's. */
function loadInterpreter(file: string, globals: Readonly<Record<string, unknown>>): typeof Interpreter {
  const module = { exports: {} };
  const parameters = { module, require: createRequire(file), ...globals };
  const evaluate = compileFunction(readFileSync(file, 'utf8'), Object.keys(parameters), { filename: file });
  evaluate(...Object.values(parameters));
  return module.exports as typeof Interpreter;
}

function createTask(runTask: RunTask, resource: string, ended: AbortSignal): (input: Json) => Promise<Json> {
  return async (input) => {
    // An abort wakes the interpreter from the wait of a Retry, and it would then start the next try.
    if (ended.aborted) throw new TaskError({ error: 'States.TaskFailed', cause: 'The execution has ended.' });
    if (jsonBytes(input) > MAX_STATE_BYTES) throw new DataLimitExceeded('input');
    const output = await runTask(resource, input).catch((error: unknown) => {
      throw new TaskError(taskFailure(error));
    });
    if (jsonBytes(output) > MAX_STATE_BYTES) throw new DataLimitExceeded('output');
    return output as Json;
  };
}

/** Neither a Retry nor a Catch sees this error, not even through States.ALL. */
class DataLimitExceeded extends TaskError {
  readonly isRetryable = false;
  readonly isCatchable = false;

  constructor(side: 'input' | 'output') {
    const cause = `The state's ${side} is over ${MAX_STATE_BYTES} bytes.`;
    super({ error: 'States.DataLimitExceeded', cause });
  }
}

type Run = ReturnType<Interpreter.StateMachine['run']>;

function follow(name: string, run: Run, ended: AbortController): Execution {
  const history: ExecutionHistory = { execution: name, events: [] };
  const listeners: Parameters<Execution['listen']>[0][] = [];
  const logged = (async () => {
    for await (const event of run.eventLogs) {
      const ofHistory = toHistoryEvent(event);
      history.events.push(ofHistory);
      for (const tell of listeners) tell(ofHistory);
    }
  })();
  const result = run.result
    .then((output): ExecutionResult => ({ status: 'SUCCEEDED', output }), toFailedResult)
    .then(async (ending) => {
      ended.abort();
      await logged;
      history.result = ending;
      return ending;
    });
  const listen: Execution['listen'] = (callback) => {
    for (const event of history.events) callback(event);
    listeners.push(callback);
  };
  const abort = () => {
    ended.abort();
    run.abort();
  };
  return { name, history, listen, result, abort };
}

function toFailedResult(error: unknown): ExecutionResult {
  if (!(error instanceof Error)) return { status: 'FAILED', cause: String(error) };
  if (error.name === 'ExecutionAbortedError') return { status: 'ABORTED' };
  if (error.name === 'ExecutionTimeoutError') return { status: 'TIMED_OUT', error: 'States.Timeout' };
  const { name, message } = error.cause instanceof Error ? error.cause : error;
  return { status: 'FAILED', error: name, cause: message };
}

function toHistoryEvent(event: InterpreterEvent): HistoryEvent {
  const about = 'state' in event ? event.state : 'parentState' in event ? event.parentState : undefined;
  // The event of a Map's iteration has the iteration's input; its parent state has the input of the whole
  // Map.
  const { input, output } = 'state' in event ? event.state : (event as { input?: unknown; output?: unknown });
  return {
    type: event.type,
    time: new Date(event.timestamp).toISOString(),
    ...(about && { state: about.name, stateType: about.type }),
    ...('index' in event && event.index !== undefined && { window: event.index }),
    ...(input !== undefined && { input }),
    ...(output !== undefined && { output }),
    ...('Error' in event && {
      error: event.Error,
      cause: event.Cause instanceof Error ? event.Cause.message : String(event.Cause),
    }),
  };
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '');
}
