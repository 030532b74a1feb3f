import { describe, expect, it } from 'vitest';
import { createReport } from '../../../functions/create-report.ts';
import { MAX_THROTTLED, MAX_THROTTLED_IN_ALL, MAX_WINDOW_HOURS } from '../../../functions/decisions/waits.ts';
import {
  countUseless,
  giveUp,
  lookAt,
  proven,
  Throttled,
  waiting,
} from '../../../functions/token/call-platform.ts';
import { callsTo } from '../../support/journal.ts';
import { startStep } from '../../support/steps.ts';

function watched(id: string, useless_answers = 0) {
  return { id, created_at: '2026-11-21T06:00:00.000Z', useless_answers, given_up: false };
}

describe('a call of a window', () => {
  it('8: is given up after as many answers 429 in a row as are allowed, with the last one’s request_id', async () => {
    const { access, sandbox, window } = await startStep({ faults: ['report status=429 times=always'] });
    const look = lookAt(watched('r'), { ...window, throttled: MAX_THROTTLED }, access);
    await expect(look).rejects.toMatchObject({ name: 'RateLimited', facts: { report_id: 'r', status: 429 } });
    const { facts } = (await look.catch((error) => error)) as { facts: { request_id: string } };
    expect(facts.request_id).toBe(callsTo(sandbox, 'report')[0]?.requestId);
  });

  it.each([
    [MAX_THROTTLED_IN_ALL - 1, { seconds: 10 }],
    [
      MAX_THROTTLED_IN_ALL,
      { name: 'RateLimited', message: expect.stringContaining('429 121 times, the last') },
    ],
  ])('8: waits for a number of answers 429 in all, however often one went through: after %i of them', async (throttled_in_all, came) => {
    const { access, window } = await startStep({ faults: ['report status=429 times=always retry_after=10'] });
    const look = lookAt(watched('r'), { ...window, throttled_in_all }, access);
    expect(await look.catch((error) => error)).toMatchObject(came);
  });

  it('is not made where the window is out of time, and names its reports', async () => {
    const { access, sandbox, window, clock } = await startStep();
    clock.pass(MAX_WINDOW_HOURS * 3600);
    await expect(lookAt(watched('r'), { ...window, reports: [watched('q')] }, access)).rejects.toMatchObject({
      name: 'OutOfTime',
      facts: { report_ids: ['q'], report_id: 'r' },
    });
    expect(callsTo(sandbox, 'report')).toEqual([]);
  });
});

describe('what one look says', () => {
  it.each([
    ['13: 404 is useless, and a warning', 'status=404', 'useless', ['the report is not there']],
    [
      '14: an unknown status is waited for, and a warning',
      'set.status=QUEUED',
      'generating',
      ['the contract names no such status'],
    ],
    [
      '15: READY without a URL is useless, and a warning',
      'set.status=READY',
      'useless',
      ['the report is READY without a URL'],
    ],
    [
      '15: READY with something else than a URL is',
      'set.status=READY set.download_url=x',
      'useless',
      ['the report is READY without a URL'],
    ],
    ['a report that is being made is waited for, in silence', 'status=200', 'generating', []],
  ])('%s', async (_, fault, sight, warnings) => {
    const { access, sandbox, window, lines } = await startStep({ report: { secondsToReady: 1e6 } });
    const { reports } = (await createReport(window, access)) as { reports: ReturnType<typeof watched>[] };
    sandbox.faults.add(`report ${fault}`);
    const before = lines.length;
    expect(await lookAt(reports[0] ?? watched('r'), window, access)).toBe(sight);
    const warned = lines.slice(before).filter(({ level }) => level === 'warn');
    expect(warned.map(({ message }) => message)).toEqual(warnings);
    for (const { fields } of warned) expect(fields.report_id).toBe(reports[0]?.id);
  });
});

describe('the reports of a window', () => {
  it('count the useless answers of one of them, which is given up with the second', () => {
    const once = countUseless([watched('a'), watched('b')], 'a');
    expect(once).toEqual([watched('a', 1), watched('b')]);
    expect(countUseless(once, 'a')).toEqual([{ ...watched('a', 2), given_up: true }, watched('b')]);
  });

  it('are watched on where another one is given up', () => {
    expect(giveUp([watched('a'), watched('b')], 'b')).toEqual([
      watched('a'),
      { ...watched('b'), given_up: true },
    ]);
  });

  it('8: count what they were throttled in a row, and in all, of which a success changes nothing', async () => {
    const { window } = await startStep();
    const once = waiting(proven(waiting(window, new Throttled(20))), new Throttled(30));
    expect(once).toMatchObject({ wait_seconds: 30, throttled: 1, throttled_in_all: 2 });
  });

  it('begin anew once the platform has taken the token', async () => {
    const { window } = await startStep();
    const token = { ...window.token, unproven: true } as typeof window.token;
    expect(proven({ ...window, token, throttled: 3 })).toMatchObject({
      throttled: 0,
      token: { unproven: false },
    });
  });
});
