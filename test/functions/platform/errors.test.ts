import { expect, test } from 'vitest';
import { PlatformError } from '../../../functions/platform/errors.ts';
import { getReport } from '../../../functions/platform/reports.ts';
import { json, listen } from '../../support/listen.ts';
import { bearer, errorOf, platformAt } from '../../support/platform.ts';

/** The error that a client gets from a server with this answer. */
async function answered(
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
  now?: () => number,
) {
  await using server = await listen((_seen, response) =>
    typeof body === 'string'
      ? response.writeHead(status, headers).end(body)
      : json(response, status, body, headers),
  );
  return await errorOf(PlatformError, getReport(platformAt(server.url, now ? { now } : {}), bearer, 'r'));
}

const ENVELOPE = { type: 'validation', message: 'The request is invalid.', status: 422, request_id: 'req-1' };
const withDetail = (detail: unknown) => answered(422, { error: { ...ENVELOPE, detail } });

test('contract 2.5, 7.1: every field of a full envelope is kept', async () => {
  const detail = { validation: { end_date: 'is before start_date' } };
  const error = await answered(422, {
    error: { ...ENVELOPE, detail, doc_url: 'https://docs.example/errors' },
  });
  expect(error).toMatchObject({
    name: 'PlatformError',
    status: 422,
    type: 'validation',
    requestId: 'req-1',
    reason: 'The request is invalid.',
    detail: JSON.stringify(detail),
    validation: ['end_date: is before start_date'],
    docUrl: 'https://docs.example/errors',
    retryAfterSeconds: undefined,
  });
  expect(error.message).toMatch(
    /^GET http:\/\/127\.0\.0\.1:\d+\/reports\/r was answered 422 validation: The request is invalid\. \(request_id req-1\)$/,
  );
});

test('contract 7.1: an envelope with only its required fields is enough', async () => {
  const error = await answered(422, { error: ENVELOPE });
  expect(error).toMatchObject({ requestId: 'req-1', detail: undefined, validation: [], docUrl: undefined });
});

test.each([
  ['an empty body', ''],
  ['HTML', '<html><body>Bad Gateway</body></html>'],
  ['broken JSON', '{"error":{"request_id":"x"'],
  ['JSON that is no object', [1, 2]],
  ['null', 'null'],
  ['an envelope without fields', { error: {} }],
  ['fields of wrong types', { error: { type: {}, message: [], request_id: true, detail: null } }],
  ['a body nested too deep', '['.repeat(200_000)],
])('%s leaves status, "absent" for the rest, and no exception', async (_what, body) => {
  const error = await answered(502, body);
  expect(error).toMatchObject({ status: 502, type: 'absent', requestId: 'absent', validation: [] });
});

test.each([
  500, 2_000, 4_000, 8_000, 50_000,
])('a detail nested %i deep is still a PlatformError', async (depth) => {
  const nested = `${'['.repeat(depth)}${']'.repeat(depth)}`;
  const error = await answered(422, `{"error":{"type":"validation","detail":{"validation":${nested}}}}`);
  expect(error.status).toBe(422);
});

test('an answer without an envelope takes the request_id of the headers', async () => {
  expect(await answered(502, '', { 'x-request-id': 'gateway-7' })).toMatchObject({ requestId: 'gateway-7' });
});

test.each([
  [
    'an object by field',
    { validation: { metrics: ['unknown: x', 'empty'], end_date: 'too late' } },
    ['metrics: unknown: x', 'metrics: empty', 'end_date: too late'],
  ],
  ['a list of sentences', { validation: ['a is wrong', 'b is wrong'] }, ['a is wrong', 'b is wrong']],
  ['a list of objects', { validation: [{ field: 'end_date', message: 'too late' }] }, ['end_date: too late']],
  ['a list of other objects', { validation: [{ loc: 'end_date', code: 7 }] }, ['loc: end_date', 'code: 7']],
  ['a sentence', { validation: 'the range is too long' }, ['the range is too long']],
  ['nothing', {}, []],
  ['a list in place of detail', ['a is wrong'], ['a is wrong']],
  ['a sentence in place of detail', 'see the documents', []],
])('contract 7.1: detail.validation as %s', async (_what, detail, sentences) => {
  expect((await withDetail(detail)).validation).toEqual(sentences);
});

test('a detail that is a sentence is kept as it is', async () => {
  expect((await withDetail('unknown revision')).detail).toBe('unknown revision');
});

test('a long list of failures is counted, and long sentences are cut', async () => {
  const validation = Array.from({ length: 60 }, (_, i) => `${i} ${'x'.repeat(1_000)}`);
  const error = await withDetail({ validation });
  expect(error.validation).toHaveLength(51);
  expect(error.validation.at(-1)).toBe('and 10 more');
  expect(JSON.stringify(error).length).toBeLessThan(20_000);
});

test('Retry-After is read against the clock that is handed in', async () => {
  const now = () => Date.parse('2026-10-01T00:00:00Z');
  const error = await answered(429, '', { 'retry-after': 'Thu, 01 Oct 2026 00:01:30 GMT' }, now);
  expect(error.retryAfterSeconds).toBe(90);
});

test('a URL in the text loses its query', async () => {
  const message = 'cannot read https://store.example/a?X-Signature=s3cret&x=1, try again';
  const error = await answered(500, { error: { ...ENVELOPE, message } });
  expect(error.reason).toBe('cannot read https://store.example/a try again');
});
