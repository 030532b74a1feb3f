import { Command } from 'commander';
import { Cron } from 'croner';
import { EXPORTS_PREFIX, exportPrefix } from '../../functions/workflow/keys.ts';
import { addDays, type DateRange, daysBetween } from '../../functions/workflow/request/dates.ts';
import type { ConfiguredExport } from '../config.ts';
import { duration } from '../local/show-progress.ts';
import { requestOf } from '../tables.ts';
import { type ExportedObjects, NO_OBJECTS, openBucket } from './bucket.ts';
import {
  describeDays,
  findLatestFailure,
  namesIn,
  type RemainingFailure,
  readKeys,
  subtractDays,
} from './days.ts';
import { UsageError } from './errors.ts';
import { describeInput, type ExecutionSummary } from './executions.ts';
import { printLines, toMinute, wrap } from './layout.ts';
import { explainCommand, type LocalFolder } from './next-command.ts';
import { examples, LOCAL_GROUP, loadConfig, localOnlyFaults, option } from './options.ts';

interface StatusOptions {
  readonly json?: true;
  readonly local?: true;
  readonly out: string;
}

/** An export in the document that `status --json` prints. */
export interface ExportStatus {
  readonly account: string;
  readonly export: string;
  /** The names of executions. */
  readonly running: readonly string[];
  /** The last execution that has ended. */
  readonly last?: ExecutionSummary;
  /** The last day that a manifest covers. */
  readonly newest_day?: string;
  /** Absent for a list. */
  readonly missing?: readonly DateRange[];
  readonly schedule?: {
    readonly expression: string;
    readonly time_zone: string;
    readonly enabled: boolean;
    /** Absent for a rate, which counts from a time that only AWS knows. */
    readonly next_start?: string;
  };
  /** The latest failure report that no later delivery has deleted. */
  readonly failure?: RemainingFailure;
}

/** The last executions that are looked at. Each is one call, of which AWS allows 250 at once. */
const RECENT = 100;

/** Missing ranges that the text names; --json has all. */
const MAX_RANGES = 10;

const HOUR_MS = 60 * 60 * 1000;

export function createStatusCommand(): Command {
  return new Command('status')
    .description(
      'Show of each export what runs, how the last run ended, the newest day, the missing days and the last failure.',
    )
    .argument('[name]', 'an export (default: all)')
    .addOption(option.json())
    .option('--local', 'look at the runs of this machine')
    .optionsGroup(LOCAL_GROUP)
    .addOption(option.out())
    .addHelpText('after', examples('status', 'status daily-campaigns --json', 'status --local'))
    .action(status);
}

async function status(name: string | undefined, options: StatusOptions, command: Command): Promise<void> {
  const faults = localOnlyFaults(command);
  if (faults.length > 0) throw new UsageError(faults);
  const exports = await readStatus(name, options, new Date());
  if (options.json) process.stdout.write(`${JSON.stringify({ outcome: 'ok', exports })}\n`);
  else
    printLines(
      exports.flatMap((one, index) => [...(index > 0 ? [''] : []), ...describeStatus(one, options)]),
    );
}

/** @throws UsageError if there is no such export */
async function readStatus(
  name: string | undefined,
  { local, out }: StatusOptions,
  now: Date,
): Promise<ExportStatus[]> {
  const executions = local ? await listLocally(out) : await listDeployed();
  const configured = local ? [] : loadConfig().exports;
  await using objects = await openBucket({ ...(local && { local }), out }).catch((error) => {
    // The first run on this machine has delivered nothing yet.
    if (local) return NO_OBJECTS;
    throw error;
  });
  const known = new Set([
    ...configured.map((entry) => `${entry.account}/${entry.name}`),
    ...executions.flatMap((one) => (one.account && one.export ? [`${one.account}/${one.export}`] : [])),
    ...(local ? namesIn(await objects.list(EXPORTS_PREFIX)) : []),
  ]);
  const names = [...known].filter((id) => name === undefined || id === name || id.endsWith(`/${name}`));
  if (name !== undefined && names.length === 0)
    throw new UsageError([`there is no export ${name} (there are ${[...known].join(', ') || 'none'})`]);
  const statuses: ExportStatus[] = [];
  for (const id of names.sort()) {
    const entry = configured.find((one) => `${one.account}/${one.name}` === id);
    const own = executions.filter((one) => `${one.account}/${one.export}` === id);
    statuses.push(await readExport(id, own, entry, objects, now));
  }
  return statuses;
}

async function listLocally(out: string): Promise<ExecutionSummary[]> {
  return (await import('./local-executions.ts')).listLocal(out);
}

async function listDeployed(): Promise<ExecutionSummary[]> {
  const { readStateMachineArn } = await import('./deployed.ts');
  const { listDeployed } = await import('./deployed-executions.ts');
  return listDeployed(
    await readStateMachineArn(undefined, 'use --local for the runs of this machine'),
    RECENT,
  );
}

/** @param executions of this export, the newest first */
async function readExport(
  id: string,
  executions: readonly ExecutionSummary[],
  entry: ConfiguredExport | undefined,
  objects: ExportedObjects,
  now: Date,
): Promise<ExportStatus> {
  const [account = '', name = ''] = id.split('/');
  const { delivered, failures, isList } = readKeys(await objects.list(exportPrefix({ account, name })));
  const running = executions.filter(({ outcome }) => outcome === 'running');
  const ended = executions.filter((one) => !running.includes(one));
  const end = lastOf(delivered.map(({ end_date }) => end_date));
  const failure = await findLatestFailure(objects, failures);
  const { expression, time_zone = 'UTC', enabled = true } = entry?.schedule ?? {};
  const isSnapshot = isList || entry?.kind === 'list';
  return {
    ...{ account, export: name, running: running.map(({ execution }) => execution) },
    ...(ended[0] && { last: ended[0] }),
    ...(end !== undefined && { newest_day: addDays(end, -1) }),
    ...(!isSnapshot && { missing: findMissingDays(delivered, ended, entry, now) }),
    ...(expression !== undefined && {
      schedule: { expression, time_zone, enabled, ...(enabled && nextStart(expression, time_zone, now)) },
    }),
    ...(failure && { failure }),
  };
}

/**
 * Days without a manifest, of those that executions asked for, and of those from the first delivered day to the last one that
 * the schedule should have delivered by now.
 */
export function findMissingDays(
  delivered: readonly DateRange[],
  ended: readonly ExecutionSummary[],
  entry: ConfiguredExport | undefined,
  now: Date,
): DateRange[] {
  const asked = ended.flatMap(({ start_date, end_date }) =>
    start_date !== undefined && end_date !== undefined ? [{ start_date, end_date }] : [],
  );
  const [first] = delivered.map(({ start_date }) => start_date).sort();
  const due = entry?.schedule?.enabled ? dueBefore(entry, now) : undefined;
  const last = lastOf([...delivered.map(({ end_date }) => end_date), ...(due === undefined ? [] : [due])]);
  const whole = first !== undefined && last !== undefined ? [{ start_date: first, end_date: last }] : [];
  return subtractDays([...asked, ...whole], delivered);
}

/** The end of the period that a start would have covered, had it been as late as the schedule allows. */
function dueBefore(entry: ConfiguredExport, now: Date): string | undefined {
  const hours = entry.schedule?.expect_every_hours ?? 0;
  return describeInput(requestOf(entry), new Date(now.getTime() - hours * HOUR_MS)).end_date;
}

/** AWS counts the days of a week from 1, which is Sunday, and restricts by only one of the two kinds of days. */
export function nextStart(expression: string, timezone: string, now: Date): { next_start?: string } {
  const [, fields] = /^cron\((.*)\)$/.exec(expression) ?? [];
  if (fields === undefined) return {};
  const rules = { alternativeWeekdays: true, domAndDow: true, sloppyRanges: true };
  const next = new Cron(`0 ${fields}`, { timezone, ...rules }).nextRun(now);
  return next ? { next_start: next.toISOString() } : {};
}

function lastOf(dates: readonly string[]): string | undefined {
  return [...dates].sort().at(-1);
}

/** @param folder of local runs @param width of the screen */
export function describeStatus(one: ExportStatus, folder?: LocalFolder, width?: number): string[] {
  const { running, last, newest_day, missing, schedule, failure } = one;
  const lines: [string, string][] = [
    ...running.map((execution): [string, string] => ['running', execution]),
    ['last run', last ? describeLast(last) : 'none'],
    ['newest day', newest_day ?? 'none'],
    ...(missing ? [['missing', describeMissing(missing)] satisfies [string, string]] : []),
    ...(schedule ? [['schedule', describeSchedule(schedule)] satisfies [string, string]] : []),
    ...(failure ? describeFailure(failure, folder) : []),
  ];
  const indent = ' '.repeat(14);
  return [
    `${one.account}/${one.export}`,
    ...lines.flatMap(([label, text]) => wrap(`  ${label.padEnd(12)}${text}`, indent, width)),
  ];
}

function describeLast({
  outcome,
  error,
  started_at,
  ended_at = '',
  seconds,
  execution,
}: ExecutionSummary): string {
  const how = error === undefined ? outcome.replace('_', ' ') : `${outcome}: ${error}`;
  const took = seconds === undefined ? '' : `, took ${duration(seconds * 1_000)}`;
  return `${how}, ${toMinute(started_at ?? ended_at)} UTC${took}, ${execution}`;
}

function describeSchedule(schedule: NonNullable<ExportStatus['schedule']>): string {
  const { expression, time_zone, enabled, next_start } = schedule;
  const next = next_start === undefined ? '' : `, next at ${toMinute(next_start)} UTC`;
  return `${enabled ? '' : 'switched off: '}${expression} in ${time_zone}${next}`;
}

function describeMissing(missing: readonly DateRange[]): string {
  if (missing.length === 0) return 'none';
  const days = missing.reduce((sum, { start_date, end_date }) => sum + daysBetween(start_date, end_date), 0);
  const shown = missing.slice(-MAX_RANGES).map(describeDays);
  const more = missing.length > MAX_RANGES ? `${missing.length - MAX_RANGES} earlier ranges and ` : '';
  return `${days} ${days === 1 ? 'day' : 'days'}: ${more}${shown.join(', ')}`;
}

function describeFailure(
  { at, error, happened, todo, execution }: RemainingFailure,
  folder: LocalFolder | undefined,
): [string, string][] {
  return [
    ['failure', `${toMinute(at)} UTC, ${error}: ${happened} What to do: ${todo}`],
    ['more', explainCommand(execution, folder)],
  ];
}
