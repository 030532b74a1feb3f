import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { identifier } from '../../../../functions/tables/sql.ts';
import type { ExportRequest } from '../../../../functions/workflow/request/request.ts';
import { catalogName, TABLES_PREFIX, tableOf } from '../../../../functions/workflow/table.ts';
import { PROGRAM } from '../../../package.ts';
import { findLocalRuns } from '../../days/local-runs.ts';
import { commandFor, commandLine, exportDaysCommand, quoteArgument } from '../../days/next-command.ts';

/** The command that exports the days of a request that are not there. */
export function exportMissing(request: ExportRequest, out: string): string {
  return exportDaysCommand(request, request, { local: true, out }, true);
}

/**
 * The command that finishes a run. A run that ended before PlanExport wrote it has nothing to finish, so its
 * command starts it again.
 */
export async function findFinish(execution: string, out: string, runsLeft: number): Promise<string> {
  const runs = await findLocalRuns(execution, out);
  if (runs.length === 0) return commandLine(withDaily(process.argv.slice(2), runsLeft));
  return commandFor(['resume', execution], {}, { local: true, out });
}

/**
 * Runs of earlier days are in the folder, which would refuse them again: only the days that are left are
 * named.
 */
export function withDaily(args: readonly string[], runsLeft: number): string[] {
  return args.map((arg, at) =>
    args[at - 1] === '--daily' ? String(runsLeft) : arg.replace(/^--daily=.*$/, `--daily=${runsLeft}`),
  );
}

/** The command that queries the table that a local run has written; undefined if there is none. */
export function firstQuery(
  request: ExportRequest,
  { out, bucket }: { readonly out: string; readonly bucket: string },
): string | undefined {
  const table = tableOf(request);
  if (table === undefined || !existsSync(join(out, bucket, TABLES_PREFIX, table))) return undefined;
  // A name that begins with a digit, or is a word of SQL, needs quotes.
  const sql = quoteArgument(`SELECT * FROM ${identifier(catalogName(table))} LIMIT 10`);
  return `${PROGRAM} query --local ${out === 'out' ? '' : `--out ${quoteArgument(out)} `}${sql}`;
}
