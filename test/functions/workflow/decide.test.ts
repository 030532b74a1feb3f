import { describe, expect, it } from 'vitest';
import { NoAnswer, OAuthError, PlatformError, UnreadableAnswer } from '../../../functions/platform/errors.ts';
import { getReport } from '../../../functions/platform/reports.ts';
import { decide, decideGrant } from '../../../functions/workflow/decide.ts';
import { safeAgent } from '../../../functions/workflow/safe-hosts.ts';

const get = { doing: 'look at report r', creates: false, revision: '2026-09-01', facts: { report_id: 'r' } };
const post = { ...get, doing: 'create a report', creates: true };

function answer(status: number) {
  return new PlatformError('GET /reports/r', { status, type: 'a_type', requestId: 'req_1' });
}

describe('a decision (contract 7.2)', () => {
  it.each([
    [answer(401), get, 'TokenRefused'],
    [answer(403), get, 'RequestRefused'],
    [answer(400), post, 'RequestRefused'],
    [answer(422), post, 'RequestRefused'],
    [answer(500), post, 'PlatformUnavailable'],
    [answer(503), get, 'PlatformUnavailable'],
    [answer(504), post, 'AnswerLost'],
    [answer(504), get, 'PlatformUnavailable'],
    [new NoAnswer('POST /reports', true, 'ECONNRESET'), post, 'AnswerLost'],
    [new NoAnswer('POST /reports', false, 'ECONNREFUSED'), post, 'PlatformUnavailable'],
    [new NoAnswer('GET /reports/r', true, 'TOTAL_TIMEOUT'), get, 'PlatformUnavailable'],
    [
      new UnreadableAnswer('GET', { status: 200, requestId: 'absent', reason: 'HTML' }),
      get,
      'AnswerUnreadable',
    ],
  ])('on %s is made from what happened and what was asked', (error, call, name) => {
    expect(decide(error, call)).toMatchObject({ name, facts: { report_id: 'r' } });
  });

  it('keeps the request_id, and names the header and its value on a 400', () => {
    const decided = decide(answer(400), get) as Error;
    expect(decided).toMatchObject({ facts: { request_id: 'req_1', status: 400 } });
    expect(decided.message).toContain('X-Service-Revision was 2026-09-01');
  });

  it('passes on what is no answer of the platform', () => {
    const fault = new TypeError('ours');
    expect(decide(fault, get)).toBe(fault);
  });

  it('gives up at once on a platform whose address is private', async () => {
    const platform = {
      baseUrl: 'https://10.0.0.1',
      revision: '2026-09-01',
      dispatcher: safeAgent({ allowLoopback: false }),
    };
    const refused = await getReport(platform, { scheme: 'Bearer', value: 't' }, 'r').catch((error) => error);
    expect(decide(refused, get)).toMatchObject({ name: 'DownloadRefused' });
  });

  it.each([
    ['invalid_grant', 'LoginRequired'],
    ['invalid_client', 'CredentialUnusable'],
  ])('on the grant error %s is %s (contract 7.3)', (error, name) => {
    const refused = new OAuthError('POST', { status: 400, error, requestId: 'absent' });
    expect(decideGrant(refused, 'acme')).toMatchObject({ name, facts: { account: 'acme' } });
  });
});
