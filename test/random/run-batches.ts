import { crc32 } from 'node:zlib';
import type { ReportSettings } from '../../infra/lab/sandbox/sandbox-options.ts';
import { cacheCompiledCode } from '../../infra/stack/cache.ts';
import { CANARY } from '../support/secrecy.ts';
import { startWorkflow } from '../support/workflow.ts';
import { brokenPromises } from './promises.ts';
import { runScenario } from './run-scenario.ts';
import { type Batch, DONE, type Outcome } from './run-scenarios.ts';
import type { Scenario } from './scenario.ts';

/** Enough for most scenarios to start without a valid token. */
const ACCOUNTS = Array.from({ length: 12 }, (_, index) => `account-${index}`);

const MAX_DOWNLOAD_BYTES = 32 * 1024 ** 2;

const HOUR_MS = 3_600_000;

/**
 * Every hundred seconds of the scaled clock, the same days have other values, and other days are empty. A day
 * has no rows before its end, and half of them for twelve hours more.
 */
const CHANGING = {
  restated: { days: 5, everyHours: 1 / 36 },
  rowsOn(day: string, advertiser: string, createdAt: number) {
    const isEmpty = crc32(`${day} ${advertiser} ${Math.floor(createdAt / 100_000)}`) % 4 === 0;
    const hours = (createdAt - Date.parse(day)) / HOUR_MS - 24;
    return isEmpty || hours < 0 ? 0 : hours < 12 ? 3 : 6;
  },
};

const HEALTHY = { secondsToReady: 5, urlSeconds: 86_400 };

async function runBatch({ scenarios, speed }: Batch, tell: (outcome: Outcome) => void): Promise<void> {
  await using workflow = await startWorkflow({
    versioned: true,
    speed,
    shortTimeouts: true,
    sandbox: { credentials: ACCOUNTS.map((account) => ({ account })) },
    settings: { MAX_DOWNLOAD_BYTES: String(MAX_DOWNLOAD_BYTES) },
  });
  let last: Outcome | undefined;
  for (const { index, scenario } of scenarios) {
    const { options } = workflow.sandbox;
    options.report = settingsOf(scenario.report);
    const accounts = [...ACCOUNTS, ...ACCOUNTS].splice(index % ACCOUNTS.length, scenario.accounts ? 2 : 1);
    const runs = await runScenario(workflow, scenario, { accounts, prefix: `run-${index}` }, () => {
      options.report = settingsOf({ ...scenario.report, ...HEALTHY });
    });
    const all = runs.flatMap(({ faulty }) => faulty.ended);
    const ended = all.map(({ status, error }) => ({ status, error }));
    const broken = runs.flatMap((run) => brokenPromises(workflow.sandbox, run));
    last = { index, scenario, ended, broken };
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
    secondsToReady: (ordinal) => secondsToReady + (delays?.[ordinal % delays.length] ?? 0),
  };
}

function send(message: Outcome | typeof DONE): void {
  process.send?.(message);
}

cacheCompiledCode();
process.on('disconnect', () => process.exit());
process.on('message', async (batch: Batch) => {
  await runBatch(batch, send);
  send(DONE);
});
