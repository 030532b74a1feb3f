import { describe, expect, it } from 'vitest';
import {
  type PlatformCall,
  toExportError,
  toGrantError,
} from '../../../functions/decisions/platform-failure.ts';
import { bearer } from '../../../functions/platform/connection.ts';
import { NoAnswer, OAuthError, PlatformError, UnreadableAnswer } from '../../../functions/platform/errors.ts';
import { getReport } from '../../../functions/platform/reports.ts';
import { safeAgent } from '../../../functions/platform/safe-agent.ts';

const get = { doing: 'polling report r', creates: false, revision: '2026-09-01', facts: { report_id: 'r' } };
const post = { ...get, doing: 'creating a report', creates: true };
const reset = new NoAnswer('POST /reports', true, 'ECONNRESET');

function answer(status: number, fields: { reason?: string; detail?: string; validation?: string[] } = {}) {
  return new PlatformError('GET /reports/r', { status, type: 'a_type', requestId: 'req_1', ...fields });
}

function sentenceOf(error: unknown): string | undefined {
  return (error as Error).message.split('\n')[0];
}

describe('toExportError (contract 7.2)', () => {
  const faults = (...validation: string[]) => ({ validation });
  const revision = '. The header X-Service-Revision was 2026-09-01; check that this revision is published.';

  it.each<[string, PlatformError, PlatformCall, string, string]>([
    ['1', answer(401), get, 'TokenRefused', ': it does not accept the token.'],
    ['4', answer(403), get, 'RequestRefused', '. The credential lacks the scope or the advertiser.'],
    [
      '4',
      answer(403),
      { ...get, scope: 's' },
      'RequestRefused',
      '. The credential lacks the scope s or the advertiser.',
    ],
    ['5', answer(422, faults('a')), get, 'RequestRefused', '. It named 1 fault.'],
    ['5', answer(422, faults('a', 'b')), post, 'RequestRefused', '. It named 2 faults.'],
    ['5', answer(422, { detail: 'odd' }), get, 'RequestRefused', ': odd.'],
    ['5', answer(409, { reason: 'Not now.', detail: 'Busy.' }), get, 'RequestRefused', ': Not now: Busy.'],
    ['6', answer(400), post, 'RequestRefused', revision],
    ['7', answer(500), post, 'PlatformUnavailable', '.'],
    ['7', answer(503), get, 'PlatformUnavailable', '.'],
    ['7', answer(504), get, 'PlatformUnavailable', '.'],
    ['8', answer(429), get, 'PlatformUnavailable', '.'],
    ['9', answer(408), get, 'PlatformUnavailable', '.'],
    ['10', answer(504), post, 'AnswerLost', '. A report may exist.'],
  ])('%s: turns %s into the error of a decision', (_, error, call, name, rest) => {
    const exportError = toExportError(error, call);
    const known = { report_id: 'r', request_id: 'req_1', status: error.status };
    expect(exportError).toMatchObject({ name, facts: known });
    const happened = `The platform answered ${error.status} (a_type) when ${call.doing}${rest}`;
    expect(sentenceOf(exportError)).toBe(happened);
  });

  const refused = new NoAnswer('POST /reports', false, 'ECONNREFUSED');
  const html = new UnreadableAnswer('GET', { status: 200, requestId: undefined, reason: 'HTML' });
  const lost = "The platform's answer was lost (ECONNRESET) when creating a report. A report may exist.";
  const unreadable = "The platform's answer is not what the contract promises when polling report r: HTML.";
  it.each<[string, Error, PlatformCall, string, string]>([
    [
      '9',
      reset,
      get,
      'PlatformUnavailable',
      'The platform did not answer (ECONNRESET) when polling report r.',
    ],
    [
      '9',
      refused,
      post,
      'PlatformUnavailable',
      'The platform did not answer (ECONNREFUSED) when creating a report.',
    ],
    ['10', reset, post, 'AnswerLost', lost],
    ['11', html, get, 'AnswerUnreadable', unreadable],
  ])('%s: turns %s into the error of a decision', (_, error, call, name, happened) => {
    const exportError = toExportError(error, call);
    expect(exportError).toMatchObject({ name, facts: { report_id: 'r', request_id: undefined } });
    expect((exportError as Error).message).not.toContain('absent');
    expect(sentenceOf(exportError)).toBe(happened);
  });

  it('returns an error of our own unchanged', () => {
    const fault = new TypeError('ours');
    expect(toExportError(fault, get)).toBe(fault);
  });

  it('refuses a platform with a private address', async () => {
    const dispatcher = safeAgent({ allowLoopback: false });
    const platform = { baseUrl: 'https://10.0.0.1', revision: '2026-09-01', dispatcher };
    const refused = await getReport(platform, bearer('t'), 'r').catch((error) => error);
    expect(toExportError(refused, get)).toMatchObject({ name: 'DownloadRefused' });
  });
});

describe('toGrantError (contract 7.3)', () => {
  const oauthError = (error: string) =>
    new OAuthError('POST /oauth2/token', { status: 401, error, requestId: undefined });

  it.each([
    [
      '2: a refused client is CredentialUnusable',
      oauthError('invalid_client'),
      'CredentialUnusable',
      'The token endpoint answered 401 (invalid_client) when requesting a token for account acme.',
    ],
    [
      '3: a dead refresh token is LoginRequired',
      oauthError('invalid_grant'),
      'LoginRequired',
      'The platform no longer accepts the login of account acme.',
    ],
    [
      '9: silence is PlatformUnavailable',
      reset,
      'PlatformUnavailable',
      'The platform did not answer (ECONNRESET) when requesting a token for account acme.',
    ],
  ])('%s', (_, error, name, happened) => {
    const grantError = toGrantError(error, 'acme', true);
    expect(grantError).toMatchObject({ name, facts: { account: 'acme', request_id: undefined } });
    expect(sentenceOf(grantError)).toBe(happened);
  });
});
