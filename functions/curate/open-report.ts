import { join } from 'node:path';
import { type Database, identifier, literal, openDatabase } from './database.ts';
import { readFacts } from './facts.ts';
import { matchColumns, nameKey, wantedColumns } from './match.ts';
import { writeParquet } from './parquet.ts';
import type { OpenReport, ReportFile, ReportOptions } from './report.ts';
import { openSource } from './source.ts';
import { stageRows } from './stage.ts';

/**
 * Reads a report: its facts, and its rows for {@link OpenReport.writeDay}.
 *
 * @throws DownloadRefused if the file is not a report of this window, CurateLimit
 */
export async function openReport(file: ReportFile, options: ReportOptions): Promise<OpenReport> {
  const database = await openDatabase(options.folder, options.signal);
  try {
    return await readReport(database, file, options);
  } catch (error) {
    database[Symbol.dispose]();
    throw error;
  }
}

async function readReport(database: Database, file: ReportFile, options: ReportOptions): Promise<OpenReport> {
  const known = new Set(wantedColumns(options).map(({ name }) => nameKey(name)));
  const source = await openSource(database, file, (name) => known.has(nameKey(name)));
  const match = matchColumns(source, options);
  const stage = join(options.folder, 'rows.parquet');
  await stageRows(database, stage, { source, match, isDated: options.schema !== undefined });
  const facts = await readFacts(database, { file, match, stage }, options);
  const columns = match.columns.map(({ name }, index) => `c${index} AS ${identifier(name)}`);
  return {
    facts,
    async writeDay(day, metadata) {
      const path = join(options.folder, 'day.parquet');
      const query = `SELECT ${columns} FROM ${literal(stage)} WHERE day = ${literal(day)}`;
      await writeParquet(database, path, query, metadata);
      return path;
    },
    async [Symbol.asyncDispose]() {
      database[Symbol.dispose]();
    },
  };
}
