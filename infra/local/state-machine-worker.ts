import { parentPort, workerData } from 'node:worker_threads';
import { StateMachine } from 'aws-local-stepfunctions';
import { installDate, installTimers } from './clock.ts';
import type { ExecutionResult, HistoryEvent } from './history.ts';
import { jsonBytes, MAX_STATE_BYTES } from './limits.ts';
import { openRetryCounter } from './retry-count.ts';
import type { FromMachine, MachineData, Start, ToMachine } from './state-machine-messages.ts';
import { TaskError, type TaskFailure } from './task-error.ts';

/** The thread of the interpreter: its clock and its timers are the run's, and its tasks are done by the parent. */

const port = parentPort;
if (!port) throw new Error('state-machine-worker.ts runs as a worker');
const { definition, clock, tasks } = workerData as MachineData;
installDate(clock);
installTimers(clock);

// checkArn is off because it knows no Region such as `local` and no ARN without an account.
type Interpreted = ConstructorParameters<typeof StateMachine>[0];
const machine = new StateMachine(definition as unknown as Interpreted, {
  validationOptions: { checkArn: false, checkPaths: true },
});

type Json = Parameters<StateMachine['run']>[0];

const pending = new Map<number, { resolve(output: Json): void; reject(error: Error): void }>();
const aborts = new Map<string, () => void>();
const countRetries = openRetryCounter();
let lastTask = 0;

const tell = (message: FromMachine) => port.postMessage(message);

port.on('message', (message: ToMachine) => {
  if ('start' in message) void execute(message.start);
  else if ('abort' in message) aborts.get(message.abort)?.();
  else settle(message);
});
tell({ ready: true });

function settle({ task, output, failure }: Extract<ToMachine, { task: number }>): void {
  const waiting = pending.get(task);
  pending.delete(task);
  if (failure) waiting?.reject(new TaskError(failure));
  else if (jsonBytes(output) > MAX_STATE_BYTES) waiting?.reject(new DataLimitExceeded('output'));
  else waiting?.resolve(output as Json);
}

/** Neither Retry nor Catch sees it, not even through States.ALL. */
class DataLimitExceeded extends TaskError {
  readonly isRetryable = false;
  readonly isCatchable = false;

  constructor(side: 'input' | 'output') {
    const cause = `The state's ${side} is over ${MAX_STATE_BYTES} bytes.`;
    super({ error: 'States.DataLimitExceeded', cause });
  }
}

async function execute({ name, input, machine: { arn, name: machineName } }: Start): Promise<void> {
  let ended = false;
  const runTask = (state: string) => async (taskInput: Json) => {
    // The interpreter wakes a Retry's wait when it is aborted, and would then try once more.
    if (ended) throw new TaskError({ error: 'States.TaskFailed', cause: 'The execution has ended.' });
    const input = countRetries(taskInput);
    if (jsonBytes(input) > MAX_STATE_BYTES) throw new DataLimitExceeded('input');
    lastTask += 1;
    tell({ task: lastTask, execution: name, state, input });
    const { promise, resolve, reject } = Promise.withResolvers<Json>();
    pending.set(lastTask, { resolve, reject });
    return promise;
  };
  const id = `${arn.replace(':stateMachine:', ':execution:')}:${name}`;
  const execution = machine.run(input as Json, {
    overrides: {
      taskResourceLocalHandlers: Object.fromEntries(tasks.map((state) => [state, runTask(state)])),
    },
    context: {
      Execution: { Id: id, Name: name, RedriveCount: 0 },
      StateMachine: { Id: arn, Name: machineName },
    },
  });
  aborts.set(name, () => {
    ended = true;
    execution.abort();
  });
  const told = tellEvents(name, execution.eventLogs);
  const result = await execution.result.then(
    (output): ExecutionResult => ({ status: 'SUCCEEDED', output }),
    (error: unknown) => endedBy(error),
  );
  ended = true;
  aborts.delete(name);
  await told;
  tell({ ended: name, result });
}

function endedBy(error: unknown): ExecutionResult {
  if (!(error instanceof Error)) return { status: 'FAILED', cause: String(error) };
  if (error.name === 'ExecutionAbortedError') return { status: 'ABORTED' };
  if (error.name === 'ExecutionTimeoutError') return { status: 'TIMED_OUT', error: 'States.Timeout' };
  const { name, message } = error.cause instanceof Error ? error.cause : error;
  return { status: 'FAILED', error: name, cause: message };
}

type InterpreterEvent =
  ReturnType<StateMachine['run']>['eventLogs'] extends AsyncGenerator<infer E> ? E : never;

async function tellEvents(execution: string, events: AsyncIterable<InterpreterEvent>): Promise<void> {
  for await (const event of events) tell({ execution, event: toHistory(event) });
}

function toHistory(event: InterpreterEvent): HistoryEvent {
  const about = 'state' in event ? event.state : 'parentState' in event ? event.parentState : undefined;
  // An iteration's own input is in the event, that of the whole Map in its parent state.
  const { input, output } = 'state' in event ? event.state : (event as { input?: unknown; output?: unknown });
  return {
    type: event.type,
    time: new Date(event.timestamp).toISOString(),
    ...(about && { state: about.name, stateType: about.type }),
    ...('index' in event && event.index !== undefined && { window: event.index }),
    ...('retry' in event && { attempt: event.retry.attempt }),
    ...(input !== undefined && { input }),
    ...(output !== undefined && { output }),
    ...('Error' in event && toFailure(event)),
  };
}

function toFailure({ Error: error, Cause }: { Error: string; Cause: unknown }): TaskFailure {
  return { error, cause: Cause instanceof Error ? Cause.message : String(Cause) };
}
