import { join } from 'node:path';
import { LIST_COLUMNS } from '../workflow/table.ts';
import { identifier, openDatabase } from './database.ts';
import { writeParquet } from './parquet.ts';

import type { OpenList, ReportFile, ReportOptions } from './report.ts';
import { readJson, readRows, refused } from './source.ts';
import { EMPTY } from './text.ts';

/**
 * Reads a list: JSON items, one per line.
 *
 * @throws DownloadRefused if the file does not parse, CurateLimit
 */
export async function openList(
  file: ReportFile,
  { folder, signal }: Pick<ReportOptions, 'folder' | 'signal'>,
): Promise<OpenList> {
  if (file.fault !== undefined && file.fault !== EMPTY) throw refused(file.fault);
  const database = await openDatabase(folder, signal);
  const items = readJson(file, [], 'read_json_objects');
  try {
    const [counted] = await readRows(database, `SELECT count(*) AS rows FROM ${items}`);
    return {
      rows: Number(counted?.rows),
      async write(metadata) {
        const path = join(folder, 'list.parquet');
        // The text of the item, as it was written; the other columns are fields of its top level.
        const columns = LIST_COLUMNS.map(({ name }) =>
          name === 'item' ? 'json::VARCHAR AS item' : `json->>'$.${name}' AS ${identifier(name)}`,
        );
        await writeParquet(database, path, `SELECT ${columns} FROM ${items} ORDER BY ALL`, metadata);
        return path;
      },
      async [Symbol.asyncDispose]() {
        database[Symbol.dispose]();
      },
    };
  } catch (error) {
    database[Symbol.dispose]();
    throw error;
  }
}
