import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openLedger } from '../../../../infra/operate/days/ledger-days.ts';
import { ledgerRows, writeParquet } from '../../../support/ledger-rows.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const KEY = 'tables/ledger/acme.daily.2026-10.parquet';
const NOW = new Date('2026-11-02T00:00:00Z');

/** Opens a ledger of one line, with other columns. @param select its columns */
async function openChanged(select: string) {
  const folder = temporaryDirectory();
  const fact = { date: '2026-10-31', report_id: 'r1', at: '2026-11-01 00:00:00', values: { spend: 3 } };
  const file = join(folder, 'ledger');
  await writeParquet(file, `SELECT ${select} FROM (${ledgerRows('acme', 'daily', 'daily', [fact])})`);
  const bucket = {
    list: async () => [KEY],
    toFile: async (_: string, path: string) => {
      await copyFile(file, path);
      return path;
    },
  };
  const since = new Map([['acme.daily', '2026-10-01']]);
  using ledger = await openLedger(bucket, since, NOW, folder);
  const lines = await ledger.database.query('SELECT metric, value::INTEGER AS value FROM ledger');
  return { lines, damaged: ledger.damaged.map(({ key }) => key) };
}

it('reads an object of the ledger that has a column more', async () => {
  const { lines, damaged } = await openChanged(`'a word' AS note, *`);
  expect({ lines, damaged }).toEqual({ lines: [{ metric: 'spend', value: 3 }], damaged: [] });
});

it('names an object of the ledger as damaged if it lacks a column', async () => {
  expect(await openChanged('* EXCLUDE (execution)')).toEqual({ lines: [], damaged: [KEY] });
});

it('names an object of the ledger as damaged if a column has another type', async () => {
  const { damaged } = await openChanged('* REPLACE (value::DOUBLE AS value)');
  expect(damaged).toEqual([KEY]);
});
