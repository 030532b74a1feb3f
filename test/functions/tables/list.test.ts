import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTables } from './curations.ts';

let tables: Awaited<ReturnType<typeof startTables>>;

beforeEach(async () => {
  tables = await startTables();
});
afterEach(() => tables.close());

const ITEMS = [
  { name: 'B', id: 2 },
  { id: 1, name: 'A', tags: ['x'], created_at: '2026-01-01' },
];

/** Delivers a snapshot of a day of November. */
function snapshot(day: string, items: readonly unknown[], accept_empty = false) {
  const copied_at = `2026-11-${day}T06:00:00.000Z`;
  return tables.curateList({ execution: `run-${day}`, copied_at, items, accept_empty });
}

const read = () => tables.rowsOf('SELECT *', 'campaigns/acme.parquet');
const ids = async () => (await read()).map(({ id }) => id);

describe('the table of a list', () => {
  it('has the items of the newest snapshot, sorted, each with its JSON', async () => {
    const { curated, warnings } = await snapshot('02', ITEMS);
    expect(curated.table).toEqual({ name: 'campaigns', days: 1, kept: 0, restated: 0, held: 0 });
    expect(warnings).toEqual([]);
    const snapshot_at = '2026-11-02 06:00:00';
    const common = { account: 'acme', snapshot_at };
    expect(await read()).toEqual([
      { ...common, id: '1', name: 'A', created_at: '2026-01-01', item: JSON.stringify(ITEMS[1]) },
      { ...common, id: '2', name: 'B', created_at: null, item: JSON.stringify(ITEMS[0]) },
    ]);
    await snapshot('03', ITEMS.slice(0, 1));
    expect(await ids()).toEqual(['2']);
  });

  it('takes items that are no objects', async () => {
    await snapshot('02', ['a', { id: 7 }, null, ['b'], 1.5]);
    expect((await read()).map(({ id, item }) => [id, item])).toEqual([
      ['7', '{"id":7}'],
      [null, '"a"'],
      [null, '1.5'],
      [null, '["b"]'],
      [null, 'null'],
    ]);
  });

  it('keeps a newer snapshot, and is not written again by the same one', async () => {
    await snapshot('03', ITEMS);
    await snapshot('03', ITEMS);
    expect((await snapshot('02', [])).curated.table).toMatchObject({ days: 0, kept: 1 });
    expect(await ids()).toEqual(['1', '2']);
    const puts = tables.s3.journal.filter(
      ({ method, key }) => method === 'PUT' && key.includes('campaigns/acme'),
    );
    expect(puts).toHaveLength(1);
  });

  it('47: keeps its items if the list is empty, until the request accepts it', async () => {
    await snapshot('02', ITEMS);
    const { curated, warnings } = await snapshot('05', []);
    expect(curated.table).toMatchObject({ held: 1, first_held: '2026-11-05' });
    expect(warnings).toEqual([
      'days that have no rows any more: 1; the table keeps the rows that it shows; see DaysHeld in infra/RUNBOOK.md',
    ]);
    expect(await ids()).toEqual(['1', '2']);
    expect(await tables.shownDays('campaigns')).toMatchObject({
      '2026-11-02': { held: { report_id: 'run-05' } },
    });
    expect((await snapshot('05', [], true)).curated.table).toMatchObject({ days: 1, held: 0 });
    expect(await ids()).toEqual([]);
  });

  it('has its snapshots in the ledger', async () => {
    await snapshot('02', ITEMS);
    await snapshot('05', []);
    expect(
      await tables.rowsOf(
        'SELECT date, report_id, metric, value::INTEGER AS value, kind',
        'ledger/acme.campaigns.2026-11.parquet',
      ),
    ).toEqual([
      { date: '2026-11-02', report_id: 'run-02', metric: 'rows', value: 2, kind: 'report' },
      { date: '2026-11-05', report_id: 'run-05', metric: 'rows', value: 0, kind: 'report' },
    ]);
  });
});
