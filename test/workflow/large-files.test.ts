import { test } from 'vitest';
import { PART_BYTES } from '../../functions/workflow/state-parts.ts';
import { copyOnce, expectDelivered, jsonOf } from '../support/copying.ts';

const MB = 1_000_000;
const CSV_ROW = '2026-10-01,"Autumn, ""Sale""",12.5\n';

test.each([
  [60, 'CSV'],
  [200, 'JSON'],
])('a file of %i MB (%s) arrives byte for byte', { timeout: 120_000 }, async (size, format) => {
  const isJson = format === 'JSON';
  const body = isJson ? jsonOf(size * MB) : Buffer.alloc(size * MB, CSV_ROW);
  const headers = isJson ? {} : { 'Content-Type': 'text/csv' };
  expectDelivered(await copyOnce({ body, headers }, { destination: { partBytes: PART_BYTES } }), body);
});
