import { expect, it } from 'vitest';
import { addDays, daysBetween } from '../../functions/workflow/request/dates.ts';
import { commonWorkflow, keysOf, mostAtOnce, runExport } from '../support/run-export.ts';
import { forgetTokens } from '../support/workflow-secrets.ts';

const workflow = await commonWorkflow();

it('2.2, 5.4: an export of 400 days becomes nine reports of at most 45 days, eight at a time, with one token request', async () => {
  await forgetTokens(workflow);
  const start_date = '2025-01-01';
  const outcome = await runExport(workflow, {
    request: { name: 'days-400', start_date, end_date: addDays(start_date, 400), table: false },
  });
  expect(outcome.status).toBe('SUCCEEDED');

  const windows = outcome.reports.map(({ request }) => request);
  const days = windows.flatMap((window) => {
    const length = daysBetween(window.start_date, window.end_date);
    expect(length).toBeLessThanOrEqual(45);
    return Array.from({ length }, (_, day) => addDays(window.start_date, day));
  });
  expect(windows).toHaveLength(9);
  expect(days.sort()).toEqual(Array.from({ length: 400 }, (_, day) => addDays(start_date, day)));
  expect(outcome.callsTo('token')).toHaveLength(1);
  expect(mostAtOnce(outcome.events)).toBe(8);
  expect(await keysOf(workflow, 'days-400')).toHaveLength(18);
});
