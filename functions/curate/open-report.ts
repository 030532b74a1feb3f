import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Database, identifier, literal, openDatabase } from './database.ts';
import { readFacts } from './facts.ts';
import { type Match, matchColumns, nameKey, wantedColumns } from './match.ts';
import { readMetadata, writeParquet } from './parquet.ts';
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
  const stage = join(options.folder, 'rows.parquet');
  const match = await stageAll(database, file, options, stage);
  const facts = await readFacts(database, { file, match, stage }, options);
  const columns = match.columns.map(({ name }, index) => `c${index} AS ${identifier(name)}`);
  // Sorted by all columns, so that the same rows give the same bytes whatever order they came in. The dimensions come first:
  // that keeps a campaign's rows together, which makes files smaller and queries of one campaign faster.
  return {
    facts,
    async writeDay(day, metadata) {
      const path = join(options.folder, 'day.parquet');
      const query = `SELECT ${columns} FROM ${literal(stage)} WHERE day = ${literal(day)} ORDER BY ALL`;
      await writeParquet(database, path, query, metadata);
      return path;
    },
    async readMetadata(end) {
      // DuckDB may remember what it read from a path.
      const path = join(options.folder, `${randomUUID()}.parquet`);
      return readMetadata(database, path, end).finally(() => rm(path, { force: true }));
    },
    async [Symbol.asyncDispose]() {
      database[Symbol.dispose]();
    },
  };
}

/** Reads the rows a second time only if the first ones do not have all names. */
async function stageAll(
  database: Database,
  file: ReportFile,
  options: ReportOptions,
  stage: string,
): Promise<Match> {
  const known = new Set(wantedColumns(options).map(({ name }) => nameKey(name)));
  const isDated = options.schema !== undefined;
  for (let more: string[] = []; ; ) {
    const source = await openSource(database, file, (name) => known.has(nameKey(name)), more);
    const match = matchColumns(source, options);
    more = await stageRows(database, stage, { source, match, isDated });
    if (more.length === 0) return match;
  }
}
