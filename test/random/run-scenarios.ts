import { crc32 } from 'node:zlib';
import type { ReportSettings } from '../../infra/sandbox/settings.ts';
import { CANARY } from '../support/secrecy.ts';
import { startWorkflow } from '../support/workflow.ts';
import { brokenPromises } from './promises.ts';
import { runScenario, type ScenarioRun } from './run-scenario.ts';
import type { NumberedScenario, Scenario } from './scenario.ts';

export interface Outcome extends NumberedScenario {
  readonly run: ScenarioRun;
  /** A line for each broken promise. */
  readonly broken: readonly string[];
}

export interface Pace {
  /** Workflows at the same time. */
  readonly parallel: number;
  /** Times faster than real time. */
  readonly speed: number;
}

/** Runs scenarios one after the other in each of some workflows, and reports each outcome. */
export async function runScenarios(
  scenarios: readonly NumberedScenario[],
  pace: Pace,
  report: (outcome: Outcome) => void,
): Promise<void> {
  const { parallel } = pace;
  const batches = batchesOf(scenarios, Math.min(BATCH, Math.ceil(scenarios.length / parallel)));
  const work = async () => {
    for (let batch = batches.shift(); batch; batch = batches.shift()) await runBatch(batch, pace, report);
  };
  await Promise.all(Array.from({ length: parallel }, work));
}

/** Scenarios of one workflow. Starting one takes seconds, and it keeps the histories of 500 executions. */
const BATCH = 60;

/** Enough for most scenarios to start without a valid token. */
const ACCOUNTS = Array.from({ length: 12 }, (_, index) => `account-${index}`);

const MAX_DOWNLOAD_BYTES = 32 * 1024 ** 2;

/** Every hundred seconds of the scaled clock, the same days have other values, and other days are empty. */
const CHANGING = {
  restated: { days: 5, everyHours: 1 / 36 },
  lateHours: 12,
  isEmpty: (day: string, advertiser: string, createdAt: number) =>
    crc32(`${day} ${advertiser} ${Math.floor(createdAt / 100_000)}`) % 4 === 0,
};

const HEALTHY = { secondsToReady: 5, urlSeconds: 86_400 };

async function runBatch(
  batch: readonly NumberedScenario[],
  { speed }: Pace,
  tell: (outcome: Outcome) => void,
): Promise<void> {
  await using workflow = await startWorkflow({
    speed,
    shortTimeouts: true,
    sandbox: { credentials: ACCOUNTS.map((account) => ({ account })) },
    settings: { MAX_DOWNLOAD_BYTES: String(MAX_DOWNLOAD_BYTES) },
  });
  let last: Outcome | undefined;
  for (const { index, scenario } of batch) {
    const { options } = workflow.sandbox;
    options.report = settingsOf(scenario.report);
    const names = { account: ACCOUNTS[index % ACCOUNTS.length] ?? '', prefix: `run-${index}` };
    const run = await runScenario(workflow, scenario, names, () => {
      options.report = settingsOf({ ...scenario.report, ...HEALTHY });
    });
    last = { index, scenario, run, broken: brokenPromises(workflow.sandbox, run) };
    tell(last);
  }
  const leaked = new Set((await workflow.everythingWritten()).match(CANARY));
  if (last && leaked.size > 0)
    tell({ ...last, broken: [`P6: this run or one before it leaked: ${[...leaked]}`] });
}

function settingsOf({ delays, changing, secondsToReady, ...report }: Scenario['report']): ReportSettings {
  return {
    ...report,
    ...(changing && CHANGING),
    secondsToReady: (_, ordinal) => secondsToReady + (delays?.[ordinal % delays.length] ?? 0),
    secondsToProcessing: 1,
  };
}

function batchesOf<T>(items: readonly T[], size: number): T[][] {
  const starts = Array.from({ length: Math.ceil(items.length / size) }, (_, index) => index * size);
  return starts.map((start) => items.slice(start, start + size));
}
