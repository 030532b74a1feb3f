import { beforeEach, describe, expect, it } from 'vitest';
import { handler as checkReport } from '../../../functions/check-report.ts';
import { waitAfterRedrive } from '../../../functions/decisions/report-answer.ts';
import { handler as saveReport } from '../../../functions/save-report.ts';
import type { WindowState } from '../../../functions/workflow/states.ts';
import { lambdaNow, window } from '../../support/any-step.ts';
import type { Lambda } from '../../support/lambda.ts';
import { keepLog } from '../../support/steps.ts';

const report = { id: 'r1', created_at: '2026-11-21T05:59:00Z', useless_answers: 0, given_up: false };
const pending: WindowState = { ...window, status: 'pending', wait_seconds: 42, reports: [report] };
const ready: WindowState = { ...pending, status: 'ready', ready_id: 'r1' };

// The platform of these settings cannot be reached, so a step that called it would fail.
describe('P3, 30: after a redrive,', () => {
  let lambda: Lambda;
  beforeEach(() => {
    lambda = lambdaNow();
  });

  it.each([
    ['CheckReport', checkReport, pending],
    ['SaveReport', saveReport, ready],
    [
      'CheckReport, which gives up an expired URL,',
      checkReport,
      { ...ready, caught: { Error: 'UrlExpired' } },
    ],
  ])('%s asks the platform nothing and leads to a wait of 10 s', async (_, handler, state) => {
    const output = await lambda.call(handler as typeof checkReport, state, 0, 1);
    expect(output).toEqual({ ...state, wait_seconds: 10, redrive_count: 1 });
  });

  it('a redriven window waits again if it is redriven again', async () => {
    const output = await lambda.call(saveReport, { ...ready, redrive_count: 1 }, 0, 2);
    expect(output).toMatchObject({ status: 'ready', wait_seconds: 10, redrive_count: 2 });
  });
});

describe('a step that GETs a report runs at once', () => {
  const step = waitAfterRedrive(async ({ status }: WindowState) => `ran as ${status}`);

  it.each([
    ['if the execution was never redriven', 0, undefined],
    ['if the window has already waited after the redrive', 2, 2],
    ['in a child execution that counts its own redrives from 0', 0, 1],
  ])('%s', async (_, redriveCount, seen) => {
    const state = seen === undefined ? pending : { ...pending, redrive_count: seen };
    expect(await step(state, { redriveCount, log: keepLog().log })).toBe('ran as pending');
  });
});
