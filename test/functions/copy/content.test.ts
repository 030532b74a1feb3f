import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ContentOptions, createContentCheck } from '../../../functions/copy/content.ts';
import { DownloadRefused } from '../../../functions/workflow/errors.ts';

const JSON_FILE = { format: 'JSON', contentType: 'application/json' };
const NDJSON = { format: 'JSON', contentType: 'application/x-ndjson' };

/** Checks a file that comes in pieces of `size` bytes. The check is saved and resumed after each `resume` pieces. */
async function checkAll(
  text: string | Buffer,
  options: ContentOptions = JSON_FILE,
  size = 1_000,
  resume = Infinity,
) {
  const bytes = Buffer.from(text);
  let check = createContentCheck(options);
  for (let at = 0, piece = 1; at < bytes.length; at += size, piece++) {
    await check.write(bytes.subarray(at, at + size));
    if (piece % resume !== 0) continue;
    const json = JSON.parse(JSON.stringify(check.progress()));
    check = createContentCheck({ ...options, resumed: { json } });
  }
  await check.end();
}

const sizes = fc.integer({ min: 1, max: 300 });
const resumes = fc.constantFrom(1, 3, Infinity);

test('arrays and NDJSON are accepted, in pieces and across calls', async () => {
  const rows = fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { minLength: 1 });
  await fc.assert(
    fc.asyncProperty(rows, sizes, resumes, fc.boolean(), async (values, size, resume, isLines) => {
      const lines = values.map((row) => `${JSON.stringify(row)}\n`).join('');
      const text = isLines ? lines : JSON.stringify(values, null, 2);
      await checkAll(text, isLines ? NDJSON : JSON_FILE, size, resume);
    }),
  );
});

test('an array of objects and numbers that is cut anywhere is refused', async () => {
  const value = fc.oneof(fc.integer(), fc.record({ spend: fc.integer() }));
  await fc.assert(
    fc.asyncProperty(fc.array(value, { minLength: 1 }), fc.nat(), async (values, at) => {
      const text = Buffer.from(JSON.stringify(values));
      await expect(checkAll(text.subarray(0, at % text.length))).rejects.toThrow(DownloadRefused);
    }),
  );
});

test.each([
  '[}',
  '{]',
  ']',
  '1',
  '"a"',
  '\ufeff\ufeff[]',
  'x[]',
  '[]x',
  'n',
  '[l',
])('%j is refused, however its bytes are split', async (text) => {
  for (const size of [1, 100]) await expect(checkAll(text, JSON_FILE, size)).rejects.toThrow(DownloadRefused);
});

test('a byte order mark may come in pieces', async () => {
  await checkAll('\ufeff[1]', JSON_FILE, 1);
  await expect(checkAll('\ufeff1', JSON_FILE, 1)).rejects.toThrow(DownloadRefused);
});

test('a part of a byte order mark is refused', async () => {
  for (const bytes of [[0xef], [0xef, 0xbb]])
    await expect(checkAll(Buffer.from([...bytes, ...Buffer.from('[1]')]))).rejects.toThrow(DownloadRefused);
});

test('null is accepted, which is a report without rows', async () => {
  await checkAll(' null\n', JSON_FILE, 1, 1);
});

test('gzip without a label is accepted, and not looked into', async () => {
  await checkAll(gzipSync('[1,2]'), JSON_FILE, 1, 1);
});

test('gzip is checked inside, and its check cannot be saved', async () => {
  const options = { ...JSON_FILE, contentEncoding: 'gzip' };
  await checkAll(gzipSync('[1,2]'), options, 5);
  await expect(checkAll(gzipSync('1,2'), options, 5)).rejects.toThrow(DownloadRefused);
  const check = createContentCheck(options);
  await check.write(gzipSync('[1,2]').subarray(0, 10));
  expect(check.progress()).toBeUndefined();
});

test('two writes may be pending when gzip turns out to be wrong', async () => {
  const check = createContentCheck({ ...JSON_FILE, contentEncoding: 'gzip' });
  const writes = [Buffer.alloc(100_000, 'x'), Buffer.alloc(100_000, 'y')].map((bytes) => check.write(bytes));
  for (const write of writes) await expect(write).rejects.toThrow(DownloadRefused);
  await expect(check.end()).rejects.toThrow('cannot be decoded');
});

test('a resumed file is not empty, although this call brought no bytes', async () => {
  const csv = { format: 'CSV', contentType: 'text/csv' };
  await expect(createContentCheck(csv).end()).rejects.toThrow('is empty');
  await expect(createContentCheck({ ...csv, resumed: {} }).end()).resolves.toBeUndefined();
});
