import { existsSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { crc32, gzipSync, zstdDecompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { hasRows, readReportFile } from '../../../functions/tables/report-file.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

interface Given {
  readonly size?: number;
  readonly format?: string;
  readonly content_encoding?: string;
  readonly content_type?: string;
  readonly rows?: string;
  readonly signal?: AbortSignal;
}

const { signal } = new AbortController();
const JSON_FILE = { format: 'JSON', content_type: 'application/json', signal };

/** Reads a body that comes in pieces of `size` bytes. */
async function read(body: Buffer | string, { size = 7, ...given }: Given = {}) {
  const bytes = Buffer.from(body);
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    Buffer.from(bytes.subarray(index * size, (index + 1) * size)),
  );
  const base = join(temporaryDirectory(), 'report');
  const result = await readReportFile(Readable.from(pieces), base, { ...JSON_FILE, ...given }, size);
  const { path, error } = result.file;
  const written = error ? Buffer.alloc(0) : readFileSync(path);
  const text = path.endsWith('.zst') && !error ? zstdDecompressSync(written) : written;
  return { ...result, text: text.toString() };
}

const ROWS = JSON.stringify([{ name: 'a "[b]" \\' }, { name: '春' }]);
const MANY = Array.from({ length: 20_000 }, (_, index) => ({ index, text: '😀 "x"' }));

it.each([
  ['plain', Buffer.from(ROWS), {}],
  ['gzip', gzipSync(ROWS), { content_encoding: 'gzip' }],
])('keeps the text of a %s body, and counts the bytes as they came', async (_, body, given) => {
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(body));
  const { text, ...result } = await read(body, given);
  expect(text).toBe(ROWS);
  const expected = { bytes: body.length, crc32: checksum.toString('base64'), file: { layout: 'array' } };
  expect(result).toMatchObject(expected);
});

describe.each([5, 61, 100_000])('cuts the rows out of an object, in pieces of %i bytes', (size) => {
  it.each<[string, string, string, Given]>([
    [
      'each number as it was written',
      '{"a":[1],"rows":[{"n":12345678901234567.0, "m" : 1.10},{"n":1E400}],"]":"}"}',
      '[{"n":12345678901234567.0,"m":1.10},{"n":1E400}]',
      {},
    ],
    [
      'texts with escapes, lists and objects',
      String.raw`{"rows":[{"a":"\"\\\u0000\n😀\ud83d\ude00","b":[{"c":[]},[null,true]],"d":{}}]}`,
      String.raw`[{"a":"\"\\\u0000\n😀😀","b":[{"c":[]},[null,true]],"d":{}}]`,
      {},
    ],
    ['those of a path', '{"a":[{"x":1}],"b":{"c":{"d":[{"y":1}]}}}', '[{"y":1}]', { rows: 'b.c.d' }],
    ['items of a path that are no objects', '{"a":["x",null,{"y":1}]}', '["x",null,{"y":1}]', { rows: 'a' }],
    ['many of them', JSON.stringify({ note: '[', rows: MANY, more: { x: 1 } }), JSON.stringify(MANY), {}],
  ])('%s', async (_, body, expected, given) => {
    const { text, file } = await read(body, { size, ...given });
    expect(file).toMatchObject({ layout: 'array' });
    expect(text).toBe(expected);
    expect(readdirSync(dirname(file.path))).toHaveLength(1);
  });
});

describe('knows the layout of', () => {
  it.each<[string, string, Given, object]>([
    ['lines', '{"rows":[{}]}\n{"a":1}', {}, { layout: 'lines' }],
    [
      'lines of a declared type',
      '{"rows":[{}]}',
      { content_type: 'application/x-ndjson' },
      { layout: 'lines' },
    ],
    ['an array deeper than two keys', '{"a":{"b":{"c":[{}]}}}', {}, { layout: 'lines' }],
    ['an array in an array', '{"a":[["x",{"b":[{}]}]]}', {}, { layout: 'lines' }],
    [
      'a header with a line break',
      '"a\n""b",c\n1,2\n',
      { format: 'CSV' },
      { layout: 'csv', header: ['a\n"b', 'c'] },
    ],
  ])('%s', async (_, body, given, expected) => {
    for (const size of [1, 1000]) {
      const { file } = await read(body, { size, ...given });
      expect(file).toMatchObject(expected);
      expect(file).not.toHaveProperty('error');
    }
  });
});

it('still counts all bytes of a file that gzip cannot decode', async () => {
  const body = Buffer.concat([gzipSync(ROWS).subarray(0, 20), Buffer.alloc(300_000, 'x')]);
  const { file, bytes } = await read(body, { content_encoding: 'gzip', size: 65_536 });
  expect(bytes).toBe(body.length);
  expect(file.error?.message).toMatch(/labeled as gzip/);
});

it('compresses the text of a compressed body, and an array that is cut out', async () => {
  const sizeOf = async (body: Buffer | string) => statSync((await read(body, { size: 1000 })).file.path).size;
  const packed = gzipSync(JSON.stringify(MANY));
  expect(await sizeOf(packed)).toBeLessThan(2 * packed.length);
  expect(await sizeOf(JSON.stringify({ rows: MANY }))).toBeLessThan(2 * packed.length);
});

it('passes on the error of a body that breaks off', async () => {
  async function* broken() {
    yield Buffer.from('[');
    throw new Error('reset');
  }
  const base = join(temporaryDirectory(), 'report');
  await expect(readReportFile(Readable.from(broken()), base, JSON_FILE)).rejects.toThrow('reset');
});

it.runIf(existsSync('/dev/full'))('46: ends when the storage is full, and closes the body', async () => {
  const base = join(temporaryDirectory(), 'report');
  symlinkSync('/dev/full', base);
  const body = Readable.from(Array.from({ length: 10 }, () => Buffer.from(JSON.stringify(MANY))));
  await expect(readReportFile(body, base, JSON_FILE)).rejects.toThrow(/^ENOSPC/);
  expect(body.destroyed).toBe(true);
});

it('46: ends when the time is over, also in an endless text of a small gzip file', async () => {
  const member = gzipSync(Buffer.alloc(50_000_000, ' '));
  const controller = new AbortController();
  async function* bomb() {
    for (let count = 0; ; count++) {
      if (count === 3) controller.abort();
      yield member;
    }
  }
  const base = join(temporaryDirectory(), 'report');
  const reading = readReportFile(Readable.from(bomb()), base, { ...JSON_FILE, signal: controller.signal });
  await expect(reading).rejects.toMatchObject({ name: 'AbortError' });
});

it.each([
  ['JSON', true],
  ['csv', true],
  ['NDJSON', true],
  ['XLSX', false],
])('knows whether %s has rows', (format, expected) => {
  expect(hasRows(format)).toBe(expected);
});

it.each([1, 2, 5, 1000])('reads CSV in pieces of %i bytes', async (size) => {
  const body = [
    '\ufeffa, b\r\n\r\n1,"x\r\n""\r\n"\n2,5" tv',
    '3,"5"" tv,\r\n春" \r\n4,\\ud83d,5',
    '"",\u0000',
  ].join('\r\n');
  const { text, file } = await read(body, { size, format: 'CSV' });
  expect(file).toMatchObject({ layout: 'csv', header: ['a', 'b'], isRagged: true });
  expect(text.split('\n').map((line) => line && JSON.parse(line))).toEqual([
    ['1', 'x\r\n"\r\n'],
    ['2', '5" tv'],
    ['3', '5" tv,\r\n春'],
    ['4', '\\ud83d', '5'],
    [null, '\u0000'],
    '',
  ]);
});
