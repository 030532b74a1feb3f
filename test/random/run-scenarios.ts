import type { SandboxOptions } from '../../infra/local/sandbox/settings.ts';
import { CANARY } from '../support/secrecy.ts';
import { startWorkflow } from '../support/workflow.ts';
import { broken } from './promises.ts';
import { type Played, play } from './run-scenario.ts';
import type { Scenario } from './scenario.ts';

export interface Run {
  readonly index: number;
  readonly scenario: Scenario;
}

export interface Outcome extends Run {
  readonly played: Played;
  /** What was broken; empty where all held. */
  readonly broken: readonly string[];
}

export interface Pace {
  /** Workflows at a time. */
  readonly lanes: number;
  /** How many times faster than real time. */
  readonly speed: number;
  /** Every file is so large that it is divided into ranges. */
  readonly ranges?: boolean;
}

/** Runs one after the other in each of some workflows at a time; what one of them broke is told with its run. */
export async function runAll(
  runs: readonly Run[],
  pace: Pace,
  hear: (outcome: Outcome) => void,
): Promise<void> {
  const { lanes } = pace;
  const batches = batchesOf(runs, Math.min(BATCH, Math.ceil(runs.length / lanes)));
  const lane = async () => {
    for (let batch = batches.shift(); batch; batch = batches.shift()) await runBatch(batch, pace, hear);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** Runs that share a workflow: it takes seconds to load its functions, and keeps the histories of 500 executions. */
const BATCH = 100;

/** More than a few, so that most runs begin without a token that is still good. */
const ACCOUNTS = Array.from({ length: 12 }, (_, index) => `account-${index}`);

const MiB = 1024 ** 2;

/** Three parts and the beginning of a fourth, each of them a range. */
const RANGES = { above: 16 * MiB, bytes: 24 * MiB + 17 };

const HEALTHY = { secondsToReady: 5, urlSeconds: 86_400 };

async function runBatch(
  batch: readonly Run[],
  { speed, ranges }: Pace,
  hear: (outcome: Outcome) => void,
): Promise<void> {
  let current: Scenario['report'] = HEALTHY;
  // Read anew for each report that is created.
  const report: NonNullable<SandboxOptions['report']> = {
    secondsToReady: () => current.secondsToReady,
    secondsToProcessing: () => 1,
    get bytes() {
      return (ranges ? RANGES.bytes : current.bytes) as number;
    },
    get urlSeconds() {
      return current.urlSeconds;
    },
  };
  await using workflow = await startWorkflow({
    speed,
    // S3's time-outs would be shorter than a busy machine needs for a file of three parts.
    shortTimeouts: !ranges,
    sandbox: { report, credentials: ACCOUNTS.map((account) => ({ account })) },
    settings: { MAX_DOWNLOAD_BYTES: String(32 * MiB) },
  });
  let last: Outcome | undefined;
  for (const { index, scenario } of batch) {
    current = scenario.report;
    const place = { account: ACCOUNTS[index % ACCOUNTS.length] ?? '', prefix: `run-${index}` };
    const played = await play(workflow, scenario, place, () => {
      current = { ...scenario.report, ...HEALTHY };
    });
    last = { index, scenario, played, broken: broken(workflow.sandbox, played) };
    hear(last);
  }
  const leaked = new Set((await workflow.everythingWritten()).match(CANARY));
  if (last && leaked.size > 0) hear({ ...last, broken: [`P6: in this run or one before: ${[...leaked]}`] });
}

function batchesOf<T>(items: readonly T[], size: number): T[][] {
  const starts = Array.from({ length: Math.ceil(items.length / size) }, (_, index) => index * size);
  return starts.map((start) => items.slice(start, start + size));
}
