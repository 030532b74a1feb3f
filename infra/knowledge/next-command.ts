import type { DateRange } from '../../functions/workflow/request/dates.ts';
import type { Folder } from './bucket.ts';
import { targetOptions } from './deployment.ts';
import { PLATFORM_FLAGS, type PlatformOptions } from './platform.ts';

/** The command that exports what a deployed execution did not deliver. */
export function resumeCommand(execution: string): string {
  return commandLine(['resume', execution, ...targetOptions()]);
}

/** The command that shows how a deployed execution is doing, or why it failed. */
export function explainCommand(execution: string): string {
  return commandLine(['explain', execution, ...targetOptions()]);
}

/** The command that logs in to an account of the platform, or of a credential file on this machine. */
export function loginCommand(account: string, local?: PlatformOptions): string {
  const place =
    local === undefined ? targetOptions() : ['--local', ...platformOptions(local, ['baseUrl', 'credential'])];
  return commandLine(['login', '--account', account, ...place]);
}

/** The command that stores the credential of a deployed account. */
export function secretCommand(account: string): string {
  return `${commandLine(['secret', 'set', account, ...targetOptions()])} < credential.json`;
}

/** An export as a command names it. */
export interface NamedExport {
  readonly name: string;
  /** If several accounts have an export of this name. */
  readonly account?: string | undefined;
  /** Its request is that of a local run, and not in cdk.json. */
  readonly again?: boolean;
}

/**
 * The command that exports days that are missing.
 *
 * @param only empty for days of which only the table tells: `--only-missing` does not look at tables
 */
export function exportDaysCommand(
  { name, account, again }: NamedExport,
  { start_date, end_date }: DateRange,
  folder: Partial<Folder>,
  only = [ONLY_MISSING],
): string {
  const range = ['--from', start_date, '--to', end_date, ...only];
  const place = folderOptions(folder);
  const what = again ? [...place, '--again', name] : [name, ...place];
  return commandLine(['run', ...what, ...accountOption(account), ...range]);
}

/** The command that exports from a platform that is not the configured one. */
export function exportFromCommand({ name, account }: NamedExport, platform: PlatformOptions): string {
  return commandLine(['run', name, ...accountOption(account), '--local', ...platformOptions(platform)]);
}

/** The command that shows which days are missing or held. */
export function missingCommand({ name, account }: NamedExport, folder: Partial<Folder>): string {
  return commandLine(['missing', name, ...accountOption(account), ...folderOptions(folder)]);
}

/** The command that shows all exports. */
export function statusCommand(folder: Partial<Folder>): string {
  return commandLine(['status', ...folderOptions(folder)]);
}

/** The command that prints a saved query. */
export function queryCommand(saved: string, folder: Folder): string {
  return commandLine(['query', '--saved', saved, ...folderOptions(folder)]);
}

/** The command that adds days to the table. @param acceptEmpty also days that the table holds */
export function rebuildCommand(
  { name, account }: NamedExport,
  { start_date, end_date }: DateRange,
  folder: Folder,
  acceptEmpty: boolean,
): string {
  const range = ['--from', start_date, '--to', end_date, ...(acceptEmpty ? ['--accept-empty'] : [])];
  return commandLine(['rebuild', name, ...accountOption(account), ...folderOptions(folder), ...range]);
}

function accountOption(account: string | undefined): string[] {
  return account === undefined ? [] : ['--account', account];
}

function folderOptions({ local, out }: Partial<Folder>): string[] {
  if (!local || out === undefined) return targetOptions();
  return ['--local', ...(out === 'out' ? [] : ['--out', out])];
}

function platformOptions(
  options: PlatformOptions,
  names = Object.keys(PLATFORM_FLAGS) as (keyof PlatformOptions)[],
): string[] {
  return names.flatMap((name) => (options[name] === undefined ? [] : [PLATFORM_FLAGS[name], options[name]]));
}

/** This process's own command line, for what is missing. */
export function repeatCommand(args = process.argv.slice(2)): string {
  return commandLine([...args.filter((arg) => arg !== ONLY_MISSING), ONLY_MISSING]);
}

const ONLY_MISSING = '--only-missing';

/** `npm start` is `run --local`. */
function commandLine(args: readonly string[]): string {
  const isStart = args[0] === 'run' && args[1] === '--local';
  const words = isStart
    ? ['npm start --', ...args.slice(2).map(quote)]
    : ['npm run export --', ...args.map(quote)];
  return words.join(' ');
}

/** Quotes an argument for a POSIX shell, if it needs quotes. */
export function quote(arg: string): string {
  return /^[\w@%+=:,./-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`;
}
