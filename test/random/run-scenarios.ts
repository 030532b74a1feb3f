import { type ChildProcess, fork } from 'node:child_process';
import { prepareAssembly } from '../../infra/lab/local/assembly/assembly.ts';
import type { Ended } from './phase.ts';
import type { NumberedScenario } from './scenario.ts';

/** The end of a scenario, as plain data. */
export interface Outcome extends NumberedScenario {
  /** Its executions with faults. */
  readonly ended: readonly { readonly status: Ended['status']; readonly error: Ended['error'] }[];
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
 * Runs scenarios one after the other in each of some workflows, and reports each outcome. Each workflow has a
 * process of its own: in a common one, checking a large file would stop the servers of the others, and their
 * requests would look late.
 */
export async function runScenarios(
  scenarios: readonly NumberedScenario[],
  { parallel, speed }: Pace,
  report: (outcome: Outcome) => void,
): Promise<void> {
  const waiting = [...scenarios];
  const size = Math.min(BATCH, Math.ceil(waiting.length / parallel));
  const next = () => waiting.splice(0, size);
  prepareAssembly();
  const work = async () => {
    using workflow = startProcess();
    for (let batch = next(); batch.length > 0; batch = next())
      await run(workflow.process, { scenarios: batch, speed }, report);
  };
  await Promise.all(Array.from({ length: parallel }, work));
}

/** Runs these scenarios of a seed. @returns what broke a promise, and how the executions ended */
export async function findBroken(seed: number, scenarios: readonly NumberedScenario[], pace: Pace) {
  const broken: object[] = [];
  const ends: unknown[] = [];
  await runScenarios(scenarios, pace, ({ index, scenario, ended, ...outcome }) => {
    ends.push(...ended.map(({ status }) => status));
    const replay = `npm run test:random -- --seed ${seed} --run ${index} --speed ${pace.speed}`;
    if (outcome.broken.length > 0) broken.push({ replay, broken: outcome.broken, scenario });
  });
  return { broken: JSON.stringify(broken, undefined, 2), ends };
}

/** Scenarios of one workflow, which keeps all their histories: at most 8 of each. */
const BATCH = 60;

const RUN_BATCHES = new URL('./run-batches.ts', import.meta.url);

function startProcess(): Disposable & { readonly process: ChildProcess } {
  const process = fork(RUN_BATCHES, { execArgv: [] });
  return { process, [Symbol.dispose]: () => process.connected && process.disconnect() };
}

async function run(child: ChildProcess, batch: Batch, report: (outcome: Outcome) => void): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const receive = (message: Outcome | typeof DONE) => (message === DONE ? resolve() : report(message));
  const fail = (code: number | null) => reject(new Error(`The process of a workflow ended with ${code}`));
  child.on('message', receive).once('exit', fail).send(batch);
  await promise.finally(() => child.off('message', receive).off('exit', fail));
}
