import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync, zstdDecompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readCsv } from '../../../functions/tables/csv.ts';
import { cutRows } from '../../../functions/tables/envelope.ts';
import { findRows } from '../../../functions/tables/report-file.ts';
import { decodeText } from '../../../functions/tables/text.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

type FileOptions = Partial<Parameters<typeof findRows>[1]>;

const JSON_FILE = { format: 'JSON', content_type: 'application/json', signal: new AbortController().signal };

async function find(body: Buffer | string, options: FileOptions = {}) {
  const copy = join(temporaryDirectory(), 'copy');
  writeFileSync(copy, body);
  const file = await findRows(copy, { ...JSON_FILE, ...options });
  const bytes = readFileSync(file.path);
  return { ...file, text: (file.path.endsWith('.zst') ? zstdDecompressSync(bytes) : bytes).toString() };
}

/** Yields a text in pieces of some bytes. */
async function* inPieces(text: string, bytes: number) {
  const all = Buffer.from(text);
  for (let at = 0; at < all.length; at += bytes) yield all.subarray(at, at + bytes);
}

const MANY = Array.from({ length: 20_000 }, (_, index) => ({ index, text: '😀 "x"' }));

describe.each([5, 61, 100_000])('cuts the rows out of an object, in pieces of %i bytes', (bytes) => {
  it.each<[string, string, string, string?]>([
    [
      'each number as it was written',
      '{"a":[1],"rows":[{"n":12345678901234567.0, "m" : 1.10},{"n":1E400}],"]":"}"}',
      '[{"n":12345678901234567.0,"m":1.10},{"n":1E400}]',
    ],
    [
      'texts with escapes, lists and objects',
      String.raw`{"rows":[{"a":"\"\\\u0000\n😀\ud83d\ude00","b":[{"c":[]},[null,true]],"d":{}}]}`,
      String.raw`[{"a":"\"\\\u0000\n😀😀","b":[{"c":[]},[null,true]],"d":{}}]`,
    ],
    ['those of a path', '{"a":[{"x":1}],"b":{"c":{"d":[{"y":1}]}}}', '[{"y":1}]', 'b.c.d'],
    ['items of a path that are no objects', '{"a":["x",null,{"y":1}]}', '["x",null,{"y":1}]', 'a'],
  ])('%s', async (_, text, expected, path) => {
    const layout = { isArray: false };
    const cut = await Array.fromAsync(
      cutRows(
        decodeText(inPieces(text, bytes)),
        { path, start: '', fields: { date: 'date', metrics: ['spend'] } },
        layout,
      ),
    );
    expect(cut.join('')).toBe(expected);
    expect(layout.isArray).toBe(true);
  });
});

it.each([1, 2, 5, 1000])('reads CSV in pieces of %i bytes', async (bytes) => {
  const text = [
    '\ufeffa, b\r\n\r\n1,"x\r\n""\r\n"\n2,5" tv',
    '3,"5"" tv,\r\n春" \r\n4,\\ud83d',
    '"",\u0000x',
    'a,b\u001a \u0000',
  ].join('\r\n');
  const facts = { header: [] };
  const lines = await Array.fromAsync(readCsv(decodeText(inPieces(text, bytes)), facts));
  expect(facts).toEqual({ header: ['a', 'b'] });
  expect(
    lines
      .join('')
      .split('\n')
      .map((line) => line && JSON.parse(line)),
  ).toEqual([
    ['1', 'x\r\n"\r\n'],
    ['2', '5" tv'],
    ['3', '5" tv,\r\n春'],
    ['4', '\\ud83d'],
    [null, '\u0000x'],
    ['a', 'b'],
    '',
  ]);
});

it.each<[string, string, object, FileOptions?]>([
  ['lines', '{"rows":[{}]}\n{"a":1}', { layout: 'lines' }],
  ['lines by their type', '{"rows":[{}]}', { layout: 'lines' }, { content_type: 'application/x-ndjson' }],
  ['an array deeper than two keys', '{"a":{"b":{"c":[{}]}}}', { layout: 'lines' }],
  ['an array in an array', '{"a":[["x",{"b":[{}]}]]}', { layout: 'lines' }],
  ['header of two lines', '"a\n""b",c\n1,2\n', { layout: 'csv', header: ['a\n"b', 'c'] }, { format: 'CSV' }],
])('knows the layout of %s', async (_, body, expected, options) => {
  expect(await find(body, options)).toMatchObject(expected);
});

it('compresses the text of a compressed body, and an array that is cut out', async () => {
  const rows = JSON.stringify(MANY);
  const packed = gzipSync(rows);
  for (const body of [packed, Buffer.concat([gzipSync(''), packed]), `{"rows":${rows}}`]) {
    const { path, ...file } = await find(body);
    expect(file).toEqual({ layout: 'array', text: rows });
    expect(statSync(path).size).toBeLessThan(2 * packed.length);
  }
});

it('46: ends when the time is over, in a text that gzip made small', async () => {
  const controller = new AbortController();
  const reading = find(gzipSync(Buffer.alloc(50_000_000, ' ')), { signal: controller.signal });
  controller.abort();
  await expect(reading).rejects.toMatchObject({ name: 'AbortError' });
});
