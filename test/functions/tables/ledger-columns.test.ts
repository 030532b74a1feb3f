import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { closeMonth } from '../../../functions/tables/close-month.ts';
import { isLedger } from '../../../functions/tables/ledger.ts';
import { LEDGER, LEDGER_COLUMNS, type LedgerColumn } from '../../../functions/workflow/table.ts';
import { ledgerRows, writeParquet } from '../../support/ledger-rows.ts';
import { BUCKET } from '../../support/s3.ts';
import { startTables } from './curations.ts';

const tables = await startTables();
afterAll(() => tables.close());

const LATER: LedgerColumn = { name: 'later', type: 'string', optional: true };

/** DuckDB's types of the ledger's columns, changed. */
function typesWith(changes: Readonly<Record<string, string | undefined>>) {
  const types = LEDGER_COLUMNS.map(({ name, type }) => {
    return [name, type === 'string' ? 'VARCHAR' : type.toUpperCase()] as const;
  });
  const changed = Object.entries({ ...Object.fromEntries(types), ...changes });
  return new Map(changed.flatMap(([name, type]) => (type === undefined ? [] : [[name, type] as const])));
}

describe('an object of the ledger', () => {
  it.each<[string, Readonly<Record<string, string | undefined>>, boolean]>([
    ['has the columns of the ledger', {}, true],
    ['may have a column that the ledger does not have', { note: 'VARCHAR' }, true],
    ['may lack a column that was added later', { later: undefined }, true],
    ['may have a column that was added later', { later: 'VARCHAR' }, true],
    ['is damaged if it lacks a column that is needed', { metric: undefined }, false],
    ['is damaged if a column has another type', { value: 'DOUBLE' }, false],
    ['is damaged if a column that was added later has another type', { later: 'BIGINT' }, false],
  ])('%s', (_, changes, isWhole) => {
    expect(isLedger(typesWith(changes), [...LEDGER_COLUMNS, LATER])).toBe(isWhole);
  });

  it('may have its columns in another order', () => {
    expect(isLedger(new Map([...typesWith({})].toReversed()))).toBe(true);
  });
});

const FACT = {
  date: '2026-10-31',
  report_id: 'r1',
  at: '2026-11-01 00:00:00',
  values: { rows: 1, spend: 3 },
};

/** Writes the ledger of October, with other columns. @param select its columns */
async function writeLedger(account: string, select: string) {
  const rows = ledgerRows(account, 'daily', 'daily', [FACT]);
  const path = join(tables.s3.directory, BUCKET, `tables/ledger/${account}.daily.2026-10.parquet`);
  await writeParquet(path, `SELECT ${select} FROM (${rows})`);
}

function linesOf(account: string, kind = '') {
  return tables.rowsOf(
    'SELECT report_id, metric, value::INTEGER AS value, note',
    `ledger/${account}.daily.2026-10${kind}.parquet`,
  );
}

describe('a month of the ledger that has a column more', () => {
  const report = { id: 'r2', created_at: '2026-11-02T00:00:00.000Z', spends: { '2026-10-31': [5] } };

  it('keeps the column when a report adds lines, which have NULL there', async () => {
    await writeLedger('more', `'kept' AS note, *`);
    expect(await tables.curate({ ...report, account: 'more' })).toMatchObject({ warnings: [] });
    expect(await linesOf('more')).toEqual([
      { report_id: 'r1', metric: 'rows', value: 1, note: 'kept' },
      { report_id: 'r1', metric: 'spend', value: 3, note: 'kept' },
      { report_id: 'r2', metric: 'rows', value: 1, note: null },
      { report_id: 'r2', metric: 'spend', value: 5, note: null },
    ]);
  });

  it('is closed with the column, also if an earlier close lacks it', async () => {
    await writeLedger('closed', '*');
    await close('closed', { again: false });
    await writeLedger('closed', `'kept' AS note, *`);
    await close('closed', { again: true });
    expect(await linesOf('closed', '.closed')).toEqual([
      { report_id: 'r1', metric: 'rows', value: 1, note: null },
      { report_id: 'r1', metric: 'rows', value: 1, note: 'kept' },
      { report_id: 'r1', metric: 'spend', value: 3, note: null },
      { report_id: 'r1', metric: 'spend', value: 3, note: 'kept' },
    ]);
  });
});

describe('a month of the ledger that lacks a column', () => {
  it('is named as damaged by a report, which is written into the table', async () => {
    await writeLedger('fewer', '* EXCLUDE (execution)');
    const spends = { '2026-10-31': [5] };
    const report = { id: 'r2', created_at: '2026-11-02T00:00:00.000Z', spends, account: 'fewer' };
    expect(await tables.curate(report)).toMatchObject({
      curated: { table: { days: 1 } },
      warnings: [expect.stringContaining('tables/ledger/fewer.daily.2026-10.parquet is damaged')],
    });
  });

  it('is not closed', async () => {
    await writeLedger('unclosed', '* EXCLUDE (execution)');
    const damaged = 'tables/ledger/unclosed.daily.2026-10.parquet is damaged';
    await expect(close('unclosed', { again: false })).rejects.toThrow(damaged);
  });
});

function close(account: string, { again }: { readonly again: boolean }) {
  const shownReports = `SELECT table_name, account, date, report_id, report_created_at FROM ${LEDGER}`;
  const closedAt = new Date(again ? '2026-11-06T00:00:00Z' : '2026-11-05T00:00:00Z');
  return closeMonth(
    tables.store,
    { account, name: 'daily' },
    { month: '2026-10', shownReports, closedAt, again },
  );
}
