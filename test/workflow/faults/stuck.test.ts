import { expect, it } from 'vitest';
import type { Report } from '../../../infra/local/sandbox/state.ts';
import { expectFailed, gapsIn, type Outcome, runExport } from '../../support/run-export.ts';
import { startWorkflow, type Workflow } from '../../support/workflow.ts';

const NEVER = 1e9;
const MINUTES = 60;

/** Seconds to READY of a report, by its ordinal and those created before. */
type Readiness = (request: unknown, ordinal: number, earlier: readonly Report[]) => number;

/** One export whose reports are READY after these times. Half an hour takes 1.8 s. */
async function wait(readiness: Readiness, faults: string[] = []): Promise<Outcome> {
  await using workflow: Workflow = await startWorkflow({
    speed: 1000,
    sandbox: {
      tokenSeconds: 86_400,
      report: {
        secondsToReady: (request, ordinal) => readiness(request, ordinal, workflow.sandbox.reports()),
      },
    },
  });
  return await runExport(workflow, { faults });
}

/** Minutes between the creations of two reports. */
function between({ reports: [first, second] }: Outcome): number {
  return ((second?.createdAt ?? Number.NaN) - (first?.createdAt ?? 0)) / 1000 / MINUTES;
}

it.concurrent('12: a report that is not READY after 30 minutes is replaced, and the manifest names it', async () => {
  const outcome = await wait((_, ordinal) => (ordinal === 1 ? NEVER : 20));
  expect(outcome.status).toBe('SUCCEEDED');
  const [first, second] = outcome.reports.map(({ id }) => id);
  expect(outcome.reports).toHaveLength(2);
  expect(between(outcome)).toBeGreaterThanOrEqual(30);
  expect(outcome.manifest).toMatchObject({ report_id: second, abandoned_report_ids: [first] });
});

it.concurrent('12: a report that was replaced is still watched, and the first READY one wins', async () => {
  const outcome = await wait((_, ordinal, [first]) => {
    // The first one is READY as soon as there is a second.
    if (first) first.readyAt = 0;
    return ordinal * NEVER;
  });
  expect(outcome.status).toBe('SUCCEEDED');
  const [first, second] = outcome.reports.map(({ id }) => id);
  expect(outcome.reports).toHaveLength(2);
  expect(outcome.manifest).toMatchObject({ report_id: first, abandoned_report_ids: [second] });
  expect(new Set(outcome.to('storage').map(({ reportId }) => reportId))).toEqual(new Set([first]));
});

it.concurrent('12: where no report is ever READY, the export fails after two replacements', async () => {
  const outcome = await wait(() => NEVER);
  expectFailed(outcome, 'ReportStuck');
  expect(outcome.failure.report_ids).toEqual(outcome.reports.map(({ id }) => id));
  expect(outcome.reports).toHaveLength(3);
  expect(Math.max(...gapsIn(outcome))).toBeGreaterThan(50); // seldom in the end
});

it.concurrent('14: a status that the contract does not name is warned of, waited for, and then replaced', async () => {
  const outcome = await wait(() => 0, ['report=1 set.status=QUEUED omit=download_url times=always']);
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.reports).toHaveLength(2);
  expect(between(outcome)).toBeGreaterThanOrEqual(30);
  expect(JSON.stringify(outcome.logged)).toContain('the contract does not name this status');
});

it.concurrent('8: a 429 in mid-poll for ever ends in bounded time, typed, and asks for no replacement', async () => {
  const outcome = await wait(() => 0, ['report status=429 times=always']);
  expectFailed(outcome, 'RateLimited');
  expect(outcome.reports).toHaveLength(1);
});
