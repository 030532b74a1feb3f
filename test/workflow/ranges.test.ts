import { describe, expect, it } from 'vitest';
import { addDays, daysBetween } from '../../functions/workflow/dates.ts';
import type { HistoryEvent } from '../../infra/local/history.ts';
import { callsTo, gaps } from '../support/journal.ts';
import { startWorkflow } from '../support/workflow.ts';

const DAYS_400 = { start_date: '2025-01-01', end_date: addDays('2025-01-01', 400) };

/** The most windows that were under way at once. */
function mostAtOnce(events: readonly HistoryEvent[]): number {
  let now = 0;
  let most = 0;
  for (const { type } of events) {
    if (type === 'MapIterationStarted') most = Math.max(most, ++now);
    if (type === 'MapIterationSucceeded' || type === 'MapIterationFailed') now -= 1;
  }
  return most;
}

describe('an export of 400 days', () => {
  it('2.2, 5.4: is nine reports of at most 45 days, no day missing or twice, four at a time, with one token request', async () => {
    await using workflow = await startWorkflow();
    const { status, events } = await workflow.run(workflow.request(DAYS_400));
    expect(status).toBe('SUCCEEDED');

    const windows = workflow.sandbox.reports().map(({ request }) => request);
    const days = windows.flatMap(({ start_date, end_date }) => {
      const length = daysBetween(start_date, end_date);
      expect(length).toBeLessThanOrEqual(45);
      return Array.from({ length }, (_, day) => addDays(start_date, day));
    });
    expect(windows).toHaveLength(9);
    expect(days.sort()).toEqual(Array.from({ length: 400 }, (_, day) => addDays('2025-01-01', day)));
    expect(callsTo(workflow.sandbox, 'token')).toHaveLength(1);
    expect(mostAtOnce(events)).toBe(4);
    expect(await workflow.keys()).toHaveLength(18);
    expect(Math.min(...gaps(workflow.sandbox))).toBeGreaterThanOrEqual(10);
  });

  it('is done as many windows at a time as the request says', async () => {
    await using workflow = await startWorkflow();
    const { events } = await workflow.run(
      workflow.request({ ...DAYS_400, end_date: '2025-05-01', max_parallel: 1 }),
    );
    expect(mostAtOnce(events)).toBe(1);
  });
});

// However slow this machine is, the first three GETs do not find the report READY.
const unready = 'report set.status=PROCESSING omit=download_url times=3';

describe('P3: the platform sees 10 s or more between two GETs of a report (contract 4.4, 8)', () => {
  it.each([1000, 100])('at speed %i', async (speed) => {
    await using workflow = await startWorkflow({ speed, sandbox: { faults: [unready] } });
    const { status } = await workflow.run();
    expect(status).toBe('SUCCEEDED');
    expect(gaps(workflow.sandbox).length).toBeGreaterThan(2);
    expect(Math.min(...gaps(workflow.sandbox))).toBeGreaterThanOrEqual(10);
    expect(callsTo(workflow.sandbox, 'report').filter(({ status }) => status === 429)).toEqual([]);
  });
});
