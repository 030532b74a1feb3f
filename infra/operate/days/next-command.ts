import type { ExportId } from '../../../functions/workflow/keys.ts';
import type { DateRange } from '../../../functions/workflow/request/dates.ts';
import type { ExportRequest } from '../../../functions/workflow/request/request.ts';
import { PROGRAM } from '../../package.ts';
import type { Folder } from '../place/bucket.ts';
import { targetOptions } from '../place/deployment.ts';
import { configOption } from '../place/load-config.ts';

/** Options by name, without dashes. True has no value; false and undefined are left out. */
type Options = Readonly<Record<string, string | boolean | undefined>>;

/**
 * A command to paste into a POSIX shell. It works on the same stack or folder as this one.
 *
 * @param words the command and its arguments
 */
export function commandFor(
  words: readonly string[],
  options: Options = {},
  { local, out = 'out' }: Partial<Folder> = {},
): string {
  const place = local ? { local, out: out !== 'out' && out } : targetOptions();
  const flags = Object.entries({ ...options, ...place, ...configOption() }).flatMap(([name, value]) =>
    value === undefined || value === false ? [] : [`--${name}`, ...(value === true ? [] : [value])],
  );
  return commandLine([...words, ...flags]);
}

/**
 * The command that exports days, or a list as it is now.
 *
 * @param onlyMissing leaves out days that are there
 */
export function exportDaysCommand(
  { account, name, kind }: ExportId & { readonly kind?: ExportRequest['kind'] },
  { start_date: from, end_date: to }: DateRange,
  folder: Partial<Folder>,
  onlyMissing: boolean,
): string {
  const days = kind === 'list' ? {} : { from, to, 'only-missing': onlyMissing };
  return commandFor(['run', name], { account, ...days }, folder);
}

/** The command that adds days to the table. @param acceptEmpty also days that the table holds */
export function rebuildCommand(
  { account, name }: ExportId,
  { start_date: from, end_date: to }: DateRange,
  folder: Folder,
  acceptEmpty: boolean,
): string {
  return commandFor(['rebuild', name], { account, from, to, 'accept-empty': acceptEmpty }, folder);
}

/** @param args the words and options of a command */
export function commandLine(args: readonly string[]): string {
  return [PROGRAM, ...args.map(quoteArgument)].join(' ');
}

/** Quotes an argument for a POSIX shell, if it needs quotes. */
export function quoteArgument(arg: string): string {
  return /^[\w@%+=:,./-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`;
}
