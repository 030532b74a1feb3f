import { join } from 'node:path';
import type { ObjectStore } from '../aws/objects.ts';
import { ExportError, ServiceUnavailable } from '../workflow/errors.ts';
import type { ExportRequest } from '../workflow/request/request.ts';
import type { StoredObject } from '../workflow/state-parts.ts';
import { type Column, DATE_COLUMN, reportColumns } from '../workflow/table.ts';
import { CurateLimit, type ReportFile } from './report.ts';
import { spool } from './spool.ts';

interface Reading {
  readonly store: Pick<ObjectStore, 'open'>;
  readonly folder: string;
  readonly signal: AbortSignal;
  /** Of the table, if there is one. */
  readonly dateColumn: string | undefined;
}

/**
 * Reads the object that was copied into a file. Another run of the window may have replaced it since: then its rows would
 * get the label of the wrong report.
 *
 * @returns undefined if the object has other bytes now
 * @throws CurateLimit, AccessRefused, ServiceUnavailable
 */
export async function readCopy(
  { key, version_id, crc32, bytes, content_type, content_encoding }: StoredObject,
  request: ExportRequest,
  { store, folder, signal, dateColumn = DATE_COLUMN }: Reading,
): Promise<ReportFile | undefined> {
  // A list has one item per line, as its content type says.
  const format = request.kind === 'report' ? request.format : 'JSON';
  const date: Column = { name: dateColumn, type: 'string' };
  const columns = request.kind === 'report' ? [date, ...reportColumns(request)] : undefined;
  try {
    const body = await store.open(key, version_id, signal);
    if (body === undefined) return undefined;
    const kind = { format, content_type, content_encoding, columns };
    const spooled = await spool(body, join(folder, 'copy'), kind);
    return spooled.crc32 === crc32 && spooled.bytes === bytes ? spooled.file : undefined;
  } catch (error) {
    if (signal.aborted) throw new CurateLimit('time', { cause: error });
    if (error instanceof ExportError || error instanceof CurateLimit) throw error;
    throw new ServiceUnavailable(`Reading ${key} broke off.`, { key });
  }
}
