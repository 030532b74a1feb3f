import { describe, expect, it, test } from 'vitest';
import {
  type Call,
  cleanSentence,
  readRefusal,
  requestIdOf,
  retryAfterOf,
} from '../../../functions/platform/answer.ts';
import { noAnswerError, refusalError } from '../../../functions/platform/failures.ts';

const GET: Call = {
  method: 'GET',
  path: '/reports/r',
  headers: {},
  revision: '2026-09-01',
  secrets: ['s3cret'],
  doing: 'polling report r',
  facts: { report_id: 'r' },
};
const POST: Call = { ...GET, method: 'POST', doing: 'creating a report', creates: true };

function answer(status: number, text: string, header?: string, call = GET) {
  const headers = header === undefined ? {} : { 'x-request-id': header };
  return { call, status, headers, bytes: Buffer.from(text), text, truncated: false };
}

/** An answer with this body, or with this error in an envelope. */
function enveloped(status: number, error: object | string, call = GET) {
  const envelope = { type: 'a_type', request_id: 'q-1', ...Object(error) };
  const text = typeof error === 'string' ? error : JSON.stringify({ error: envelope });
  return answer(status, text, undefined, call);
}

describe('the error of an answer (contract 7.2)', () => {
  const listed = (...validation: string[]) => ({ detail: { validation } });
  const revision = '. The header X-Service-Revision was 2026-09-01; check that this revision is published.';
  const scoped = { ...GET, scope: 's' };

  it.each<[string, number, object, Call, string, string]>([
    ['1', 401, {}, GET, 'TokenRefused', ': it does not accept the token.'],
    ['4', 403, {}, GET, 'RequestRefused', '. The credential lacks the scope or the advertiser.'],
    ['4', 403, {}, scoped, 'RequestRefused', '. The credential lacks the scope s or the advertiser.'],
    ['5', 422, listed('a'), GET, 'RequestRefused', '. It named 1 fault.'],
    ['5', 422, listed('a', 'b'), POST, 'RequestRefused', '. It named 2 faults.'],
    ['5', 422, { detail: 'odd' }, GET, 'RequestRefused', ': odd.'],
    ['5', 409, { message: 'Not now.', detail: 'Busy.' }, GET, 'RequestRefused', ': Not now: Busy.'],
    ['6', 400, {}, POST, 'RequestRefused', revision],
    ['7', 500, {}, POST, 'PlatformUnavailable', '.'],
    ['7', 504, {}, GET, 'PlatformUnavailable', '.'],
    ['8', 429, {}, GET, 'PlatformUnavailable', '.'],
    ['9', 408, {}, GET, 'PlatformUnavailable', '.'],
    ['10', 504, {}, POST, 'AnswerLost', '. A report may exist.'],
    ['21', 302, {}, GET, 'RequestRefused', ': redirects are not followed.'],
  ])('%s: is that of a decision: %i %j', (_, status, error, call, name, rest) => {
    const failure = refusalError(enveloped(status, error, call));
    expect(failure).toMatchObject({ name, facts: { report_id: 'r', request_id: 'q-1', status } });
    expect(failure.happened).toBe(`The platform answered ${status} (a_type) when ${call.doing}${rest}`);
  });

  it.each<[string, boolean, Call, string, string]>([
    ['9', true, GET, 'PlatformUnavailable', 'The platform did not answer (X) when polling report r.'],
    ['9', false, POST, 'PlatformUnavailable', 'The platform did not answer (X) when creating a report.'],
    [
      '10',
      true,
      POST,
      'AnswerLost',
      "The platform's answer was lost (X) when creating a report. A report may exist.",
    ],
  ])('%s: is another one if none came, sent: %s', (_, sent, call, name, happened) => {
    const facts = { code: 'X', host: 'h' };
    expect(noAnswerError(call, sent, facts)).toMatchObject({
      name,
      happened,
      facts: { ...facts, report_id: 'r' },
    });
  });
});

describe('an error body (contract 7.1)', () => {
  it.each([
    ['an empty body', ''],
    ['HTML', '<html><body>Bad Gateway</body></html>'],
    ['broken JSON', '{"error":{"request_id":"x"'],
    ['JSON that is not an object', '[1,2]'],
    ['an envelope without fields', '{"error":{}}'],
    ['fields of wrong types', '{"error":{"type":{},"message":[],"request_id":true,"detail":null}}'],
    ['a body nested too deep', '['.repeat(200_000)],
  ])('11: may be %s', (_, body) => {
    const { happened, facts } = refusalError(enveloped(502, body));
    expect(happened).toBe('The platform answered 502 (unnamed error) when polling report r.');
    const { request_id, faults } = facts;
    expect({ request_id, faults }).toEqual({ request_id: undefined, faults: [] });
  });

  it('may have numbers for texts', () => {
    const { happened, facts } = refusalError(enveloped(422, { type: 7, message: 0, request_id: 12 }));
    expect(happened).toContain('422 (7) when polling report r: 0.');
    expect(facts.request_id).toBe('12');
  });

  it('is cut after 500 characters of a sentence, and 2,000 of a detail', () => {
    const long = `${'x'.repeat(1_995)}s3cret${'x'.repeat(100_000)}`;
    const { type, reason, detail } = readRefusal(enveloped(500, { type: long, message: long, detail: long }));
    expect({ type, reason }).toEqual({ type: 'x'.repeat(500), reason: 'x'.repeat(500) });
    expect(detail).toBe(`${'x'.repeat(1_995)}[reda`);
  });

  it('is cleaned in every string and every field name', () => {
    const echo = 's3cret https://store.example/a?sig=1\n';
    const cleaned = '[redacted] https://store.example/a?… ';
    const detail = { [echo]: echo, validation: { [echo]: [echo] } };
    expect(readRefusal(enveloped(422, { type: echo, message: echo, detail }))).toEqual({
      type: cleaned,
      reason: cleaned,
      validation: [`${cleaned}: ${cleaned}`],
      detail: JSON.stringify({ [cleaned]: cleaned, validation: { [cleaned]: [cleaned] } }),
    });
  });
});

const sentences = Array.from({ length: 51 }, (_, at) => `sentence ${at}`);
const within = (validation: unknown) => ({ validation });

it.each<[string, unknown, string[]]>([
  ['an object', within({ spend: ['x', 'empty'], end: 'late' }), ['spend: x', 'spend: empty', 'end: late']],
  ['a list of sentences', within(['a is wrong', 'b is wrong']), ['a is wrong', 'b is wrong']],
  ['a list of objects', within([{ field: 'end', code: 7 }]), ['{"field":"end","code":7}']],
  ['a sentence', within('the range is too long'), ['the range is too long']],
  ['0 and false', within({ limit: 0, metrics: [false] }), ['limit: 0', 'metrics: false']],
  ['nested', within({ options: { filters: ['low'] } }), ['options: {"filters":["low"]}']],
  ['51 sentences', within(sentences), [...sentences.slice(0, 50), 'and 1 more']],
  ['a long sentence', within({ end: 'x'.repeat(301) }), [`end: ${'x'.repeat(295)}`]],
  ['empty', within({ spend: null, end: [] }), []],
  ['absent', {}, []],
  ['a list in place of detail', ['a is wrong'], ['a is wrong']],
  ['a sentence in place of detail', 'see the documents', []],
])('5: detail.validation (contract 7.1) may be %s', (_, detail, expected) => {
  expect(readRefusal(enveloped(422, { detail })).validation).toEqual(expected);
});

const ID = '{"error":{"request_id":"body"}}';
test.each([
  ['the body of an error', answer(199, ID, 'header'), 'body'],
  ['the header of a success', answer(200, ID, 'header'), 'header'],
  ['the header of a gateway that sent HTML', answer(502, '<html>', 'gateway-7'), 'gateway-7'],
  ['no place: a success without a header', answer(200, ID), undefined],
  ['no place: spaces, which could be an echo', answer(500, ID.replace('y', ' '), 'an id'), undefined],
  ['a long header, cut', answer(200, ID, 'x'.repeat(100_000)), 'x'.repeat(500)],
])('the request_id comes from %s', (_, response, id) => {
  expect(requestIdOf(response)).toBe(id);
});

test.each([
  ['s3cret and s3cret, for s3', '[redacted] and [redacted], for s3'],
  ['see https://store.example/a?sig=1&x=2, then', 'see https://store.example/a?… then'],
  ['http://a.example/?x=1 HTTPS://b.example/?y=2', 'http://a.example/?… HTTPS://b.example/?…'],
  ['one\r\n\ttwo\u0000\u001b[31mthree\u0085four', 'one two [31mthree four'],
  // A search of the whole text would take hours.
  ['https://'.repeat(130_000), 'https://'.repeat(63).slice(0, 500)],
])('text is cleaned of secrets, URL queries and control characters: %#', (text, expected) => {
  expect(cleanSentence(text, ['', 's3cret'])).toBe(expected);
});

test.each([
  ['120', 120],
  ['0', 0],
  ['1.2', 2],
  ['Thu, 01 Oct 2026 00:00:30 GMT', 30],
  ['Thu, 01 Oct 2020 00:00:30 GMT', 0],
  ['1e3', undefined],
  ['monday', undefined],
  [undefined, undefined],
])('8: Retry-After: %s is %s seconds', (header, seconds) => {
  const now = () => Date.parse('2026-10-01T00:00:00.500Z');
  expect(retryAfterOf({ headers: { 'retry-after': header } }, now)).toBe(seconds);
});
