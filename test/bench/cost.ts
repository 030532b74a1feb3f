import { MIN_WAIT, pollWait } from '../../functions/decisions/waits.ts';
import type { ExportPlan, ReportWindow, WindowState } from '../../functions/workflow/states.ts';
import type { Invocation } from '../../functions/workflow/step.ts';
import { dollarsOf, PRICES, SECONDS_OF_CALL, type Usage } from '../../infra/cost.ts';
import { type Assembly, loadAssembly, prepareAssembly } from '../../infra/local/assembly.ts';
import type { FunctionSpec } from '../../infra/local/lambda-instance.ts';
import { createStateMachine, type RunTask } from '../../infra/local/step-functions.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

/** Seconds from a report's creation until it is READY. */
const READY_AFTER = [20, 3 * 60, 10 * 60, 29 * 60];

type StepName = keyof typeof SECONDS_OF_CALL;

/** One export of one report, done in one way. */
interface Way {
  readonly name: string;
  readonly polls: number;
  readonly usage: Usage;
  /** Events of the longer history, where a history is kept. */
  readonly events?: number;
  readonly dollars: number;
  /** Seconds from READY to the first byte of the file. */
  readonly latency: number;
}

/**
 * Runs the synthesized state machine on a virtual clock, with functions that only say what the platform would have said, and
 * computes what other ways to wait for the same report would cost. The durations of calls are those of infra/cost.ts.
 */
export async function benchCost(): Promise<string> {
  const assembly = loadAssembly(await prepareAssembly());
  const tables: string[] = [];
  for (const readyAfter of READY_AFTER) {
    const ours = await runWorkflow(assembly, readyAfter);
    const ways = [
      ours,
      fixedLoop(assembly, readyAfter),
      sleepingLambda(assembly, readyAfter),
      fargate(readyAfter),
    ];
    tables.push(describeWays(readyAfter, ways));
  }
  return tables.join('\n\n');
}

/** @param readyAfter seconds from the report's creation until it is READY */
export async function runWorkflow(assembly: Assembly, readyAfter: number): Promise<Way> {
  const clock = createVirtualClock(Date.parse('2026-11-01T00:00:00Z'));
  const platform = { readyAt: Infinity, readyAfter, savedAt: 0 };
  const calls: { step: StepName; gigabytes: number }[] = [];
  const runTask: RunTask = async (resource, input) => {
    const target = assembly.functions.find(({ arn }) => arn === resource);
    if (!target) return {};
    const step = stepOf(target);
    calls.push({ step, gigabytes: target.memoryMb / 1024 });
    const { state } = input as Invocation;
    const output = answer(step, state as never, clock, platform);
    await clock.sleep(SECONDS_OF_CALL[step] * 1000);
    return output;
  };
  const anchor = { start: clock.now(), speed: 1 };
  const { stateMachine, interpreter } = assembly;
  await using machine = createStateMachine({
    ...stateMachine,
    interpreter,
    clock: anchor,
    time: clock,
    runTask,
  });
  const execution = machine.start('bench', {});
  const { status, cause } = await clock.runUntil(execution.result);
  if (status !== 'SUCCEEDED') throw new Error(`The workflow ended ${status}: ${cause}`);
  const histories = { export: 0, window: 0 };
  let transitions = 0;
  for await (const { type, stateType, window } of execution.events) {
    const history = window === undefined ? 'export' : 'window';
    if (type === 'StateEntered') transitions += 1;
    if (type === 'StateEntered') histories[history] += stateType === 'Task' ? 3 : 0;
    if (type === 'StateEntered' || type === 'StateExited') histories[history] += 1;
  }
  const usage = {
    transitions,
    calls: calls.length,
    gigabyteSeconds: sum(calls.map(({ step, gigabytes }) => SECONDS_OF_CALL[step] * gigabytes)),
  };
  return {
    name: 'this workflow',
    polls: calls.filter(({ step }) => step === 'CheckReport').length,
    usage,
    events: Math.max(histories.export, histories.window),
    dollars: dollarsOf(usage),
    latency: (platform.savedAt - platform.readyAt) / 1000,
  };
}

function stepOf({ environment }: FunctionSpec): StepName {
  return environment.STEP as StepName;
}

interface Platform {
  readonly readyAfter: number;
  readyAt: number;
  savedAt: number;
}

/** The output of a step, for one window whose report takes its time and whose calls all succeed. */
function answer(
  step: StepName,
  state: ExportPlan & WindowState,
  clock: VirtualClock,
  platform: Platform,
): unknown {
  const now = new clock.Date();
  const created_at = now.toISOString();
  const window = { start_date: '2026-10-01', end_date: '2026-11-01' };
  const pending = state as Partial<ReportWindow>;
  switch (step) {
    case 'PlanExport':
      return { ...state, request: { kind: 'report', max_parallel: 1 }, windows: [window], warnings: [] };
    case 'CreateReport':
      platform.readyAt = clock.now() + platform.readyAfter * 1000;
      return { ...state, status: 'pending', reports: [{ id: 'report', created_at }], wait_seconds: MIN_WAIT };
    case 'CheckReport': {
      const isReady = clock.now() >= platform.readyAt;
      const wait = pollWait(pending.reports?.[0]?.created_at ?? created_at, now);
      return { ...state, status: isReady ? 'ready' : 'pending', wait_seconds: isReady ? MIN_WAIT : wait };
    }
    case 'SaveReport':
      platform.savedAt = clock.now();
      return { ...state, status: 'saved' };
    case 'CurateReport':
      return { ...state, status: 'curated' };
    default:
      return state;
  }
}

/** On average, a report becomes READY in the middle between two polls. */
const FIXED_LATENCY = MIN_WAIT / 2;

/** A state machine that waits 10 s before every poll: three transitions each. It copies in the call that finds READY. */
function fixedLoop(assembly: Assembly, readyAfter: number): Way {
  const polls = Math.ceil(readyAfter / MIN_WAIT);
  const gigabytes = memoryOf(assembly, 'CheckReport');
  const seconds = sum([
    polls * SECONDS_OF_CALL.CheckReport,
    SECONDS_OF_CALL.GetToken,
    SECONDS_OF_CALL.CreateReport,
  ]);
  const usage = {
    transitions: 3 * polls + 4,
    calls: polls + 3,
    gigabyteSeconds: (seconds + SECONDS_OF_CALL.SaveReport) * gigabytes,
  };
  return {
    name: 'a fixed loop of 10 s',
    polls,
    usage,
    events: 9 * polls + 20,
    dollars: dollarsOf(usage),
    latency: FIXED_LATENCY,
  };
}

/** A function that sleeps between its polls. It ends after 15 minutes at the latest. */
function sleepingLambda(assembly: Assembly, readyAfter: number): Way {
  const { polls, latency } = fixedLoop(assembly, readyAfter);
  const seconds = polls * MIN_WAIT + SECONDS_OF_CALL.SaveReport;
  const usage = { transitions: 0, calls: 1, gigabyteSeconds: seconds * memoryOf(assembly, 'SaveReport') };
  const name = seconds > 15 * 60 ? 'a sleeping Lambda (over its 15 min)' : 'a sleeping Lambda';
  return { name, polls, usage, dollars: dollarsOf(usage), latency };
}

/** The smallest task, 0.25 vCPU and 0.5 GB. It takes about 30 s to start, which Fargate bills too. */
function fargate(readyAfter: number): Way {
  const polls = Math.ceil(readyAfter / MIN_WAIT);
  const seconds = Math.max(60, 30 + polls * MIN_WAIT + SECONDS_OF_CALL.SaveReport);
  const dollars = seconds * (0.25 * PRICES.vcpuSecond + 0.5 * PRICES.fargateGigabyteSecond);
  const usage = { transitions: 0, calls: 0, gigabyteSeconds: 0 };
  return { name: 'a Fargate task', polls, usage, dollars, latency: FIXED_LATENCY };
}

function memoryOf({ functions }: Assembly, step: StepName): number {
  return (functions.find((each) => stepOf(each) === step)?.memoryMb ?? Number.NaN) / 1024;
}

function describeWays(readyAfter: number, ways: readonly Way[]): string {
  const minutes = readyAfter < 60 ? `${readyAfter} s` : `${readyAfter / 60} min`;
  const head = ['', 'polls', 'transitions', 'events', 'GB-seconds', '$ per 1,000', 'latency'];
  const rows = ways.map(({ name, polls, usage, events, dollars, latency }) => [
    name,
    `${polls}`,
    `${usage.transitions}`,
    events === undefined ? '' : `${events}`,
    usage.gigabyteSeconds.toFixed(1),
    (1000 * dollars).toFixed(2),
    `${latency.toFixed(0)} s`,
  ]);
  const lines = [head, ...rows].map(([name = '', ...cells]) =>
    [name.padEnd(36), ...cells.map((cell) => cell.padStart(12))].join(''),
  );
  return [`A report that is READY after ${minutes}:`, ...lines].join('\n');
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
