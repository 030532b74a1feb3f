import { describe, expect, it, test } from 'vitest';
import { listValidation, platformError, retryAfterOf } from '../../../functions/platform/envelope.ts';

/** The error of an answer with this body. */
function errorOf(status: number, body: unknown, { headers = {}, secrets = [] as string[], now = 0 } = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const call = 'GET https://api.example/reports/r';
  return platformError({ call, status, headers, secrets, text, truncated: false }, now);
}

const ENVELOPE = { type: 'validation', message: 'The request is invalid.', status: 422, request_id: 'req-1' };
const withDetail = (detail: unknown) => errorOf(422, { error: { ...ENVELOPE, detail } });

describe('platformError', () => {
  it('keeps every field of a full envelope (contract 2.5, 7.1)', () => {
    const detail = { validation: { end_date: 'is before start_date' } };
    const error = errorOf(422, { error: { ...ENVELOPE, detail } });
    expect(error).toMatchObject({
      name: 'PlatformError',
      status: 422,
      type: 'validation',
      requestId: 'req-1',
      reason: 'The request is invalid.',
      detail: JSON.stringify(detail),
      validation: ['end_date: is before start_date'],
      retryAfterSeconds: undefined,
    });
    expect(error.message).toBe(
      'GET https://api.example/reports/r was answered 422 validation: The request is invalid. (request_id req-1)',
    );
  });

  it.each([
    ['only its required fields', ENVELOPE],
    ['null for its other field', { ...ENVELOPE, detail: null }],
  ])('reads an envelope with %s (contract 7.1)', (_, error) => {
    expect({ ...errorOf(422, { error }) }).toEqual({
      ...{ name: 'PlatformError', status: 422, type: 'validation', requestId: 'req-1' },
      ...{ reason: 'The request is invalid.', detail: undefined, validation: [] },
      retryAfterSeconds: undefined,
    });
  });

  it.each([
    ['an empty body', ''],
    ['HTML', '<html><body>Bad Gateway</body></html>'],
    ['broken JSON', '{"error":{"request_id":"x"'],
    ['JSON that is not an object', [1, 2]],
    ['null', 'null'],
    ['an envelope without fields', { error: {} }],
    ['fields of wrong types', { error: { type: {}, message: [], request_id: true, detail: null } }],
    ['a body nested too deep', '['.repeat(200_000)],
  ])('11: reads %s as an error whose fields are absent', (_, body) => {
    expect(errorOf(502, body)).toMatchObject({
      ...{ status: 502, type: 'absent', requestId: 'absent', validation: [], reason: undefined },
    });
  });

  it('reads a number as text (contract 7.1)', () => {
    const error = { type: 7, message: 0, request_id: 12 };
    expect(errorOf(422, { error })).toMatchObject({
      ...{ type: '7', reason: '0', requestId: '12' },
    });
  });

  it.each([500, 2_000, 4_000, 8_000, 50_000])('survives a detail nested %i deep', (depth) => {
    const nested = `${'['.repeat(depth)}${']'.repeat(depth)}`;
    expect(errorOf(422, `{"error":{"type":"x","detail":{"validation":${nested}}}}`).status).toBe(422);
  });

  it.each([
    [299, undefined],
    [300, 'redirects are not followed'],
    [399, 'redirects are not followed'],
    [400, undefined],
  ])('gives an answer %i without a message the reason %s', (status, reason) => {
    expect(errorOf(status, '').reason).toBe(reason);
  });

  it('cuts sentences after 500 characters, and a detail after 2,000', () => {
    const long = 'x'.repeat(100_000);
    const sentence = 'x'.repeat(500);
    const error = errorOf(500, { error: { type: long, message: long, detail: long } });
    expect([error.type, error.reason]).toEqual([sentence, sentence]);
    expect(error.detail).toBe('x'.repeat(2_000));
    expect(errorOf(500, { error: { detail: [long] } }).detail).toBe(`["${'x'.repeat(1_998)}`);
  });

  it('cleans every string and every field name', () => {
    const echo = 's3cret https://store.example/a?sig=1\n';
    const cleaned = '[redacted] https://store.example/a ';
    const detail = { [echo]: echo, validation: { [echo]: [echo] } };
    const body = { error: { type: echo, message: echo, detail } };
    expect(errorOf(422, body, { secrets: ['s3cret'] })).toMatchObject({
      ...{ type: cleaned, reason: cleaned, validation: [`${cleaned}: ${cleaned}`] },
      detail: JSON.stringify({ [cleaned]: cleaned, validation: { [cleaned]: [cleaned] } }),
    });
  });

  it('reads Retry-After against the given clock', () => {
    const headers = { 'retry-after': 'Thu, 01 Oct 2026 00:01:30 GMT' };
    const now = Date.parse('2026-10-01T00:00:00Z');
    expect(errorOf(429, '', { headers, now }).retryAfterSeconds).toBe(90);
  });
});

describe('5: detail.validation (contract 7.1)', () => {
  test.each([
    [
      'an object by field',
      { validation: { metrics: ['unknown: x', 'empty'], end_date: 'too late' } },
      ['metrics: unknown: x', 'metrics: empty', 'end_date: too late'],
    ],
    ['a list of sentences', { validation: ['a is wrong', 'b is wrong'] }, ['a is wrong', 'b is wrong']],
    [
      'a list of objects',
      { validation: [{ field: 'end_date', message: 'too late' }] },
      ['end_date: too late'],
    ],
    ['a list of other objects', { validation: [{ loc: 'end_date', code: 7 }] }, ['loc: end_date', 'code: 7']],
    ['a sentence', { validation: 'the range is too long' }, ['the range is too long']],
    ['absent', {}, []],
    ['a list in place of detail', ['a is wrong'], ['a is wrong']],
    ['a sentence in place of detail', 'see the documents', []],
  ])('may be %s', (_, detail, sentences) => {
    expect(withDetail(detail).validation).toEqual(sentences);
  });

  it('shows 50 failures of 300 characters and counts the others', () => {
    const sentences = Array.from({ length: 51 }, (_, at) => `sentence ${at}`);
    expect(listValidation(sentences.slice(0, 50))).toEqual(sentences.slice(0, 50));
    expect(listValidation(sentences)).toEqual([...sentences.slice(0, 50), 'and 1 more']);
    const most = 'x'.repeat(300);
    expect(listValidation([most, `${most}y`])).toEqual([most, most]);
    expect(listValidation({ end: `${most}y` })).toEqual([`end: ${'x'.repeat(295)}`]);
  });

  it('is empty for null, an empty text, an empty list and an empty object', () => {
    for (const nothing of [undefined, null, '', [], {}]) {
      expect(listValidation(nothing)).toEqual([]);
      expect(listValidation({ metrics: nothing })).toEqual([]);
      expect(listValidation([nothing, 'too late', nothing])).toEqual(['too late']);
    }
  });

  it('shows 0 and false', () => {
    expect(listValidation({ limit: 0, metrics: false })).toEqual(['limit: 0', 'metrics: false']);
    expect(listValidation([0, false])).toEqual(['0', 'false']);
  });

  it('joins field and message only if both are texts', () => {
    expect(
      listValidation([
        { field: 'end_date', message: 'too late' },
        { field: 'end_date', message: 7 },
        { field: 7, message: 'too late' },
        { field: 'end_date' },
      ]),
    ).toEqual([
      ...['end_date: too late', 'field: end_date', 'message: 7'],
      ...['field: 7', 'message: too late', 'field: end_date'],
    ]);
  });

  it('shows the path of a field through lists and objects', () => {
    const filters = [{ field: 'campaign', message: 'unknown' }, { spend: ['too low', { min: 'missing' }] }];
    expect(listValidation({ options: { filters } })).toEqual([
      'options.filters.campaign: unknown',
      'options.filters.spend: too low',
      'options.filters.spend.min: missing',
    ]);
  });

  it('is searched 20 levels deep', () => {
    const listed = (depth: number) => JSON.parse(`${'['.repeat(depth)}"wrong"${']'.repeat(depth)}`);
    const named = (depth: number) => JSON.parse(`${'{"a":'.repeat(depth)}"wrong"${'}'.repeat(depth)}`);
    expect([listValidation(listed(20)), listValidation(listed(21))]).toEqual([['wrong'], []]);
    const path = Array.from({ length: 20 }, () => 'a').join('.');
    expect([listValidation(named(20)), listValidation(named(21))]).toEqual([[`${path}: wrong`], []]);
  });
});

test.each([
  ['120', 120],
  ['0', 0],
  ['1.2', 2],
  ['1.05', 2],
  ['10.000', 10],
  ['Thu, 01 Oct 2026 00:00:30 GMT', 30],
  ['Thursday, 01-Oct-26 00:00:30 GMT', 30],
  ['Thu Oct  1 00:00:30 2026 GMT', 30],
  ['thu, 01 Oct 2026 00:00:00 GMT', 0],
  ['Thu, 01 Oct 2020 00:00:30 GMT', 0],
  ['9'.repeat(400), Number.MAX_SAFE_INTEGER],
  ['-5', undefined],
  ['+5', undefined],
  ['5 s', undefined],
  ['5.', undefined],
  ['.5', undefined],
  ['1.2.3', undefined],
  ['1e3', undefined],
  ['0x10', undefined],
  ['5, 10', undefined],
  ['in Thu, 01 Oct 2026 00:00:30 GMT', undefined],
  ['01 Oct 2026 00:00:30 GMT', undefined],
  ['2026-10-01T00:00:30Z', undefined],
  ['soon', undefined],
  ['monday', undefined],
  ['', undefined],
  [undefined, undefined],
])('8: Retry-After: %s is %s seconds', (header, seconds) => {
  const now = Date.parse('2026-10-01T00:00:00.500Z');
  expect(retryAfterOf({ headers: { 'retry-after': header } }, now)).toBe(seconds);
});
