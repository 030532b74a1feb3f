import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { prepareAssembly } from '../../infra/local/assembly.ts';
import type { Ended } from './run-scenario.ts';
import type { NumberedScenario } from './scenario.ts';

/** How a scenario ended. Plain data. */
export interface Outcome extends NumberedScenario {
  /** Its executions with faults. */
  readonly ended: readonly { readonly status: Ended['status']; readonly error: Ended['error'] }[];
  /** How often days of its tables were restated, kept a newer report, and ended without rows. */
  readonly days: { readonly restated: number; readonly kept: number; readonly empty: number };
  /** A line for each broken promise. */
  readonly broken: readonly string[];
}

/** Scenarios to run one after the other in one workflow. */
export interface Batch {
  readonly scenarios: readonly NumberedScenario[];
  /** Times faster than real time. */
  readonly speed: number;
}

/** The message after the last outcome of a batch. */
export const DONE = 'done';

export interface Pace {
  /** Workflows at the same time. */
  readonly parallel: number;
  /** Times faster than real time. */
  readonly speed: number;
}

/**
 * Runs scenarios one after the other in each of some workflows, and reports each outcome. Each workflow has a process of its own:
 * in a common one, checking a large file would stop the servers of the others, and their requests would look late.
 */
export async function runScenarios(
  scenarios: readonly NumberedScenario[],
  { parallel, speed }: Pace,
  report: (outcome: Outcome) => void,
): Promise<void> {
  const size = Math.min(BATCH, Math.ceil(scenarios.length / parallel));
  const batches = batchesOf(scenarios, size).map((batch): Batch => ({ scenarios: batch, speed }));
  await prepareAssembly();
  await Promise.all(Array.from({ length: parallel }, () => work(batches, report)));
}

/** Scenarios of one workflow. Starting one takes two seconds of CPU, and it keeps the histories of 500 executions. */
const BATCH = 60;

const RUN_BATCHES = new URL('./run-batches.ts', import.meta.url);

async function work(batches: Batch[], report: (outcome: Outcome) => void): Promise<void> {
  const child = fork(RUN_BATCHES, { execArgv: [] });
  const exited = once(child, 'exit');
  try {
    for (let batch = batches.shift(); batch; batch = batches.shift()) await run(child, batch, report);
  } finally {
    if (child.connected) child.disconnect();
    await exited;
  }
}

async function run(child: ChildProcess, batch: Batch, report: (outcome: Outcome) => void): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const receive = (message: Outcome | typeof DONE) => (message === DONE ? resolve() : report(message));
  const fail = (code: number | null) => reject(new Error(`The process of a workflow ended with ${code}`));
  child.on('message', receive).once('exit', fail).send(batch);
  await promise.finally(() => child.off('message', receive).off('exit', fail));
}

function batchesOf<T>(items: readonly T[], size: number): T[][] {
  const starts = Array.from({ length: Math.ceil(items.length / size) }, (_, index) => index * size);
  return starts.map((start) => items.slice(start, start + size));
}
