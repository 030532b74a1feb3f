import { existsSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { crc32, gzipSync, zstdDecompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { hasRows, spool } from '../../../functions/curate/spool.ts';
import type { Column } from '../../../functions/workflow/table.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const JSON_FILE = { format: 'JSON', content_type: 'application/json' };

const COLUMNS: Column[] = [{ name: 'index', type: 'bigint' }];

/** Spools a body that comes in pieces of `size` bytes. */
async function spooled(
  body: Buffer | string,
  {
    size = 7,
    ...kind
  }: {
    size?: number;
    format?: string;
    content_encoding?: string;
    content_type?: string;
    columns?: Column[];
  } = {},
) {
  const bytes = Buffer.from(body);
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    Buffer.from(bytes.subarray(index * size, (index + 1) * size)),
  );
  const path = join(temporaryDirectory(), 'report');
  const result = await spool(Readable.from(pieces), path, { ...JSON_FILE, ...kind }, size);
  const written = () => readFileSync(result.file.path);
  const text = () => (result.file.path === path ? written() : zstdDecompressSync(written()));
  return { ...result, text: result.file.fault === undefined ? text().toString() : '' };
}

const ROWS = JSON.stringify([{ name: 'a "[b]" \\' }, { name: '春' }]);
const FILLER = Array.from({ length: 20_000 }, (_, index) => ({ index }));

it.each([
  ['plain', Buffer.from(ROWS), {}],
  ['gzip', gzipSync(ROWS), { content_encoding: 'gzip' }],
])('keeps the text of a %s body, and counts the bytes as they came', async (_, body, kind) => {
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(body));
  const { text, ...result } = await spooled(body, kind);
  expect(text).toBe(ROWS);
  expect(result).toMatchObject({
    bytes: body.length,
    crc32: checksum.toString('base64'),
    file: { layout: 'array' },
  });
});

it.each([1, 2, 5, 11, 1000])('replaces lone surrogates in pieces of %i bytes', async (size) => {
  const pairs = String.raw`["\ud83d\ude00","\\ud800","\\\ud800","\ud800\ud83d\udE00","\udc00x","\uD800\n","\u00e9\udfff"]`;
  const { text } = await spooled(pairs, { size });
  expect(text).toBe(
    String.raw`["\ud83d\ude00","\\ud800","\\\ufffd","\ufffd\ud83d\udE00","\ufffdx","\ufffd\n","\u00e9\ufffd"]`,
  );
  expect(JSON.parse(text)).toEqual(JSON.parse(pairs).map((value: string) => value.toWellFormed()));
});

it.each([61, 100_000])('leaves the array of an object, in pieces of %i bytes', async (size) => {
  const body = JSON.stringify({ note: '[', meta: { list: [1] }, rows: FILLER, 'after"]': ']}]' });
  const { text, file } = await spooled(body.replace('{"list":[1]}', '{}'), { size, columns: COLUMNS });
  expect(file).toMatchObject({ layout: 'array' });
  expect(file).not.toHaveProperty('fault');
  expect(JSON.parse(text)).toEqual(FILLER);
});

describe('a large object around an array has a fault if', () => {
  const body = JSON.stringify({ rows: FILLER, more: 1 });
  it.each([
    ['it lacks its end', body.slice(0, -1)],
    ['it is cut in its array', body.slice(0, 150_000)],
    ['it is cut after its array', body.slice(0, body.lastIndexOf(']') + 1)],
  ])('%s', async (_, cut) => {
    expect((await spooled(cut, { size: 1000, columns: COLUMNS })).file.fault).toMatch(/single array/);
  });
});

it('still counts all bytes of a file that gzip cannot decode', async () => {
  const body = Buffer.concat([gzipSync(ROWS).subarray(0, 20), Buffer.alloc(300_000, 'x')]);
  const { file, bytes } = await spooled(body, { content_encoding: 'gzip', size: 65_536 });
  expect(bytes).toBe(body.length);
  expect(file.fault).toMatch(/labeled as gzip/);
});

it('leaves an object around an array to a list', async () => {
  const line = '{"rows":[{}]}';
  expect(await spooled(line)).toMatchObject({ file: { layout: 'lines' }, text: line });
  expect(await spooled(line, { columns: COLUMNS })).toMatchObject({
    file: { layout: 'array' },
    text: '[{}]',
  });
});

describe('an object around many rows', () => {
  it.each([
    1000, 1_000_000,
  ])('may have notices before and after them, in pieces of %i bytes', async (size) => {
    const body = JSON.stringify({
      columns: [{ x: 1 }],
      other: [{ x: 1 }],
      rows: FILLER,
      warnings: [{ x: 1 }],
    });
    const { text, file } = await spooled(body, { size, columns: COLUMNS });
    expect(file).not.toHaveProperty('fault');
    expect(JSON.parse(text)).toEqual(FILLER);
  });

  it.each<[string, object, RegExp]>([
    ['an error', { rows: FILLER, error: 'x' }, /error document/],
    ['other rows', { rows: FILLER, more: FILLER.slice(0, 9) }, /several arrays/],
    ['a last row that is a failure', { rows: [...FILLER, { error: 'x' }] }, /failure instead of a row/],
    ['no rows in its first 64 KB', { text: 'x'.repeat(70_000), rows: FILLER }, /single array/],
  ])('has a fault if it has %s', async (_, body, fault) => {
    const { file } = await spooled(JSON.stringify(body), { size: 1000, columns: COLUMNS });
    expect(file.fault).toMatch(fault);
  });
});

it('passes on the error of a body that breaks off', async () => {
  async function* broken() {
    yield Buffer.from('[');
    throw new Error('reset');
  }
  const path = join(temporaryDirectory(), 'report');
  await expect(spool(Readable.from(broken()), path, JSON_FILE)).rejects.toThrow('reset');
});

it.runIf(existsSync('/dev/full'))('46: says that the storage is full, and closes the body', async () => {
  const path = join(temporaryDirectory(), 'report');
  symlinkSync('/dev/full', path);
  const piece = Buffer.from(JSON.stringify(FILLER));
  const body = Readable.from(Array.from({ length: 10 }, () => piece));
  await expect(spool(body, path, JSON_FILE)).rejects.toMatchObject({ name: 'CurateLimit', which: 'storage' });
  expect(body.destroyed).toBe(true);
});

it('compresses the text of a compressed body', async () => {
  const body = gzipSync(JSON.stringify(FILLER));
  const { file } = await spooled(body, { size: 1000, content_encoding: 'gzip' });
  expect(statSync(file.path).size).toBeLessThan(2 * body.length);
});

it.each([
  ['JSON', true],
  ['csv', true],
  ['NDJSON', true],
  ['XLSX', false],
])('knows whether %s has rows', (format, expected) => {
  expect(hasRows(format)).toBe(expected);
});

it('leaves texts of CSV as they are that look like escapes of JSON', async () => {
  const text = 'date,campaign_id\n2026-10-01,\\ud83d\n';
  expect((await spooled(text, { size: 3, format: 'CSV' })).text).toBe(text);
});

it.each([1, 2, 1000])('makes all line ends of CSV the same, in pieces of %i bytes', async (size) => {
  const { text } = await spooled('a,b\r\n1,"x\r\n""\r\n"\n2,"y"\r\n3,z\r\n', { size, format: 'CSV' });
  expect(text).toBe('a,b\n1,"x\r\n""\r\n"\n2,"y"\n3,z\n');
});

it.each([1, 2, 1000])('knows an inch from a quote around a value, in pieces of %i bytes', async (size) => {
  const body = 'a,b\r\n1,5" tv\r\n2,"5"" tv,\r\n"\r\n3,"""x"\r\n';
  const { text } = await spooled(body, { size, format: 'CSV' });
  expect(text).toBe('a,b\n1,5" tv\n2,"5"" tv,\r\n"\n3,"""x"\n');
});
