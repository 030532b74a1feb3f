import { describe, expect, it } from 'vitest';
import { handler as checkReport } from '../../../functions/check-report.ts';
import { interpretReport, noteAnswer, waitAfterRedrive } from '../../../functions/decisions/report-answer.ts';
import { handler as saveReport } from '../../../functions/save-report.ts';
import type { WindowState } from '../../../functions/workflow/states.ts';
import { lambdaNow, window as stateOfWindow } from '../../support/any-step.ts';
import { keepLog, reportRef } from '../../support/steps.ts';

describe('P3, 30: a step that GETs a report', () => {
  const report = { id: 'r1', created_at: '2026-11-21T05:59:00Z', useless_answers: 0, given_up: false };
  const pending: WindowState = { ...stateOfWindow, status: 'pending', wait_seconds: 42, reports: [report] };

  // The platform of these settings cannot be reached, so a step that called it would fail.
  it.each([
    ['CheckReport', checkReport, pending, 1],
    ['SaveReport', saveReport, { ...pending, status: 'ready', ready_id: 'r1' }, 1],
    ['SaveReport', saveReport, { ...pending, ready_id: 'r1', redrive_count: 1 }, 2],
  ])('waits 10 s first after a redrive, and asks the platform nothing: %s', async (_, handler, state, count) => {
    const output = await lambdaNow().call(handler as typeof checkReport, state, 0, count);
    expect(output).toEqual({ ...state, wait_seconds: 10, redrive_count: count });
  });

  it.each([
    ['if the execution was never redriven', 0, undefined],
    ['if the window has already waited after the redrive', 2, 2],
    ['in a child execution that counts its own redrives from 0', 0, 1],
  ])('runs at once %s', async (_, redriveCount, seen) => {
    const step = waitAfterRedrive(async ({ status }: WindowState) => `ran as ${status}`);
    const state = { ...pending, ...(seen !== undefined && { redrive_count: seen }) };
    expect(await step(state, { redriveCount, log: keepLog().log })).toBe('ran as pending');
  });
});

describe('a status that the contract calls failed', () => {
  const failed = { id: 'r1', status: 'CANCELLED', meaning: 'failed' } as const;

  it.each([
    ['with its reason', { reason: 'too many rows' }, 'is CANCELLED: too many rows'],
    ['without one', {}, 'is CANCELLED'],
  ])('is described as %s', (_, reason, description) => {
    expect(interpretReport({ ...failed, ...reason })).toMatchObject({
      answer: 'failed',
      description,
      isUnexpected: true,
    });
  });

  it('gives this report up at once, and no other', () => {
    const { answer, description } = interpretReport(failed);
    const reports = noteAnswer([reportRef('r1'), reportRef('r2')], 'r1', { description }, answer);
    expect(reports).toMatchObject([
      { id: 'r1', given_up: true, useless_answers: 0, last_answer: { description } },
      { id: 'r2', given_up: false },
    ]);
  });
});
