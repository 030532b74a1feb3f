import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ExportRequest } from '../../../functions/workflow/request/request.ts';
import { catalogName, DATE_COLUMN, TABLES_PREFIX, tableOf } from '../../../functions/workflow/table.ts';

/** Where a local run left its objects. */
interface LocalFolder {
  readonly out: string;
  readonly bucket: string;
}

/** The command that queries the table which a local run has written; undefined if there is none. */
export function firstQuery(request: ExportRequest, { out, bucket }: LocalFolder): string | undefined {
  const table = tableOf(request);
  if (table === undefined || !existsSync(join(out, bucket, TABLES_PREFIX, table))) return undefined;
  const folder = out === 'out' ? '' : `--out ${shellQuote(out)} `;
  return `npm run export -- query ${folder}"${selectFrom(quoteName(catalogName(table)), request)}"`;
}

/** The first metric per day and dimension, by a name rather than an id. */
function selectFrom(table: string, request: ExportRequest): string {
  if (request.kind !== 'report') return `SELECT * FROM ${table} LIMIT 10`;
  const { dimensions = [], metrics } = request;
  const others = dimensions.filter((name) => name.toLowerCase() !== DATE_COLUMN);
  const dimension = others.find((name) => /name$/i.test(name)) ?? others[0];
  const columns = [DATE_COLUMN, ...(dimension === undefined ? [] : [quoteName(dimension)])].join(', ');
  const sums = metrics.slice(0, 1).map((name) => `, sum(${quoteName(name)}) AS ${quoteName(name)}`);
  return `SELECT ${columns}${sums} FROM ${table} GROUP BY ALL ORDER BY ALL`;
}

/** A plain name needs no quotes. Within the shell's double quotes, those of SQL are escaped. */
function quoteName(name: string): string {
  const lower = name.toLowerCase();
  return /^[a-z_][a-z0-9_]*$/.test(lower) ? lower : `\\"${lower.replace(/["\\$`]/g, '')}\\"`;
}

function shellQuote(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
