import { describe, expect, it, test } from 'vitest';
import {
  cleanSentence,
  platformError,
  requestIdOf,
  retryAfterOf,
} from '../../../functions/platform/answer.ts';

const CALL = 'GET https://api.example/reports/r';

function answer(status: number, header?: string, text = '{"error":{"request_id":"body"}}') {
  const headers = header === undefined ? {} : { 'x-request-id': header };
  return { call: CALL, status, headers, secrets: ['s3cret'], text, truncated: false };
}

/** The error of an answer with this body. */
function errorOf(status: number, body: unknown) {
  return platformError(answer(status, undefined, typeof body === 'string' ? body : JSON.stringify(body)), {});
}

test.each([
  ['the body of an error', answer(199, 'header'), 'body'],
  ['the header of a success', answer(200, 'header'), 'header'],
  ['the header of a gateway that sent HTML', answer(502, 'gateway-7', '<html>'), 'gateway-7'],
  ['no place: a success without a header', answer(200), undefined],
  [
    'no place: spaces, which could be an echo',
    answer(500, 'an id', '{"error":{"request_id":"a b"}}'),
    undefined,
  ],
  ['a long header, cut', answer(200, 'x'.repeat(100_000)), 'x'.repeat(500)],
])('the request_id comes from %s', (_, given, id) => {
  expect(requestIdOf(given)).toBe(id);
});

test.each([
  ['s3cret and s3cret, for s3', '[redacted] and [redacted], for s3'],
  ['see https://store.example/a?sig=1&x=2, then', 'see https://store.example/a then'],
  ['see HTTP://store.example/a?sig=1', 'see HTTP://store.example/a'],
  ['http://a.example/?x=1 https://b.example/?y=2', 'http://a.example/ https://b.example/'],
  ['one\r\n\ttwo\u0000\u001b[31mthree\u0085four', 'one two [31mthree four'],
])('text is cleaned of secrets, URL queries and control characters: %j', (text, expected) => {
  expect(cleanSentence(text, ['', 's3cret'])).toBe(expected);
});

test('a megabyte of URLs is cleaned in little time', () => {
  // A search of the whole text would take hours.
  expect(cleanSentence('https://'.repeat(130_000), ['s3cret'])).toMatch(/^https:/);
});

describe('platformError', () => {
  const ENVELOPE = { type: 'validation', message: 'It is invalid.', status: 422, request_id: 'req-1' };

  it('keeps every field of a full envelope (contract 2.5, 7.1)', () => {
    const detail = { validation: { end_date: 'is before start_date' } };
    const error = errorOf(422, { error: { ...ENVELOPE, detail } });
    expect(error).toMatchObject({
      name: 'PlatformError',
      status: 422,
      type: 'validation',
      requestId: 'req-1',
      reason: 'It is invalid.',
      detail: JSON.stringify(detail),
      validation: ['end_date: is before start_date'],
      retryAfterSeconds: undefined,
    });
    expect(error.message).toBe(`${CALL} was answered 422 validation: It is invalid. (request_id req-1)`);
  });

  it.each([
    ['an empty body', ''],
    ['HTML', '<html><body>Bad Gateway</body></html>'],
    ['broken JSON', '{"error":{"request_id":"x"'],
    ['JSON that is not an object', [1, 2]],
    ['an envelope without fields', { error: {} }],
    ['fields of wrong types', { error: { type: {}, message: [], request_id: true, detail: null } }],
    ['a body nested too deep', '['.repeat(200_000)],
  ])('11: reads %s as an error without type and request_id', (_, body) => {
    const { status, type, requestId, validation, reason } = errorOf(502, body);
    expect([status, type, requestId, validation, reason]).toEqual([
      502,
      'unnamed error',
      undefined,
      [],
      undefined,
    ]);
    expect(errorOf(502, body).message).toBe(`${CALL} was answered 502 unnamed error`);
  });

  it('reads a number as text (contract 7.1)', () => {
    const error = errorOf(422, { error: { type: 7, message: 0, request_id: 12 } });
    expect(error).toMatchObject({ type: '7', reason: '0', requestId: '12' });
  });

  it.each([500, 8_000, 50_000])('survives a detail nested %i deep', (depth) => {
    const nested = `${'['.repeat(depth)}${']'.repeat(depth)}`;
    expect(errorOf(422, `{"error":{"type":"x","detail":{"validation":${nested}}}}`).status).toBe(422);
  });

  it('cuts sentences after 500 characters, and a detail after 2,000', () => {
    const long = `${'x'.repeat(1_995)}s3cret${'x'.repeat(100_000)}`;
    const error = errorOf(500, { error: { type: long, message: long, detail: long } });
    expect([error.type, error.reason]).toEqual(['x'.repeat(500), 'x'.repeat(500)]);
    expect(error.detail).toBe(`${'x'.repeat(1_995)}[reda`);
    expect(errorOf(500, { error: { detail: [long] } }).detail).toBe(`["${'x'.repeat(1_995)}[re`);
  });

  it('cleans every string and every field name', () => {
    const echo = 's3cret https://store.example/a?sig=1\n';
    const cleaned = '[redacted] https://store.example/a ';
    const detail = { [echo]: echo, validation: { [echo]: [echo] } };
    expect(errorOf(422, { error: { type: echo, message: echo, detail } })).toMatchObject({
      type: cleaned,
      reason: cleaned,
      validation: [`${cleaned}: ${cleaned}`],
      detail: JSON.stringify({ [cleaned]: cleaned, validation: { [cleaned]: [cleaned] } }),
    });
  });
});

describe('5: detail.validation (contract 7.1)', () => {
  const nested = (open: string, close: string, depth: number) =>
    JSON.parse(`${open.repeat(depth)}"wrong"${close.repeat(depth)}`);
  const sentences = Array.from({ length: 51 }, (_, at) => `sentence ${at}`);

  it.each<[string, unknown, string[]]>([
    [
      'an object',
      { spend: ['unknown: x', 'empty'], end: 'late' },
      ['spend: unknown: x', 'spend: empty', 'end: late'],
    ],
    ['a list of sentences', ['a is wrong', 'b is wrong'], ['a is wrong', 'b is wrong']],
    ['a list of objects', [{ field: 'end_date', message: 'too late' }], ['end_date: too late']],
    ['a list of other objects', [{ loc: 'end_date', code: 7 }], ['loc: end_date', 'code: 7']],
    ['a sentence', 'the range is too long', ['the range is too long']],
    ['0 and false', { limit: 0, metrics: [false] }, ['limit: 0', 'metrics: false']],
    ['empty in every way', [undefined, null, '', [], {}, { a: null, b: [{}] }], []],
    [
      'nested',
      {
        options: { filters: [{ field: 'campaign', message: 'unknown' }, { spend: ['low', { min: 'no' }] }] },
      },
      ['options.filters.campaign: unknown', 'options.filters.spend: low', 'options.filters.spend.min: no'],
    ],
    ['20 objects deep', nested('{"a":', '}', 20), [`${Array(20).fill('a').join('.')}: wrong`]],
    ['21 objects deep', nested('{"a":', '}', 21), []],
    ['51 sentences', sentences, [...sentences.slice(0, 50), 'and 1 more']],
    ['a long sentence', { end: 'x'.repeat(301) }, [`end: ${'x'.repeat(295)}`]],
  ])('may be %s', (_, validation, expected) => {
    expect(errorOf(422, { error: { detail: { validation } } }).validation).toEqual(expected);
  });

  it.each<[string, unknown, string[]]>([
    ['absent', {}, []],
    ['a list in place of detail', ['a is wrong'], ['a is wrong']],
    ['a sentence in place of detail', 'see the documents', []],
  ])('may be %s', (_, detail, expected) => {
    expect(errorOf(422, { error: { detail } }).validation).toEqual(expected);
  });
});

test.each([
  ['120', 120],
  ['0', 0],
  ['1.2', 2],
  ['Thu, 01 Oct 2026 00:00:30 GMT', 30],
  ['Thu, 01 Oct 2020 00:00:30 GMT', 0],
  ['9'.repeat(400), Number.MAX_SAFE_INTEGER],
  ['-5', undefined],
  ['5 s', undefined],
  ['1e3', undefined],
  ['5, 10', undefined],
  ['2026-10-01T00:00:30Z', undefined],
  ['monday', undefined],
  [undefined, undefined],
])('8: Retry-After: %s is %s seconds', (header, seconds) => {
  const now = () => Date.parse('2026-10-01T00:00:00.500Z');
  expect(retryAfterOf({ headers: { 'retry-after': header } }, now)).toBe(seconds);
});
