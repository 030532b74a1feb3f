import type { Catalog } from '../aws/catalog.ts';
import { AccessRefused, readMessage } from '../workflow/errors.ts';
import type { ExportRequest } from '../workflow/request/request.ts';
import { type TableSchema, tableOf } from '../workflow/table.ts';
import { ObjectMismatch } from './merge.ts';
import { CurateLimit } from './report.ts';
import { UnreadableRows } from './source.ts';

/** The table of an export, or the reason why nothing may be written. An export without a table has neither. */
export interface FoundTable {
  readonly schema?: TableSchema;
  /** Expected of a request that nobody configured. */
  readonly warning?: string;
  /** A person has to act: raises an alarm. */
  readonly problem?: string;
}

/**
 * Only the configured request may write: another one of the same name, such as one for fewer advertisers, would erase rows.
 *
 * @param hash of the request, from `requestHash`
 * @throws ServiceUnavailable
 */
export async function findTable(
  request: ExportRequest,
  { catalog, hash }: { readonly catalog: Catalog | undefined; readonly hash: string },
): Promise<FoundTable> {
  const table = tableOf(request);
  if (catalog === undefined || table === undefined) return {};
  try {
    const schema = await catalog.getTable(table);
    if (!schema) return { warning: notWritten(table, 'the deployed config has no such table') };
    if (schema.requests[request.account] === hash) return { schema };
    const reason = `the request differs from the one that account ${request.account} has in the deployed config`;
    return { warning: notWritten(table, reason) };
  } catch (error) {
    // A refusal by Glue or Lake Formation concerns the table only.
    if (isFinal(error)) return { problem: notWritten(table, reasonOf(error)) };
    throw error;
  }
}

/** A person has to act: another try would end the same. */
export type FinalError = AccessRefused | CurateLimit | ObjectMismatch | UnreadableRows;

export function isFinal(error: unknown): error is FinalError {
  return [AccessRefused, CurateLimit, ObjectMismatch, UnreadableRows].some((Class) => error instanceof Class);
}

/** By what ran out: the limit to raise. */
const LIMITS: Readonly<Record<CurateLimit['which'], string>> = {
  storage:
    "the file or the table's month needs more than CurateReport's ephemeral storage; raise max_curate_bytes, which sets its size, or export shorter ranges",
  memory:
    "the file needs more than CurateReport's memory; raise it in infra/config/cost.ts, or export shorter ranges",
  time: "the file takes longer than CurateReport's timeout; raise its memory in infra/config/cost.ts, which brings CPU, or export shorter ranges",
};

/** Without a full stop, because a warning goes on after it. */
export function reasonOf(error: FinalError): string {
  if (error instanceof CurateLimit) return LIMITS[error.which];
  return readMessage(error.message).happened.replace(/\.$/, '');
}

/** The section says which values of the config to change, and how to write the table then. */
const NEXT = 'see TableProblems in infra/RUNBOOK.md';

export function notWritten(table: string, reason: string): string {
  return `table ${table} is not written: ${reason}; ${NEXT}`;
}

/** @param days those that are not written. The others are. */
export function partlyWritten(table: string, days: readonly string[], of: number, reason: string): string {
  return `${days.length} of ${of} days of table ${table} are not written, the first is ${days[0]}: ${reason}; ${NEXT}`;
}
