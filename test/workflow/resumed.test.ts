import { describe, expect, it } from 'vitest';
import { resumeName } from '../../functions/decisions/adopt.ts';
import { addDays, dateIn } from '../../functions/workflow/request/dates.ts';
import { gapsIn, keysOf, recordJournals, shareWorkflow } from '../support/run-export.ts';
import { follow } from '../support/workflow.ts';

const workflow = await shareWorkflow({ speed: 500 });
const TWO_WINDOWS = { start_date: '2025-10-01', end_date: '2025-12-01', max_parallel: 1, table: false };

/** Runs an export whose first window cannot be stored, and an execution of this name for what is missing. */
async function failAndResume(name: string, fields: object, resumedAs = resumeName(name)) {
  const request = workflow.request({ name, ...fields });
  const since = recordJournals(workflow);
  workflow.s3.faults.push({ operation: 'PutObject', key: '/report.json', answer: 'AccessDenied' });
  const failed = await follow(workflow.export(request, name));
  const only_missing = new Date(workflow.clock.now() - 3_600_000).toISOString();
  const resumed = await follow(workflow.export({ ...request, only_missing }, resumedAs));
  return { failed, resumed, journals: since() };
}

async function manifestsOf(name: string) {
  const keys = (await keysOf(workflow, name)).filter((key) => key.endsWith('_manifest.json'));
  return Promise.all(keys.map(async (key) => JSON.parse(String(await workflow.object(key)))));
}

describe('30: an execution that resumes a failed one', () => {
  it.each([
    ['one window', { ...TWO_WINDOWS, end_date: '2025-10-08' }, 1],
    ['two windows', TWO_WINDOWS, 2],
  ])('delivers the report that it created, of an export of %s', async (name, range, count) => {
    const { failed, resumed, journals } = await failAndResume(name.replace(' ', '-'), range);
    expect([failed.error, resumed.cause ?? resumed.status]).toEqual(['AccessRefused', 'SUCCEEDED']);
    expect(journals.reports).toHaveLength(count);
    expect(Math.min(...gapsIn(journals))).toBeGreaterThanOrEqual(10);
    const [first] = await manifestsOf(name.replace(' ', '-'));
    const [report] = journals.reports;
    expect(first).toMatchObject({ report_id: report?.id, abandoned_report_ids: [] });
    expect(first.start_date).toBe(range.start_date);
    expect(first).not.toHaveProperty('adoptable_report');
  });

  it('creates a report if the last day was not over when the earlier one was created', async () => {
    const today = dateIn('UTC', new Date(workflow.clock.now()));
    const range = { start_date: addDays(today, -1), end_date: addDays(today, 2) };
    const { resumed, journals } = await failAndResume('unfinished', range);
    expect([resumed.status, journals.reports.length]).toEqual(['SUCCEEDED', 2]);
  });

  it('creates a report if it is not the first execution that resumes it', async () => {
    const { resumed, journals } = await failAndResume('again', TWO_WINDOWS, 'again-later');
    expect([resumed.status, journals.reports.length]).toEqual(['SUCCEEDED', 3]);
  });

  it('creates another report if the platform no longer has the adopted one', async () => {
    workflow.sandbox.faults.add('report nth=3 status=404');
    workflow.sandbox.faults.add('report nth=4 status=404');
    const { resumed, journals } = await failAndResume('gone', { ...TWO_WINDOWS, end_date: '2025-10-08' });
    expect([resumed.cause ?? resumed.status, journals.reports.length]).toEqual(['SUCCEEDED', 2]);
  });
});
