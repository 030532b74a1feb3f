import { describe, expect, it } from 'vitest';
import { addDays, daysBetween } from '../../functions/workflow/request/dates.ts';
import type { HistoryEvent } from '../../infra/local/history.ts';
import { forgetTokens, gapsIn, keysOf, shareWorkflow, spend } from '../support/bad-day.ts';
import { startWorkflow } from '../support/workflow.ts';

const SPEED = 100;
const workflow = await shareWorkflow({ speed: SPEED, sandbox: { tokenSeconds: 86_400 } });

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
    await forgetTokens(workflow);
    const outcome = await spend(workflow, { request: { name: 'days-400', ...DAYS_400 } });
    expect(outcome.status).toBe('SUCCEEDED');

    const windows = outcome.reports.map(({ request }) => request);
    const days = windows.flatMap(({ start_date, end_date }) => {
      const length = daysBetween(start_date, end_date);
      expect(length).toBeLessThanOrEqual(45);
      return Array.from({ length }, (_, day) => addDays(start_date, day));
    });
    expect(windows).toHaveLength(9);
    expect(days.sort()).toEqual(Array.from({ length: 400 }, (_, day) => addDays('2025-01-01', day)));
    expect(outcome.to('token')).toHaveLength(1);
    expect(mostAtOnce(outcome.events)).toBe(4);
    expect(await keysOf(workflow, 'days-400')).toHaveLength(18);
  });

  it('is done as many windows at a time as the request says', async () => {
    const request = { ...DAYS_400, end_date: '2025-05-01', max_parallel: 1 };
    const { events } = await spend(workflow, { request });
    expect(mostAtOnce(events)).toBe(1);
  });
});

// However slow this machine is, the first three GETs do not find the report READY.
const unready = 'report set.status=PROCESSING omit=download_url times=3';

describe('P3: the platform sees 10 s or more between two GETs of a report (contract 4.4, 8)', () => {
  it.each([1000, SPEED])('at speed %i', async (speed) => {
    await using other = speed === SPEED ? undefined : await startWorkflow({ speed });
    const outcome = await spend(other ?? workflow, { faults: [unready] });
    expect(outcome.status).toBe('SUCCEEDED');
    expect(gapsIn(outcome).length).toBeGreaterThan(3);
    expect(Math.min(...gapsIn(outcome))).toBeGreaterThanOrEqual(10);
    expect(outcome.to('report').filter(({ status }) => status === 429)).toEqual([]);
  });
});
