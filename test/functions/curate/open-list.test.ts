import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { openList } from '../../../functions/curate/open-list.ts';
import { spool } from '../../../functions/curate/spool.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { query } from './reports.ts';

async function open(text: string) {
  const folder = temporaryDirectory();
  const kind = { format: 'JSON', content_type: 'application/x-ndjson' };
  const { file } = await spool(Readable.from([Buffer.from(text)]), join(folder, 'list'), kind);
  return openList(file, { folder, signal: new AbortController().signal });
}

it('writes the common fields as texts, and each item as it was written', async () => {
  const items = [
    '{"id":"b","name":"Größe 😀","created_at":"2026-10-01T00:00:00Z","tags":["x"]}',
    '{"id": 12345678901234567890123, "budget": 0.10000000000000000001}',
    '{"id":"c","name":null,"Name":"other"}',
  ];
  await using list = await open(`${items.join('\n')}\n`);
  expect(list.rows).toBe(3);
  const path = await list.write({ created_at: 'now' });
  expect(await query(`FROM '${path}'`)).toEqual([
    { id: '12345678901234567890123', name: null, created_at: null, item: items[1] },
    { id: 'b', name: 'Größe 😀', created_at: '2026-10-01T00:00:00Z', item: items[0] },
    { id: 'c', name: null, created_at: null, item: items[2] },
  ]);
  expect(await query(`SELECT decode(value) AS value FROM parquet_kv_metadata('${path}')`)).toEqual([
    { value: 'now' },
  ]);
});

it('refuses a list that is cut off', async () => {
  await expect(open('{"id":"a"}\n{"id":')).rejects.toMatchObject({ name: 'DownloadRefused' });
});

it('takes a list without items', async () => {
  await using list = await open('');
  expect(list.rows).toBe(0);
  expect(await query(`SELECT count(*)::INT AS rows FROM '${await list.write({})}'`)).toEqual([{ rows: 0 }]);
});
