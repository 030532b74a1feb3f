import { expect, it } from 'vitest';
import type { Report } from '../../../infra/sandbox/state.ts';
import { type Conditions, commonWorkflow, type Outcome, runExport } from '../../support/run-export.ts';

// Reports that are not READY for half an hour, which takes 1.8 s here.
const workflow = await commonWorkflow();
const NEVER = 1e9;

/** Runs an export whose reports are READY after these seconds. */
function runWith(secondsToReady: (ordinal: number) => number, conditions: Conditions = {}): Promise<Outcome> {
  const before = workflow.sandbox.reports().length;
  const report = { secondsToReady: (ordinal: number) => secondsToReady(ordinal - before) };
  return runExport(workflow, { ...conditions, sandbox: { report } });
}

function minutesBetween([first, second]: readonly Report[]): number {
  return ((second?.createdAt ?? Number.NaN) - (first?.createdAt ?? 0)) / 60_000;
}

it('12: a replaced report is still polled, and the first READY one wins', async () => {
  const outcome = await runWith((ordinal) => {
    // The first report becomes READY when the second is created.
    const first = workflow.sandbox.reports().at(-1);
    if (ordinal === 2 && first) first.readyAt = 0;
    return NEVER;
  });
  expect(outcome.status).toBe('SUCCEEDED');
  const [first, second] = outcome.reports.map(({ id }) => id);
  expect(outcome.reports).toHaveLength(2);
  expect(outcome.manifest).toMatchObject({ report_id: first, abandoned_report_ids: [second] });
  expect(new Set(outcome.callsTo('storage').map(({ reportId }) => reportId))).toEqual(new Set([first]));
});

it('12, 14: a report in an unknown status for 30 minutes is waited for with a warning, and then replaced', async () => {
  const ordinal = workflow.sandbox.reports().length + 1;
  const unknown = `report=${ordinal} set.status=QUEUED omit=download_url times=always`;
  const outcome = await runWith(() => 0, { faults: [unknown] });
  expect(outcome.status).toBe('SUCCEEDED');
  const [first, second] = outcome.reports.map(({ id }) => id);
  expect(outcome.reports).toHaveLength(2);
  expect(minutesBetween(outcome.reports)).toBeGreaterThanOrEqual(30);
  expect(outcome.manifest).toMatchObject({ report_id: second, abandoned_report_ids: [first] });
  expect(JSON.stringify(outcome.logged)).toContain(
    'the report has the status QUEUED, which the contract does not name',
  );
});
