import { describe, expect, it } from 'vitest';
import { toExportError, toGrantError } from '../../../functions/decisions/platform-failure.ts';
import { NoAnswer, OAuthError, PlatformError, UnreadableAnswer } from '../../../functions/platform/errors.ts';
import { getReport } from '../../../functions/platform/reports.ts';
import { safeAgent } from '../../../functions/platform/safe-hosts.ts';

const get = { doing: 'polling report r', creates: false, revision: '2026-09-01', facts: { report_id: 'r' } };
const post = { ...get, doing: 'creating a report', creates: true };

function answer(status: number, fields: { reason?: string; detail?: string; validation?: string[] } = {}) {
  return new PlatformError('GET /reports/r', { status, type: 'a_type', requestId: 'req_1', ...fields });
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
    [answer(429), get, 'PlatformUnavailable'],
    [answer(408), get, 'PlatformUnavailable'],
    [new NoAnswer('POST /reports', true, 'ECONNRESET'), post, 'AnswerLost'],
    [new NoAnswer('POST /reports', false, 'ECONNREFUSED'), post, 'PlatformUnavailable'],
    [new NoAnswer('GET /reports/r', true, 'TOTAL_TIMEOUT'), get, 'PlatformUnavailable'],
    [
      new UnreadableAnswer('GET', { status: 200, requestId: 'absent', reason: 'HTML' }),
      get,
      'AnswerUnreadable',
    ],
  ])('on %s is made from what happened and what was asked', (error, call, name) => {
    expect(toExportError(error, call)).toMatchObject({ name, facts: { report_id: 'r' } });
  });

  it('ends with one stop, whether or not the platform’s text has one', () => {
    const refused = (text: string) =>
      toExportError(answer(409, { reason: text, detail: text }), get) as Error;
    expect(refused('Not now.').message).toContain('polling report r: Not now: Not now.\n');
    expect(refused('Not now').message).toBe(refused('Not now.').message);
  });

  it('keeps the request_id, and names the header and its value on a 400', () => {
    const decided = toExportError(answer(400), get) as Error;
    expect(decided).toMatchObject({ facts: { request_id: 'req_1', status: 400 } });
    expect(decided.message).toContain('X-Service-Revision was 2026-09-01');
  });

  it('passes on what is no answer of the platform', () => {
    const fault = new TypeError('ours');
    expect(toExportError(fault, get)).toBe(fault);
  });

  it('gives up at once on a platform whose address is private', async () => {
    const platform = {
      baseUrl: 'https://10.0.0.1',
      revision: '2026-09-01',
      dispatcher: safeAgent({ allowLoopback: false }),
    };
    const refused = await getReport(platform, { scheme: 'Bearer', value: 't' }, 'r').catch((error) => error);
    expect(toExportError(refused, get)).toMatchObject({ name: 'DownloadRefused' });
  });

  it.each([
    ['invalid_grant', 'LoginRequired'],
    ['invalid_client', 'CredentialUnusable'],
  ])('on the grant error %s is %s (contract 7.3)', (error, name) => {
    const refused = new OAuthError('POST', { status: 400, error, requestId: 'absent' });
    expect(toGrantError(refused, 'acme')).toMatchObject({ name, facts: { account: 'acme' } });
  });

  it('on a grant that was not answered is what it would be on any call (contract 7.3)', () => {
    const silence = new NoAnswer('POST /oauth2/token', true, 'ECONNRESET');
    const decided = toGrantError(silence, 'acme') as Error;
    const facts = { account: 'acme', request_id: 'absent' };
    expect(decided).toMatchObject({ name: 'PlatformUnavailable', facts });
    expect(decided.message).toContain('requesting a token for account acme');
  });
});

describe('the sentence of a decision', () => {
  const said = (error: unknown, call: Parameters<typeof toExportError>[1] = get) =>
    (toExportError(error, call) as Error).message.split('\n')[0];

  it.each([
    [
      '4: names the scope that is lacking',
      answer(403),
      /polling report r\. The credential lacks the scope or the advertiser\.$/,
    ],
    ['5: counts one fault', answer(422, { validation: ['metrics: x'] }), /r\. It named 1 fault\.$/],
    ['5: counts several', answer(422, { validation: ['a', 'b'] }), /r\. It named 2 faults\.$/],
    ['5: shows a detail that is no list', answer(422, { detail: 'odd' }), /polling report r: odd\.$/],
    ['5: says why', answer(422, { reason: 'Unknown metric' }), /report r: Unknown metric\.$/],
    [
      '11: says what cannot be read',
      new UnreadableAnswer('GET', unreadable()),
      /contract promises when polling report r: HTML\.$/,
    ],
    [
      '9: says how it was silent',
      new NoAnswer('GET', true, 'ECONNRESET'),
      /\(ECONNRESET\) when polling report r\.$/,
    ],
  ])('%s', (_, error, sentence) => {
    expect(said(error)).toMatch(sentence);
  });

  it('1: says that it is the token that is not accepted', () => {
    expect(said(answer(401))).toMatch(/answered 401 \(a_type\) .* report r: it does not accept the token\.$/);
  });

  it('4: names the scope that the token was asked for with', () => {
    const asked = { ...get, scope: 'reporting:read' };
    expect(said(answer(403), asked)).toContain('lacks the scope reporting:read or the advertiser.');
  });

  it('10: says that a report may exist, where the answer to a POST was lost', () => {
    expect(said(new NoAnswer('POST', true, 'ECONNRESET'), post)).toMatch(
      /lost \(ECONNRESET\) when creating a report\. A report may exist\.$/,
    );
    expect(said(answer(504), post)).toMatch(
      /answered 504 \(a_type\) .* creating a report\. A report may exist\.$/,
    );
  });

  it('3: names the command that signs in again', () => {
    const dead = { status: 400, error: 'invalid_grant', requestId: 'absent' };
    const decided = toGrantError(new OAuthError('POST', dead), 'acme') as Error;
    expect(decided.message).toContain(
      'of account acme. Sign in again: npm run export -- login --account acme',
    );
  });

  it('2: names the OAuth error of a refused client', () => {
    const refused = { status: 401, error: 'invalid_client', requestId: 'absent' };
    const decided = toGrantError(new OAuthError('POST', refused), 'acme') as Error;
    expect(decided.message).toContain(
      'answered 401 (invalid_client) when requesting a token for account acme.',
    );
  });
});

function unreadable() {
  return { status: 200, requestId: 'absent', reason: 'HTML' };
}
