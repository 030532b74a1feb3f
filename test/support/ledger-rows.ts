import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { literal } from '../../functions/tables/sql.ts';
import type { ShownDay } from '../../functions/workflow/shown-days.ts';
import { LEDGER_COLUMNS } from '../../functions/workflow/table.ts';

/** Runs with a DuckDB of its own. */
export async function withDuckDb<T>(run: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
  const database = await DuckDBInstance.create();
  const connection = await database.connect();
  try {
    return await run(connection);
  } finally {
    connection.closeSync();
    database.closeSync();
  }
}

/** Writes one Parquet file, as CurateReport does. @param metadata of the file */
export async function writeParquet(
  file: string,
  select: string,
  metadata: Readonly<Record<string, string>> = {},
): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const pairs = Object.entries(metadata).map(([key, value]) => `${key}: ${literal(value)}`);
  const options = pairs.length > 0 ? `, KV_METADATA {${pairs.join()}}` : '';
  await withDuckDb((connection) =>
    connection.run(`COPY (${select}) TO ${literal(file)} (FORMAT parquet${options})`),
  );
}

/** The facts of one report about one day. */
export interface DayFacts {
  readonly date: string;
  readonly report_id: string;
  /** The time of both the report and its file. */
  readonly at: string;
  /** When the file arrived, if that was later. */
  readonly copied_at?: string;
  readonly kind?: 'report' | 'accepted' | 'total' | 'closed';
  /** Default: h. */
  readonly request_hash?: string;
  /** Default: true. */
  readonly day_over?: boolean;
  /** By metric. */
  readonly values: Readonly<Record<string, number | null>>;
}

/** Selects rows of the ledger. */
export function ledgerRows(account: string, table_name: string, name: string, facts: readonly DayFacts[]) {
  const rows = facts.flatMap((fact) => {
    const { date, report_id, at, copied_at = at, kind = 'report', values } = fact;
    const { request_hash = 'h', day_over = true } = fact;
    return Object.entries(values).map(([metric, value]) => {
      const cells: Readonly<Record<string, string | number | boolean | null>> = {
        account,
        export: name,
        table_name,
        start_date: date,
        end_date: date,
        date,
        report_id,
        report_created_at: at,
        copied_at,
        metric,
        value,
        kind,
        request_hash,
        execution: 'e',
        day_over,
      };
      return `(${LEDGER_COLUMNS.map(({ name }) => cell(cells[name])).join()})`;
    });
  });
  const names = LEDGER_COLUMNS.map(({ name }) => `"${name}"`);
  const typed = LEDGER_COLUMNS.map(({ name, type }) => `CAST("${name}" AS ${type}) AS "${name}"`);
  return `SELECT ${typed.join()} FROM (VALUES ${rows.join()}) AS rows (${names.join()})`;
}

function cell(value: string | number | boolean | null | undefined): string {
  return typeof value === 'string' ? literal(value) : String(value ?? 'NULL');
}

/** The facts of the ledger about a day that a month lists. */
export const LEDGER_FACTS: ShownDay['ledger'] = {
  start_date: '2026-10-31',
  end_date: '2026-11-01',
  copied_at: '2026-11-01T00:00:00Z',
  execution: 'e',
  day_over: true,
  sums: {},
};

/** A day that a month lists. */
export function shownDay(changes: Partial<ShownDay> = {}): ShownDay {
  const report = { report_id: 'r', created_at: '2026-11-01T00:00:00Z', request_hash: 'h' };
  return { ...report, rows: 1, restated: false, ledger: LEDGER_FACTS, ...changes };
}
