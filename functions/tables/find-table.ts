import type { Catalog } from '../aws/catalog.ts';
import { AccessRefused, readMessage } from '../workflow/errors.ts';
import type { ExportRequest } from '../workflow/request/request.ts';
import { type TableSchema, tableOf } from '../workflow/table.ts';
import { TableProblem } from './report.ts';

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

/** True if another try would end the same, and the file can be delivered without its table. */
export function isFinal(error: unknown): error is AccessRefused | TableProblem {
  return error instanceof AccessRefused || error instanceof TableProblem;
}

/** Without a full stop, because a warning goes on after it. */
export function reasonOf(error: AccessRefused | TableProblem): string {
  return readMessage(error.message).happened.replace(/\.$/, '');
}

/** @param part the days that are not written, if others are */
export function notWritten(table: string, reason: string, part = ''): string {
  // The section says which values of the config to change, and how to write the table then.
  return `table ${table} is not written${part}: ${reason}; see TableProblems in infra/RUNBOOK.md`;
}
