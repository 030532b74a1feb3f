import { open } from 'node:fs/promises';
import type { ObjectEnd } from '../aws/objects.ts';
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

/** The end of a Parquet file: its footer, the length of the footer in four bytes, and four more. */
const TAIL_BYTES = 8;

/** Bytes at the end of a Parquet file that hold its footer. @param bytes the last eight or more */
export function footerLength({ bytes }: ObjectEnd): number {
  return bytes.readUInt32LE(bytes.length - TAIL_BYTES) + TAIL_BYTES;
}

/**
 * Reads the key-value metadata of a Parquet file of which only the end is here. DuckDB reads no more than the footer, so the rest of
 * the file may be a hole.
 *
 * @param path of a new file @param end at least the footer
 * @throws CurateLimit
 */
export async function readMetadata(
  database: Database,
  path: string,
  { bytes, size }: ObjectEnd,
): Promise<Record<string, string>> {
  const file = await open(path, 'w');
  await file.write(bytes, 0, bytes.length, size - bytes.length).finally(() => file.close());
  const rows = await database.query(
    `SELECT decode(key) AS key, decode(value) AS value FROM parquet_kv_metadata(${literal(path)})`,
  );
  return Object.fromEntries(rows.map(({ key, value }) => [String(key), String(value)]));
}
