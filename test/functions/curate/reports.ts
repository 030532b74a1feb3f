import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { DuckDBInstance } from '@duckdb/node-api';
import { openReport } from '../../../functions/curate/open-report.ts';
import type { OpenReport, ReportOptions } from '../../../functions/curate/report.ts';
import { spool } from '../../../functions/curate/spool.ts';
import type { Column, TableSchema } from '../../../functions/workflow/table.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

export const WINDOW = { start_date: '2026-10-01', end_date: '2026-10-04' };

export const SCHEMA: Pick<TableSchema, 'columns' | 'date_column'> = {
  date_column: 'date',
  columns: [
    { name: 'campaign_id', type: 'string' },
    { name: 'spend', type: 'decimal(18,6)' },
    { name: 'impressions', type: 'bigint' },
  ],
};

/** A report of three rows that fits SCHEMA. */
export const CSV = `date,campaign_id,spend,impressions
2026-10-01,b,0.1,3
2026-10-01,a,0.2,4
2026-10-03,a,12.345678,5
`;

export interface Given extends Partial<ReportOptions> {
  readonly format?: string;
  readonly content_type?: string;
  readonly content_encoding?: string;
}

/** A column of SCHEMA with other settings. */
export function withColumn(column: Column): Pick<TableSchema, 'columns' | 'date_column'> {
  return { ...SCHEMA, columns: SCHEMA.columns.map((other) => (other.name === column.name ? column : other)) };
}

/** Opens a report with the table SCHEMA. */
export async function open(body: string | Buffer, given: Given = {}): Promise<OpenReport> {
  const folder = join(temporaryDirectory(), 'scratch');
  mkdirSync(folder);
  const { format = 'JSON', content_type = 'application/json', content_encoding, ...options } = given;
  const columns: Column[] = [{ name: 'date', type: 'string' }, ...(given.columns ?? SCHEMA.columns)];
  const kind = { format, content_type, columns, ...(content_encoding !== undefined && { content_encoding }) };
  const { file } = await spool(Readable.from([Buffer.from(body)]), join(folder, 'report'), kind);
  return openReport(file, {
    window: WINDOW,
    schema: SCHEMA,
    columns: SCHEMA.columns,
    folder,
    signal: new AbortController().signal,
    ...options,
  });
}

/** The facts of a report. */
export async function facts(body: string | Buffer, given: Given = {}) {
  await using report = await open(body, given);
  return report.facts;
}

/** Queries DuckDB. */
export async function query(sql: string) {
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  try {
    return (await connection.runAndReadAll(sql)).getRowObjectsJson();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
