import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { inspect, inspectFragment, inspectPlain, joinInspections } from '../../../functions/copy/inspect.ts';
import { DownloadRefused } from '../../../functions/workflow/errors.ts';

const JSON_TYPE = 'application/json';
const text = Buffer.from('[{"a": "]"}, {"a": "\\""}, 3]');

test.each([text.length - 1, 10])('a file inspected in two calls, cut at %i, has its rows', async (at) => {
  const first = inspect('JSON', JSON_TYPE, undefined);
  await first.write(text.subarray(0, at));
  expect(await first.closed()).toBe(false);
  const second = inspect('JSON', JSON_TYPE, undefined, first.save());
  await second.write(text.subarray(at));
  expect(await second.closed()).toBe(true);
  expect(await second.end()).toEqual({ rows: 3 });
});

test('a file whose last bytes were seen by the call before is not empty', async () => {
  const first = inspect('CSV', 'text/csv', undefined);
  await first.write(Buffer.from('a,b'));
  await expect(inspect('CSV', 'text/csv', undefined, first.save()).end()).resolves.toEqual({});
  await expect(inspect('CSV', 'text/csv', undefined).end()).rejects.toThrow('The file is empty');
});

test.each([
  'text/html',
  'text/html; charset=utf-8',
  'Text/HTML',
])('23: a web page (%s) is no CSV', (contentType) => {
  expect(() => inspect('CSV', contentType, undefined)).toThrow('is a web page');
  expect(() => inspect('CSV', contentType, undefined)).toThrow(DownloadRefused);
});

test('JSON is what it holds, whatever it is labelled as', async () => {
  const inspection = inspect('JSON', 'text/html', undefined);
  await inspection.write(text);
  expect(await inspection.end()).toEqual({ rows: 3 });
});

test('gzip cannot be saved', async () => {
  const gzip = inspect('JSON', JSON_TYPE, 'gzip');
  await gzip.write(gzipSync(text));
  expect(gzip.save()).toBeUndefined();
});

test('a file inspected by ranges, each on its own, has its rows', () => {
  expect(joinInspections('JSON', JSON_TYPE, ranges(text, 9, 20))).toEqual({ rows: 3 });
  expect(joinInspections('CSV', 'text/csv', ['', '', ''])).toEqual({});
});

test('one line of NDJSON inspected by ranges is one row', () => {
  const line = Buffer.from('{"a": 1}\n');
  expect(joinInspections('JSON', 'application/x-ndjson', ranges(line, 4, 6))).toEqual({ rows: 1 });
  expect(joinInspections('JSON', JSON_TYPE, ranges(line, 4, 6))).toEqual({});
});

test.each([
  ['[{"a": 1}, {"b"', 'ends in the middle of its JSON'],
  ['[{"a": 1}, "b"}', 'is not JSON'],
])('%s inspected by ranges is refused', (broken, fault) => {
  const saved = ranges(Buffer.from(broken), 6, 12);
  expect(() => joinInspections('JSON', JSON_TYPE, saved)).toThrow(DownloadRefused);
  expect(() => joinInspections('JSON', JSON_TYPE, saved)).toThrow(fault);
});

test('a range that no JSON can hold is refused at once', () => {
  expect(() => inspectFragment('JSON').write(Buffer.from('[}"[}'))).toThrow(DownloadRefused);
});

function ranges(bytes: Buffer, second: number, third: number): [string, string, string] {
  const beginning = inspectPlain('JSON', JSON_TYPE);
  beginning.write(bytes.subarray(0, second));
  return [
    beginning.save(),
    savedFragment(bytes.subarray(second, third)),
    savedFragment(bytes.subarray(third)),
  ];
}

function savedFragment(bytes: Buffer): string {
  const fragment = inspectFragment('JSON');
  fragment.write(bytes);
  return fragment.save();
}
