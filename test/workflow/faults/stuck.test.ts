import { expect, it } from 'vitest';
import { commonWorkflow, deliver } from '../../support/run-export.ts';

// Half an hour takes 1.8 s here.
const workflow = await commonWorkflow();

it('12, 14: a report in an unknown status brings a warning, and is replaced after 30 minutes', async () => {
  const ordinal = workflow.sandbox.reports().length + 1;
  const unknown = `report=${ordinal} set.status=QUEUED omit=download_url times=always`;
  const outcome = await deliver(workflow, { faults: [unknown] });
  const [first, second] = outcome.reports.map(({ id }) => id);
  expect(outcome.reports).toHaveLength(2);
  const minutes = outcome.reports.map(({ createdAt }) => createdAt / 60_000);
  expect((minutes[1] ?? 0) - (minutes[0] ?? 0)).toBeGreaterThanOrEqual(30);
  expect(outcome.manifest).toMatchObject({ report_id: second, abandoned_report_ids: [first] });
  expect(JSON.stringify(outcome.logged)).toContain(
    'the report has the status QUEUED, which the contract does not name',
  );
});
