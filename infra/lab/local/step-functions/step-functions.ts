import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { compileFunction } from 'node:vm';
import type * as Interpreter from 'aws-local-stepfunctions';
import { type ClockAnchor, createScaledDate, createScaledTimers } from '../clock.ts';
import { TaskError } from '../lambda/task-error.ts';
import type { ExecutionHistory, ExecutionResult, HistoryEvent, InterpreterEvent } from './history.ts';

/** The largest input or output of a state or an execution (Step Functions quota). */
const MAX_STATE_BYTES = 256 * 1024;

/**
 * Runs a task.
 *
 * @param resource the Resource of the Task state
 * @throws TaskError with the Error and Cause that AWS would report. Any other error becomes
 *   States.TaskFailed.
 */
export type RunTask = (resource: string, input: unknown) => Promise<unknown>;

/** A state machine's definition in the Amazon States Language. Ignored fields have no type. */
export interface Definition {
  readonly StartAt: string;
  readonly TimeoutSeconds?: number;
  readonly States: Readonly<Record<string, StateDefinition>>;
}

export interface StateDefinition {
  readonly Type: string;
  readonly Resource?: string;
  readonly TimeoutSeconds?: number;
  readonly [field: string]: unknown;
}

export type LocalStateMachine = ReturnType<typeof createStateMachine>;

type Json = Parameters<Interpreter.StateMachine['run']>[0];

/**
 * Runs a state machine by a scaled clock, any number of executions at once. Disposing of it aborts all
 * executions.
 */
export function createStateMachine(options: {
  readonly arn: string;
  readonly name: string;
  readonly definition: Definition;
  /** The interpreter's bundle. */
  readonly interpreter: string;
  readonly clock: ClockAnchor;
  readonly runTask: RunTask;
}) {
  const { arn, name: machineName, clock, runTask } = options;
  const timers = createScaledTimers(clock);
  const { StateMachine } = loadInterpreter(options.interpreter, { Date: createScaledDate(clock), ...timers });
  /** The Resource of every Task state, by the state's name. Names are unique in a state machine. */
  const resources = new Map<string, string>();
  const scaled = mapStates(options.definition, (state, name) => {
    if (state.Type === 'Task') resources.set(name, state.Resource ?? '');
    // The interpreter's clock is faster, but a task takes as long as ever.
    const { TimeoutSeconds: seconds } = state;
    return seconds === undefined ? state : { ...state, TimeoutSeconds: seconds * clock.speed };
  });
  // The interpreter has no `$$.State.RetryCount`. The functions only name it in their log.
  const text = JSON.stringify(scaled).replaceAll(/"(\w+)\.\$":"\$\$\.State\.RetryCount"/g, '"$1":0');
  const machine = new StateMachine(JSON.parse(text), { validationOptions: { noValidate: true } });
  const running = new Set<Execution>();

  /** @throws RangeError if the input is larger than StartExecution accepts */
  const start = (name: string, input: unknown): Execution => {
    if (jsonBytes(input) > MAX_STATE_BYTES)
      throw new RangeError(`The input is over ${MAX_STATE_BYTES} bytes, more than an execution accepts`);
    const ended = new AbortController();
    const taskOf = (resource: string) => createTask(runTask, resource, ended.signal);
    const handlers = Array.from(resources, ([state, resource]) => [state, taskOf(resource)]);
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
    const execution = toExecution(name, run, ended);
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

/** Changes every state, including those inside a Map. Only a state has a Type. */
export function mapStates(
  definition: Definition,
  change: (state: StateDefinition, name: string) => StateDefinition,
): Definition {
  return JSON.parse(JSON.stringify(definition), (name, value) =>
    typeof value?.Type === 'string' ? change(value, name) : value,
  );
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
    if (ended.aborted) throw taskFailed('The execution has ended.');
    if (jsonBytes(input) > MAX_STATE_BYTES) throw new DataLimitExceeded('input');
    const output = await runTask(resource, input).catch((error: Error) => {
      // Any other error is a fault of the local run itself.
      throw error instanceof TaskError ? error : taskFailed(error.message);
    });
    if (jsonBytes(output) > MAX_STATE_BYTES) throw new DataLimitExceeded('output');
    return output as Json;
  };
}

function taskFailed(cause: string): TaskError {
  return new TaskError({ error: 'States.TaskFailed', cause });
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

type InterpreterRun = ReturnType<Interpreter.StateMachine['run']>;

export type Execution = ReturnType<typeof toExecution>;

function toExecution(name: string, run: InterpreterRun, ended: AbortController) {
  const history: ExecutionHistory = { execution: name, events: [] };
  const listeners: ((event: HistoryEvent) => void)[] = [];
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
  return {
    name,
    /** The history so far, and all of it once there is a result. */
    history,
    /** Never rejects. */
    result,
    /** Calls back for each event of the history, from its beginning. */
    listen(callback: (event: HistoryEvent) => void): void {
      for (const event of history.events) callback(event);
      listeners.push(callback);
    },
    abort(): void {
      ended.abort();
      run.abort();
    },
  };
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
