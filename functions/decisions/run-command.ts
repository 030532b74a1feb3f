import type { ExportId } from '../workflow/keys.ts';
import type { DateRange } from '../workflow/request/dates.ts';

/**
 * The command that exports a configured export.
 *
 * @param program the setting PROGRAM
 * @param range default: the days of its first run
 */
export function runCommand(program: string, { account, name }: ExportId, range?: DateRange): string {
  const days = range ? ` --from ${range.start_date} --to ${range.end_date}` : '';
  return `${program} run ${name} --account ${account}${days}`;
}
