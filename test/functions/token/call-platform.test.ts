import { describe, expect, it } from 'vitest';
import { createReport } from '../../../functions/create-report.ts';
import { MAX_THROTTLED, MAX_THROTTLED_IN_ALL, MAX_WINDOW_HOURS } from '../../../functions/decisions/waits.ts';
import { pollReport } from '../../../functions/token/call-platform.ts';
import { callsTo } from '../../support/journal.ts';
import { startStep } from '../../support/steps.ts';

function reportRef(id: string) {
  return { id, created_at: '2026-11-21T06:00:00.000Z', useless_answers: 0, given_up: false };
}

describe('callPlatform', () => {
  it('8: fails with the last request_id after the allowed number of 429s in a row', async () => {
    const { access, sandbox, window } = await startStep({ faults: ['report status=429 times=always'] });
    const poll = pollReport(reportRef('r'), { ...window, throttled: MAX_THROTTLED }, access);
    await expect(poll).rejects.toMatchObject({ name: 'RateLimited', facts: { report_id: 'r', status: 429 } });
    const { facts } = (await poll.catch((error) => error)) as { facts: { request_id: string } };
    expect(facts.request_id).toBe(callsTo(sandbox, 'report')[0]?.requestId);
  });

  it.each([
    [MAX_THROTTLED_IN_ALL - 1, { seconds: 10 }],
    [
      MAX_THROTTLED_IN_ALL,
      { name: 'RateLimited', message: expect.stringContaining('429 121 times, the last') },
    ],
  ])('8: limits the 429s of a window in total: after %i of them', async (throttled_in_all, expected) => {
    const { access, window } = await startStep({ faults: ['report status=429 times=always retry_after=10'] });
    const poll = pollReport(reportRef('r'), { ...window, throttled_in_all }, access);
    expect(await poll.catch((error) => error)).toMatchObject(expected);
  });

  it('sends nothing for a window that is out of time, and names its reports', async () => {
    const { access, sandbox, window, clock } = await startStep();
    clock.pass(MAX_WINDOW_HOURS * 3600);
    const poll = pollReport(reportRef('r'), { ...window, reports: [reportRef('q')] }, access);
    await expect(poll).rejects.toMatchObject({
      name: 'OutOfTime',
      facts: { report_ids: ['q'], report_id: 'r' },
    });
    expect(callsTo(sandbox, 'report')).toEqual([]);
  });
});

describe('pollReport', () => {
  const noUrl = 'the report is READY without a valid URL';
  it.each([
    ['13: a 404 is useless', 'status=404', 'useless', ['the report does not exist (404)']],
    [
      '14: an unknown status means generating',
      'set.status=QUEUED',
      'generating',
      ['the contract does not name this status'],
    ],
    ['15: READY without a URL is useless', 'set.status=READY', 'useless', [noUrl]],
    ['15: an invalid URL is useless', 'set.status=READY set.download_url=x', 'useless', [noUrl]],
    ['a report that is generating logs no warning', 'status=200', 'generating', []],
  ])('%s', async (_, fault, answer, warnings) => {
    const { access, sandbox, window, lines } = await startStep({ report: { secondsToReady: 1e6 } });
    const [report = reportRef('none')] = (await createReport(window, access)).reports;
    sandbox.faults.add(`report ${fault}`);
    const before = lines.length;
    expect(await pollReport(report, window, access)).toBe(answer);
    const warned = lines.slice(before).filter(({ level }) => level === 'warn');
    expect(warned.map(({ message }) => message)).toEqual(warnings);
    for (const { fields } of warned) expect(fields.report_id).toBe(report.id);
  });
});
