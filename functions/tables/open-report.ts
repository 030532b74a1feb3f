import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Database, identifier, literal, openDatabase } from './database.ts';
import { readFacts } from './facts.ts';
import { type Match, matchColumns, shorten } from './match.ts';
import { readMetadata, writeParquet } from './parquet.ts';
import type { OpenReport, ReportFile, ReportOptions } from './report.ts';
import { openLines, openSource } from './source.ts';
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
  return {
    facts,
    async writeDay(day, metadata) {
      const path = join(options.folder, 'day.parquet');
      // In the order of the report: sorting takes two CPU s per GB, and makes files larger unless the order was random.
      const query = `SELECT ${columns} FROM ${literal(stage)} WHERE day = ${literal(day)}`;
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
  const isDated = options.schema !== undefined;
  for (let more: string[] = []; ; ) {
    const source = await openSource(database, file, more);
    const match = matchColumns(source, options);
    try {
      more = await stageRows(database, stage, { source, match, isDated });
      if (more.length === 0) return match;
    } catch (error) {
      if (!hasMoreFields(error)) throw error;
      const lines = openLines(
        file,
        `rows of the CSV file have more fields than its first line: ${shorten(file.header ?? '')}`,
      );
      const none = matchColumns(lines, options);
      await stageRows(database, stage, { source: lines, match: none, isDated });
      return none;
    }
  }
}

/** A row with fewer fields may be cut off, so its file is no report. */
function hasMoreFields(error: unknown): boolean {
  const [, expected, found] = /Expected Number of Columns: (\d+) Found: (\d+)/.exec(String(error)) ?? [];
  return Number(found) > Number(expected);
}
