import { constants, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { checkUrl } from '../../../functions/platform/safe-hosts.ts';
import { DownloadRefused } from '../../../functions/workflow/errors.ts';
import { isCalendarDate } from '../../../functions/workflow/request/dates.ts';
import { PROGRAM } from '../../package.ts';
import { CONFIG_FILE } from '../../stack/config/read-config.ts';
import type { Folder } from '../place/bucket.ts';
import { UsageError } from '../place/errors.ts';
import { PLATFORM_FLAGS, type PlatformOptions } from '../place/target-platform.ts';
import { warn } from './layout.ts';

export interface CommonOptions extends Folder {
  readonly json?: true;
}

export const LOCAL_GROUP = 'With --local:';

/** Options that several commands have. */
export const option = {
  account: (why = 'the account, if several have an export of this name') =>
    new Option('--account <name>', why).conflicts('input'),
  json: () => new Option('--json', 'print one JSON document on stdout and everything else on stderr'),
  config: () =>
    new Option('--config <file>', `JSON, or a module that has it (default: ${basename(CONFIG_FILE)})`),
  stack: () => new Option('--stack <name>', "the deployed stack (default: the config's)").conflicts('local'),
  region: () =>
    new Option('--region <region>', "the stack's Region (default: the environment's)").conflicts('local'),
  baseUrl: (more = '') => localOption('--base-url <url>', `the platform's URL${more}`, parseUrl),
  credential: (more = '') =>
    localOption('--credential <file>', `a JSON file: {"client_id","client_secret"}${more}`),
  revision: () => localOption('--revision <date>', "the revision of the platform's API", parseDate),
  from: (more = ', instead of the dates or the period of the request') =>
    new Option('--from <date>', `the first day${more}`).argParser(parseDate),
  to: (instead = '') =>
    new Option('--to <date>', `the day after the last one${instead}`).argParser(parseDate),
  period: () =>
    new Option('--period <period>', 'such as last_14_days, instead of dates').conflicts(['from', 'to']),
  out: () => localOption('--out <dir>', 'the folder of the local runs').default('out'),
  // Above 1,000, a wait of 10 s is shorter than a timer's precision.
  speed: () => new Option('--speed <n>', 'n times faster').argParser(wholeNumber(1, 1_000)).default(1),
};

/** An option that {@link checkLocalOnly} refuses without --local. */
export function localOption(
  flags: string,
  description: string,
  parse: (text: string) => unknown = String,
): Option {
  return new Option(flags, description).helpGroup(LOCAL_GROUP).argParser(parse);
}

/** The examples at the end of a command's help. @param lines such as `list --json` */
export function examples(...lines: string[]): string {
  return ['', 'Examples:', ...lines.map((line) => `  ${PROGRAM} ${line}`)].join('\n');
}

export function parseDate(text: string): string {
  if (!isCalendarDate(text)) throw new InvalidArgumentError('It must be a date that exists, YYYY-MM-DD.');
  return text;
}

export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= min && number <= max) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

/** Refuses options that were given without the --local that they need. @throws UsageError */
export function checkLocalOnly(command: Command): void {
  if (command.opts().local) return;
  const isMisplaced = (option: Option) =>
    option.helpGroupHeading === LOCAL_GROUP && command.getOptionValueSource(option.attributeName()) === 'cli';
  const misplaced = command.options.filter(isMisplaced);
  if (misplaced.length > 0)
    throw new UsageError(misplaced.map(({ long }) => `${long} can only be used with --local`));
}

function parseUrl(text: string): string {
  try {
    const { search, hash } = checkUrl(text, { allowLoopback: true });
    if (search || hash) throw new InvalidArgumentError('It must have neither a query nor a fragment.');
    return text;
  } catch (error) {
    if (error instanceof DownloadRefused) throw new InvalidArgumentError(error.happened);
    throw error;
  }
}

/**
 * Names the options of a platform that are not there, and a credential that is a folder. Warns of one that
 * everybody may read.
 *
 * @param by the option that needs the required ones
 */
export async function platformFaults(
  options: PlatformOptions,
  by: string,
  required: readonly (keyof PlatformOptions)[],
): Promise<string[]> {
  const file = options.credential;
  const stats = file === undefined ? undefined : await stat(file).catch(() => undefined);
  if (stats?.isFile() && stats.mode & constants.S_IROTH)
    warn(`every user of this machine can read ${file}; change its mode to 600`);
  const missing = required.filter((name) => options[name] === undefined);
  return [
    ...missing.map((name) => `${by} needs ${PLATFORM_FLAGS[name]}`),
    ...(stats?.isDirectory() ? [`--credential ${file} is a folder`] : []),
  ];
}

/** @param text such as 2026-10 */
export function parseMonth(text: string): string {
  if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(text)) throw new InvalidArgumentError('It must be a month, YYYY-MM.');
  return text;
}
