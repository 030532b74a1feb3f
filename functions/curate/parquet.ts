import { type Database, identifier, literal } from './database.ts';

/** Writes the rows of a query into a Parquet file. @throws CurateLimit */
export async function writeParquet(
  database: Database,
  path: string,
  query: string,
  metadata: Readonly<Record<string, string>>,
): Promise<void> {
  const entries = Object.entries(metadata).map(([key, value]) => `${identifier(key)}: ${literal(value)}`);
  const options = [
    'FORMAT parquet',
    'COMPRESSION zstd',
    ...(entries.length > 0 ? [`KV_METADATA {${entries}}`] : []),
  ];
  await database.query(`COPY (${query}) TO ${literal(path)} (${options})`);
}
