import { describe, expect, it } from 'vitest';
import { addDays, daysBetween } from '../../functions/workflow/request/dates.ts';
import { commonWorkflow, gapsIn, keysOf, mostAtOnce, runExport } from '../support/run-export.ts';
import { forgetTokens } from '../support/workflow-secrets.ts';

const workflow = await commonWorkflow();
const DAYS_400 = { start_date: '2025-01-01', end_date: addDays('2025-01-01', 400), table: false };
const THREE_WINDOWS = { end_date: '2027-01-01', max_parallel: 1, table: false };

describe('an export of 400 days', () => {
  it('2.2, 5.4: becomes nine reports of at most 45 days, eight at a time, with one token request', async () => {
    await forgetTokens(workflow);
    const outcome = await runExport(workflow, { request: { name: 'days-400', ...DAYS_400 } });
    expect(outcome.status).toBe('SUCCEEDED');

    const windows = outcome.reports.map(({ request }) => request);
    const days = windows.flatMap(({ start_date, end_date }) => {
      const length = daysBetween(start_date, end_date);
      expect(length).toBeLessThanOrEqual(45);
      return Array.from({ length }, (_, day) => addDays(start_date, day));
    });
    expect(windows).toHaveLength(9);
    expect(days.sort()).toEqual(Array.from({ length: 400 }, (_, day) => addDays('2025-01-01', day)));
    expect(outcome.callsTo('token')).toHaveLength(1);
    expect(mostAtOnce(outcome.events)).toBe(8);
    expect(await keysOf(workflow, 'days-400')).toHaveLength(18);
  });
});

describe('an export with a window that fails', () => {
  it('delivers the other windows', async () => {
    const request = workflow.request({ name: 'two-of-three', ...THREE_WINDOWS });
    workflow.sandbox.faults.add('create nth=2 status=403');
    const { status, cause } = await workflow.run(request);
    expect(status).toBe('FAILED');
    expect(JSON.parse(cause ?? '')).toMatchObject({
      error: 'RequestRefused',
      windows_delivered: 2,
      windows_failed: 1,
    });
    const keys = await keysOf(workflow, 'two-of-three');
    expect(keys.filter((key) => !key.endsWith('_failure.json'))).toHaveLength(4);
  });
});

// Enough for the first GETs to miss, however slow this machine is.
const UNREADY = 'report set.status=PROCESSING omit=download_url times=3';

it('P3: two GETs of a report are 10 s apart (contract 4.4, 8)', async () => {
  const outcome = await runExport(workflow, { faults: [UNREADY] });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(gapsIn(outcome).length).toBeGreaterThan(3);
  expect(Math.min(...gapsIn(outcome))).toBeGreaterThanOrEqual(10);
  expect(outcome.callsTo('report').filter(({ status }) => status === 429)).toEqual([]);
});
