import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '../../../functions/tables/database.ts';
import { type ReportOptions, type StagedReport, TableProblem } from '../../../functions/tables/report.ts';
import { findRows } from '../../../functions/tables/report-file.ts';
import { fieldsOfRow, stageReport } from '../../../functions/tables/stage-report.ts';
import type { Column, TableSchema } from '../../../functions/workflow/table.ts';
import { withDuckDb } from '../../support/ledger-rows.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

export const WINDOW = { start_date: '2026-10-01', end_date: '2026-10-04' };

type Schema = Pick<TableSchema, 'columns' | 'date_column'>;

export const SCHEMA: Schema = {
  date_column: 'date',
  columns: [
    { name: 'campaign_id', type: 'string', from: 'campaign_id' },
    { name: 'spend', type: 'decimal(18,6)', from: 'spend' },
    { name: 'impressions', type: 'bigint', from: 'impressions' },
  ],
};

/** A report of three rows that fits SCHEMA. */
export const CSV = `date,campaign_id,spend,impressions
2026-10-01,b,0.1,3
2026-10-01,a,0.2,4
2026-10-03,a,12.345678,5
`;

type Kind = Omit<Parameters<typeof findRows>[1], 'signal'>;

export interface StageOptions extends Partial<ReportOptions & Kind> {
  readonly folder?: string;
}

/** SCHEMA with another column of this name. */
export function withColumn(column: Partial<Column>): Schema {
  const columns = SCHEMA.columns.map((standard) =>
    standard.name === column.name ? { ...standard, ...column } : standard,
  );
  return { ...SCHEMA, columns };
}

interface Staged {
  readonly facts: StagedReport;
  /** The Parquet file. */
  readonly path: string;
}

/** Stages a report with the table SCHEMA. @throws TableProblem if its rows cannot be found */
export async function stage(body: string | Buffer, options: StageOptions = {}): Promise<Staged> {
  const {
    folder = temporaryDirectory(),
    format = 'JSON',
    content_type = 'application/json',
    rows,
    ...others
  } = options;
  const { signal } = new AbortController();
  writeFileSync(join(folder, 'report'), body);
  const columns = options.schema?.columns ?? SCHEMA.columns;
  const fields = fieldsOfRow(columns, options.schema);
  const file = await findRows(join(folder, 'report'), { format, content_type, rows, fields, signal });
  using database = await openDatabase(folder, signal, columns.length);
  const path = join(folder, 'rows.parquet');
  const asked = { window: WINDOW, schema: SCHEMA, columns, granularity: 'DAY', ...others };
  return { facts: await stageReport(database, file, path, asked), path };
}

/** The facts of a report. */
export async function factsOf(
  body: string | Buffer,
  options: StageOptions = {},
): Promise<Partial<StagedReport>> {
  try {
    return (await stage(body, options)).facts;
  } catch (error) {
    if (!(error instanceof TableProblem)) throw error;
    return { table_problem: error.message, sums: {}, days: [] };
  }
}

/** The rows of a report that its table takes, by column. */
export async function rowsOf(body: string | Buffer, options: StageOptions = {}) {
  const { facts, path } = await stage(body, options);
  if (facts.table_problem !== undefined) throw new Error(facts.table_problem);
  const columns = ['date', ...(options.schema ?? SCHEMA).columns.map(({ name }) => `"${name}"`)];
  return query(`SELECT ${columns} FROM '${path}'`);
}

/** Queries DuckDB. */
export function query(sql: string) {
  return withDuckDb(async (connection) => (await connection.runAndReadAll(sql)).getRowObjectsJson());
}

export const ROWS = [
  { date: '2026-10-01', campaign_id: 'b', spend: 0.1, impressions: 3 },
  { date: '2026-10-01', campaign_id: 'a', spend: 0.2, impressions: 4 },
  { date: '2026-10-03', campaign_id: 'a', spend: 12.345678, impressions: 5 },
];
export const TEXT = JSON.stringify(ROWS);
export const LINES = ROWS.map((row) => JSON.stringify(row)).join('\n');
export const AS_CSV = { format: 'CSV' };

export const ROW = { date: '2026-10-01', campaign_id: 'a', spend: 1, impressions: 1 };

export function rowsWith(last: Readonly<Record<string, unknown>>): string {
  return JSON.stringify([ROW, { ...ROW, ...last }]);
}

/** Two rows; the second has this JSON as the value of a column. */
export function rowsWithJson(name: string, json: string): string {
  return rowsWith({ [name]: '$' }).replace('"$"', json);
}

/** Two rows of CSV. */
export function csvWith(last: string): string {
  return `date,campaign_id,spend,impressions\n2026-10-01,b,0.1,3\n${last}\n`;
}
