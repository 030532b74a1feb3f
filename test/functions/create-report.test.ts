import { describe, expect, it } from 'vitest';
import { createReport } from '../../functions/create-report.ts';
import { EXAMPLE_ADVERTISERS, type SandboxOptions } from '../../infra/lab/sandbox/sandbox-options.ts';
import { callsTo } from '../support/journal.ts';
import { reportRef, startStep } from '../support/steps.ts';

describe('CreateReport', () => {
  it('creates the report and waits 10 s for the first poll (contract 4.3, 4.4)', async () => {
    const { sandbox, access, window, clock } = await startStep();
    const state = await createReport({ ...window, token: { ...window.token, unproven: true } }, access);
    const [report] = sandbox.reports();
    expect(state.reports).toEqual([reportRef(report?.id ?? '', clock.now().toISOString())]);
    expect(state).toMatchObject({ status: 'pending', wait_seconds: 10, token: { unproven: false } });
  });

  it('8: waits as long as a 429 asks for, in a Wait state (contract 7.3)', async () => {
    const { access, window, sandbox } = await startStep({ faults: ['create status=429 retry_after=120'] });
    const state = await createReport(window, access);
    expect(state).toMatchObject({ status: 'planned', wait_seconds: 120, throttled: 1, reports: [] });
    expect(sandbox.reports()).toHaveLength(0);
    expect(await createReport(state, access)).toMatchObject({ status: 'pending', throttled: 0 });
  });

  it('12: creates at most two replacements', async () => {
    const { access, window, sandbox } = await startStep();
    const reports = [
      { ...reportRef('a'), last_answer: { description: 'is PROCESSING', request_id: 'r-1' } },
      { ...reportRef('b'), last_answer: { description: 'does not exist (404)' } },
      reportRef('c'),
    ];
    const last =
      'report a is PROCESSING, request_id r-1; report b does not exist (404); report c was never polled';
    await expect(createReport({ ...window, reports }, access)).rejects.toMatchObject({
      name: 'ReportStuck',
      message: expect.stringContaining(`No report could be delivered: ${last}.\n`),
      facts: { report_ids: ['a', 'b', 'c'], request_ids: ['r-1'] },
    });
    expect(sandbox.reports()).toHaveLength(0);
  });

  it.each([
    ['10: a lost answer', 'reset=after', 'AnswerLost'],
    ['9: a connection that is closed before the request', 'reset=before', 'AnswerLost'],
    ['10: a gateway timeout', 'status=504', 'AnswerLost'],
    ['11: HTML', 'body="<html>Bad gateway</html>" header.content-type=text/html', 'AnswerUnreadable'],
  ])('%s (%s) is repeated once per window, then throws %s', async (_, fault, name) => {
    const { access, window } = await startStep({ faults: [`create ${fault} times=always`] });
    const lost = await createReport(window, access);
    expect(lost).toMatchObject({ status: 'planned', wait_seconds: 10, lost_answers: 1, reports: [] });
    await expect(createReport(lost, access)).rejects.toMatchObject({ name });
  });

  it('10: still counts a lost answer after a report was created', async () => {
    const faults = ['create reset=after', 'create nth=3 reset=after'];
    const { access, window } = await startStep({ faults });
    const created = await createReport(await createReport(window, access), access);
    expect(created).toMatchObject({ status: 'pending', lost_answers: 1 });
    await expect(createReport(created, access)).rejects.toMatchObject({ name: 'AnswerLost' });
  });

  it('6: names the revision header and its value if the revision is unknown (contract 9.2)', async () => {
    const { access, window } = await startStep();
    const request = { ...window.request, revision: '1999-01-01' };
    const creating = createReport({ ...window, request }, access);
    await expect(creating).rejects.toThrow('X-Service-Revision was 1999-01-01');
  });

  describe('for all advertisers', () => {
    const KEY = 'exports/account=acme/export=daily/_advertisers/2026-11-21T06-00-00-000Z.json';

    /** A window whose list has the sandbox's advertisers. */
    async function startForAll(options: SandboxOptions) {
      const started = await startStep(options);
      const { sandbox, access, window } = started;
      const list = { version: '1', execution: 'e', advertiser_ids: sandbox.advertiserIds };
      await access.store.putJson(KEY, list);
      const request = { ...window.request, advertiser_ids: 'all' as const };
      const create = () => createReport({ ...window, request, advertisers: { key: KEY, count: 3 } }, access);
      const asked = () => callsTo(sandbox, 'create').map(({ body }) => JSON.parse(body).advertiser_ids);
      return { ...started, create, asked };
    }

    const [firstId = '', secondId = '', thirdId = ''] = EXAMPLE_ADVERTISERS;

    it.each([
      ['422', []],
      ['403', [`create status=403 set.error.message="Advertiser ${secondId.toUpperCase()} is not yours."`]],
    ])('54: leaves out what a %s names, once, with a warning', async (_, faults) => {
      const { create, asked } = await startForAll({
        refusedAdvertisers: faults.length > 0 ? [] : [secondId],
        faults,
      });
      const { advertisers, warnings, status } = await create();
      expect(status).toBe('pending');
      expect(advertisers).toEqual({ key: KEY, count: 2, refused: { count: 1, advertiser_ids: [secondId] } });
      expect(warnings).toEqual([
        `the platform refused 1 advertiser of its own list, so the report is without: ${secondId}`,
      ]);
      expect(asked()).toEqual([
        [firstId, secondId, thirdId],
        [firstId, thirdId],
      ]);
    });

    it('54: names the first of very many refused advertisers', async () => {
      const all = Array.from({ length: 50 }, (_, at) => firstId.replace(/..$/, String(at + 10)));
      const { create } = await startForAll({ refusedAdvertisers: all.slice(1), advertiserIds: all });
      const { warnings, advertisers } = await create();
      const [warning = ''] = warnings;
      expect(advertisers?.refused).toEqual({ count: 49, advertiser_ids: all.slice(1, 21) });
      expect(warning).toMatch(/^the platform refused 49 advertisers of its own list.*…$/);
      expect(warning.length).toBeLessThanOrEqual(1_000);
    });

    it.each([
      ['damaged', '{"version":"1","execution":"e","advertiser_ids":["x"]}'],
      ['half written', '{"version":"1","exec'],
      ['removed', undefined],
    ])('70: asks for no report if the list of advertisers was %s', async (_, text) => {
      const { create, asked, objects } = await startForAll({});
      objects.clear();
      if (text !== undefined) objects.set(KEY, text);
      const happened = expect.stringContaining(`${KEY} was damaged or removed. A new run writes the list`);
      await expect(create()).rejects.toMatchObject({ name: 'AccessRefused', happened });
      expect(asked()).toEqual([]);
    });

    it.each([
      ['all', [firstId, secondId, thirdId], [], 1],
      ['another one then', [secondId], ['create nth=2 status=422'], 2],
      ['none by name', [], ['create status=422'], 1],
      ['the revision, and names an advertiser', [], [`create status=400 set.error.message=${secondId}`], 1],
    ])('54: fails with the error of the platform if it refuses %s', async (_, refused, faults, calls) => {
      const { create, asked, sandbox } = await startForAll({ refusedAdvertisers: refused, faults });
      await expect(create()).rejects.toMatchObject({ name: 'RequestRefused' });
      expect(asked()).toHaveLength(calls);
      expect(sandbox.reports()).toEqual([]);
    });
  });
});
