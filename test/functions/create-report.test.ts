import { describe, expect, it } from 'vitest';
import { createReport } from '../../functions/create-report.ts';
import type { RequestRefused } from '../../functions/workflow/errors.ts';
import { startStep } from '../support/steps.ts';

describe('CreateReport', () => {
  it('creates the window’s report and asks for a wait of 10 s before it is looked at (contract 4.3, 4.4)', async () => {
    const { sandbox, access, window, clock } = await startStep();
    const state = await createReport({ ...window, token: { ...window.token, unproven: true } }, access);
    const [report] = sandbox.reports();
    expect(state.reports).toEqual([
      { id: report?.id, created_at: clock.now().toISOString(), useless_answers: 0, given_up: false },
    ]);
    expect(state).toMatchObject({ status: 'pending', wait_seconds: 10, token: { unproven: false } });
  });

  it('sends options beside the fields that the contract names (contract 2.2)', async () => {
    const { sandbox, access, window } = await startStep();
    const request = { ...window.request, dimensions: ['campaign_id'], options: { attribution_window: 7 } };
    await createReport({ ...window, request }, access);
    const [call] = sandbox.journal.filter(({ endpoint }) => endpoint === 'create');
    expect(JSON.parse(call?.body ?? '')).toEqual({
      start_date: '2026-11-01',
      end_date: '2026-11-02',
      advertiser_ids: request.advertiser_ids,
      metrics: ['spend'],
      dimensions: ['campaign_id'],
      granularity: 'DAY',
      format: 'JSON',
      attribution_window: 7,
    });
    expect(call?.headers['x-service-revision']).toBe(sandbox.revision);
    expect(sandbox.reports()).toHaveLength(1);
  });

  it('8: waits as long as a 429 asks for, in a Wait state (contract 7.3)', async () => {
    const { access, window, sandbox } = await startStep({
      faults: ['create status=429 retry_after=120'],
    });
    const state = await createReport(window, access);
    expect(state).toMatchObject({ status: 'planned', wait_seconds: 120, throttled: 1, reports: [] });
    expect(sandbox.reports()).toHaveLength(0);
    expect(await createReport(state, access)).toMatchObject({ status: 'pending', throttled: 0 });
  });

  it('8: gives up after twelve answers 429 in a row', async () => {
    const { access, window } = await startStep({ faults: ['create status=429 times=always'] });
    await expect(createReport({ ...window, throttled: 12 }, access)).rejects.toMatchObject({
      name: 'RateLimited',
    });
  });

  it('12: makes two replacements at most', async () => {
    const { access, window, sandbox } = await startStep();
    const reports = ['a', 'b', 'c'].map((id) => ({
      id,
      created_at: '2026-11-21T05:00:00.000Z',
      useless_answers: 0,
      given_up: false,
    }));
    await expect(createReport({ ...window, reports }, access)).rejects.toMatchObject({
      name: 'ReportStuck',
      facts: { report_ids: ['a', 'b', 'c'] },
    });
    expect(sandbox.reports()).toHaveLength(0);
  });

  it.each([
    ['1: 401', 'status=401', 'TokenRefused'],
    ['7: 500', 'status=500', 'PlatformUnavailable'],
    ['4: 403', 'status=403', 'RequestRefused'],
  ])('%s (%s) ends in %s (contract 7.2)', async (_, fault, name) => {
    const { access, window } = await startStep({ faults: [`create ${fault}`] });
    await expect(createReport(window, access)).rejects.toMatchObject({ name });
  });

  it.each([
    ['10: a lost answer', 'reset=after', 'AnswerLost'],
    ['9: a connection that is closed before the request', 'reset=before', 'AnswerLost'],
    ['10: a gateway that gave up on the platform', 'status=504', 'AnswerLost'],
    ['11: HTML', 'body="<html>Bad gateway</html>" header.content-type=text/html', 'AnswerUnreadable'],
  ])('%s (%s) is followed by one more try in the life of a window, and ends in %s', async (_, fault, name) => {
    const { access, window } = await startStep({ faults: [`create ${fault} times=always`] });
    const lost = await createReport(window, access);
    expect(lost).toMatchObject({ status: 'planned', wait_seconds: 10, lost_answers: 1, reports: [] });
    await expect(createReport(lost, access)).rejects.toMatchObject({ name });
  });

  it('10: remembers a lost answer after a report was created', async () => {
    const { access, window } = await startStep({
      faults: ['create reset=after', 'create nth=3 reset=after'],
    });
    const created = await createReport(await createReport(window, access), access);
    expect(created).toMatchObject({ status: 'pending', lost_answers: 1 });
    await expect(createReport(created, access)).rejects.toMatchObject({ name: 'AnswerLost' });
  });

  it('asks nothing of the platform in a window that began 12 hours ago', async () => {
    const { access, window, sandbox, clock } = await startStep();
    const calls = sandbox.journal.length;
    clock.pass(12 * 3600 - 1);
    await expect(createReport(window, access)).rejects.toMatchObject({ name: 'TokenRefused' });
    clock.pass(1);
    await expect(createReport(window, access)).rejects.toMatchObject({ name: 'OutOfTime' });
    expect(sandbox.journal).toHaveLength(calls + 1);
  });

  it('5: shows what the platform found wrong (contract 7.1)', async () => {
    const { access, window } = await startStep();
    const request = { ...window.request, metrics: ['no_such_metric'] };
    const failure = await createReport({ ...window, request }, access).catch((error: Error) => error);
    expect(failure).toMatchObject({ name: 'RequestRefused', facts: { status: 422 } });
    expect((failure as RequestRefused).facts.faults).toContainEqual(
      expect.stringContaining('no_such_metric'),
    );
    expect((failure as Error).message).toMatch(/"request_id":"[^"]+"/);
  });

  it('6: names the header and its value where the revision is unknown (contract 9.2)', async () => {
    const { access, window } = await startStep();
    const request = { ...window.request, revision: '1999-01-01' };
    const failure = await createReport({ ...window, request }, access).catch((error: Error) => error);
    expect((failure as Error).message).toContain('X-Service-Revision was 1999-01-01');
  });
});
