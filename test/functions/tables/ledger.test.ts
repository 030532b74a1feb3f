import { afterAll, describe, expect, it } from 'vitest';
import type { ObjectStore } from '../../../functions/aws/objects.ts';
import { type Report, startTables } from './curations.ts';

const tables = await startTables();
afterAll(() => tables.close());

/** The rows of an account's ledger, as texts. */
async function linesOf(account: string) {
  const select = 'SELECT date, report_id, metric, value, kind';
  const rows = await tables.rowsOf(select, `ledger/${account}.*.parquet`);
  return rows.map(
    ({ date, report_id, metric, value, kind }) =>
      `${date} ${report_id} ${metric} ${value && Number(value)} ${kind}`,
  );
}

async function log(...reports: readonly Partial<Report>[]) {
  const delivered = await tables.deliver(...reports);
  return { ...delivered, lines: await linesOf(delivered.account) };
}

const DAY = { '2026-10-31': [1, 2] };
const EMPTY = { start_date: '2026-10-31', length: 1 };

describe('the ledger', () => {
  it('has a row for each day and metric of a report, in the months of the days', async () => {
    const { account, lines } = await log({ spends: DAY, length: 2 });
    expect(lines).toEqual([
      '2026-10-31 r1 rows 2 report',
      '2026-10-31 r1 spend 3 report',
      '2026-11-01 r1 rows 0 report',
      '2026-11-01 r1 spend 0 report',
    ]);
    expect(await tables.rowsOf('SELECT *', `ledger/${account}.daily.2026-11.parquet`)).toMatchObject([
      {
        account,
        export: 'daily',
        table_name: 'daily',
        start_date: '2026-10-31',
        end_date: '2026-11-02',
        date: '2026-11-01',
        report_id: 'r1',
        report_created_at: '2026-11-01 00:00:00',
        copied_at: '2026-11-21 06:00:00',
        metric: 'rows',
        value: '0.0000000000',
        kind: 'report',
      },
      { metric: 'spend' },
    ]);
  });

  it('has no value of a metric that is null in all rows of a day, and 0 of a day without rows', async () => {
    const rows = [
      { date: '2026-10-31', campaign_id: 'a', spend: 5 },
      { date: '2026-11-01', campaign_id: 'a', spend: null },
    ];
    const body = (spend: number | null) => JSON.stringify([{ ...rows[0], spend }, rows[1]]);
    const days = { spends: DAY, length: 3 };
    const { account, lines } = await log({ ...days, body: body(5) }, { ...days, body: body(null) });
    expect(lines.filter((line) => line.includes('spend'))).toEqual([
      '2026-10-31 r1 spend 5 report',
      '2026-10-31 r2 spend null report',
      '2026-11-01 r1 spend null report',
      '2026-11-01 r2 spend null report',
      '2026-11-02 r1 spend 0 report',
      '2026-11-02 r2 spend 0 report',
    ]);
    expect(await tables.shownDays('daily', account)).toMatchObject({
      '2026-10-31': { restated: true },
      '2026-11-01': { restated: false },
    });
  });

  it('has what each report said, in whatever order they come', async () => {
    const older = { id: 'r0', created_at: '2026-10-31T00:00:00.000Z', spends: DAY };
    const { lines } = await log({ spends: DAY }, { spends: {}, ...EMPTY }, older);
    expect(lines.filter((line) => line.includes('rows'))).toEqual([
      '2026-10-31 r0 rows 2 report',
      '2026-10-31 r1 rows 2 report',
      '2026-10-31 r2 rows 0 report',
    ]);
  });

  it('only grows: an accept is a fact of its own, with its time', async () => {
    const again = { id: 'r2', created_at: '2026-11-02T00:00:00.000Z', ...EMPTY, spends: {} };
    const first = { id: 'r1', created_at: '2026-11-01T00:00:00.000Z', spends: DAY };
    const accepted = { ...again, accept_empty: true, copied_at: '2026-11-30T00:00:00.000Z' };
    const { account, lines } = await log(first, again, accepted, first);
    expect(lines.filter((line) => line.includes('rows'))).toEqual([
      '2026-10-31 r1 rows 2 report',
      '2026-10-31 r2 rows 0 accepted',
      '2026-10-31 r2 rows 0 report',
    ]);
    const times = await tables.rowsOf(
      'SELECT DISTINCT kind, copied_at::VARCHAR AS at',
      `ledger/${account}.*.parquet`,
    );
    expect(times).toContainEqual({ kind: 'accepted', at: '2026-11-30 00:00:00' });
  });

  it('has both reports if the platform gives them the same id', async () => {
    const { lines, last } = await log({ spends: DAY }, { id: 'r1', spends: { '2026-10-31': [5, 2] } });
    expect(lines).toEqual([
      '2026-10-31 r1 rows 2 report',
      '2026-10-31 r1 spend 3 report',
      '2026-10-31 r1 rows 2 report',
      '2026-10-31 r1 spend 7 report',
    ]);
    expect(last?.curated.table).toMatchObject({ restated: 1 });
  });

  it('has no row of a report whose rows have no days', async () => {
    expect((await log({ body: '[{"spend":1},{"spend":2}]', schema: undefined })).lines).toEqual([]);
  });

  it('27: costs only itself if S3 refuses it, and the warning names the permission', async () => {
    const key = 'ledger/refused.daily.2026-10.parquet';
    tables.s3.faults.push({ operation: 'PutObject', key, answer: 'AccessDenied' });
    const report = { id: 'r1', created_at: '2026-11-01T00:00:00.000Z', spends: DAY, account: 'refused' };
    const { curated, warnings } = await tables.curate(report);
    expect(curated).toMatchObject({ table: { days: 1 } });
    expect(curated.table_problem).toBeUndefined();
    expect(warnings).toEqual([expect.stringMatching(/^the ledger is not written: .*s3:PutObject/)]);
  });

  it.each<[string, Partial<Report>, readonly string[]]>([
    ['the same report again', { id: 'r1', spends: DAY }, ['2026-10-31 r1 spend 3 report']],
    [
      'a newer report',
      { id: 'r2', spends: { '2026-10-31': [5] } },
      ['2026-10-31 r1 spend 3 report', '2026-10-31 r2 spend 5 report'],
    ],
    [
      'a newer report of other days of the month',
      { id: 'r2', spends: { '2026-10-30': [5] } },
      ['2026-10-30 r2 spend 5 report', '2026-10-31 r1 spend 3 report'],
    ],
  ])('51: gets the lines of a run that died between a month and the ledger, with %s', async (_, next, lines) => {
    const account = `dead-${next.id}-${Object.keys(next.spends ?? {})}`;
    const dead = { ...tables.store, putFile: failLedger };
    const first = { id: 'r1', created_at: '2026-11-01T00:00:00.000Z', spends: DAY, account };
    await tables.curate({ ...first, id: 'r0', created_at: '2026-10-31T12:00:00.000Z', hash: 'other' });
    await expect(tables.curate(first, dead)).rejects.toThrow('killed');
    const created_at = next.id === 'r1' ? first.created_at : '2026-11-02T00:00:00.000Z';
    await tables.curate({ ...first, ...next, created_at });
    const ofSpend = (await linesOf(account)).filter((line) => line.includes('spend'));
    expect(ofSpend.toSorted()).toEqual([...lines, '2026-10-31 r0 spend 3 report'].toSorted());
  });
});

const failLedger: ObjectStore['putFile'] = async (key, path, replaces) => {
  if (key.includes('ledger/')) throw new Error('killed');
  return tables.store.putFile(key, path, replaces);
};
