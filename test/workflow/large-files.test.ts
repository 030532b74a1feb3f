import { test } from 'vitest';
import { PART_BYTES } from '../../functions/copy/parts.ts';
import { copyOnce, expectDelivered, jsonOf } from '../support/copying.ts';

const MB = 1_000_000;
const CSV_ROW = '2026-10-01,"Autumn, ""Sale""",12.5\n';

test.each([
  [60, 'JSON'],
  [60, 'CSV'],
  [200, 'JSON'],
  [200, 'CSV'],
])('a file of %i MB (%s) arrives byte for byte', { timeout: 120_000 }, async (size, format) => {
  const json = jsonOf(size * MB);
  const isJson = format === 'JSON';
  const body = isJson ? json.body : Buffer.alloc(size * MB, CSV_ROW);
  const headers = isJson ? {} : { 'Content-Type': 'text/csv' };
  const source = { maxBytes: size * MB };
  const outcome = await copyOnce({ body, headers }, { format, source, part: PART_BYTES });
  expectDelivered(outcome, body);
});
