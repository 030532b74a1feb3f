import { expect, test } from 'vitest';
import { copyOnce, expectDelivered, jsonOf } from '../../support/copying.ts';

const text = Array.from({ length: 20_000 }, (_, row) => `{"row":${row}}\n`).join('');
const body = Buffer.from(text);
const lineEnd = text.indexOf('\n', body.length / 2) + 1;
const cut = { after: lineEnd, by: 'close' } as const;
const headers = { 'Content-Type': 'application/x-ndjson' };

test.each([
  ['NDJSON that was cut', 'JSON', lineEnd],
  ['NDJSON that was cut behind its first line', 'JSON', text.indexOf('\n') + 1],
  ['NDJSON', 'JSON', body.length],
  ['CSV', 'CSV', body.length],
])('17: %s, whose body simply closes, is whole only once nothing follows', async (_, format, after) => {
  const outcome = await copyOnce({ body, headers, framing: 'close', turns: [{ ...cut, after }] }, { format });
  expect(outcome.object?.equals(body)).toBe(true);
  expect(outcome.copied?.fetchedTwice).toBe(0);
  expect(outcome.host.requests.map(({ range }) => range)).toEqual([undefined, `bytes=${after}-`]);
});

test('17: JSON whose body simply closes is whole once its brackets do, and nothing more is asked', async () => {
  const whole = jsonOf(40_000).body;
  const outcome = await copyOnce({ body: whole, framing: 'close', etag: null });
  expectDelivered(outcome, whole);
  expect(outcome.host.requests).toHaveLength(1);
});

test('18: a file that is shorter by now is not whole because nothing follows', async () => {
  const other = { etag: '"two"', body: Buffer.from(text.slice(0, lineEnd).replaceAll('row', 'ROW')) };
  const turns = [
    { ...cut, by: 'reset' as const },
    ...Array.from({ length: 9 }, () => ({ ...other, ignoresIfMatch: true })),
  ];
  const outcome = await copyOnce({ body, headers, turns });
  expect(outcome.object?.equals(other.body)).toBe(true);
});

test.each([
  ['there is no ETag', { etag: null }],
  ['no range is served', { ranges: false }],
])('17: lines that are cut at the end of one are not visible where %s', async (_, file) => {
  const turns = Array.from({ length: 100 }, () => cut);
  const outcome = await copyOnce({ body, headers, framing: 'close', turns, ...file });
  expect(outcome.error).toMatchObject({ name: 'CopyFailed' });
  expect(outcome).toMatchObject({ object: undefined, openUploads: 0 });
});
