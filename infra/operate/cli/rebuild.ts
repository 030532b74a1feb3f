import { mkdirSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { curateReport } from '../../../functions/curate-report.ts';
import { covers } from '../../../functions/days/judge.ts';
import type { StoredDelivery } from '../../../functions/days/records.ts';
import type { AcceptedAt } from '../../../functions/tables/month.ts';
import { readEntries, requireMonths, shownOn } from '../../../functions/tables/month-entries.ts';
import { damagedKeyIn, damagedObject, TableProblem } from '../../../functions/tables/report.ts';
import { count } from '../../../functions/workflow/count.ts';
import { ExportError, readMessage } from '../../../functions/workflow/errors.ts';
import { windowOf } from '../../../functions/workflow/keys.ts';
import { type DateRange, daysOf, describeDays } from '../../../functions/workflow/request/dates.ts';
import { compareReports, type ShownDays } from '../../../functions/workflow/shown-days.ts';
import type { Curated } from '../../../functions/workflow/state-parts.ts';
import type { SavedWindow } from '../../../functions/workflow/states.ts';
import { type TableSchema, tableOf } from '../../../functions/workflow/table.ts';
import { SCRATCH } from '../../lab/local/lambda/lambda.ts';
import { MEMORY } from '../../stack/config/cost.ts';
import type { AskedDays } from '../days/days-to-look-at.ts';
import { type ExportPlace, findExports } from '../days/exports.ts';
import { commandFor, exportDaysCommand } from '../days/next-command.ts';
import {
  type DaysWithoutFile,
  describeLoss,
  isLacking,
  readLedgerKnowledge,
  requestToWrite,
} from '../days/rebuildable.ts';
import { savedWindowOf } from '../days/saved-window.ts';
import { type Folder, openBucket, openToRead, type ReadableBucket } from '../place/bucket.ts';
import { configName, loadConfig } from '../place/config.ts';
import { CommandFailed, UsageError } from '../place/errors.ts';
import { findSchema } from '../place/tables.ts';
import { DELIVERED, FAILED } from './exit-status.ts';
import { printDocument, printLines } from './layout.ts';
import { type CommonOptions, option } from './options.ts';
import { type Rebuilding, rebuildMonths, restoreEmptyDays } from './rebuild-months.ts';
import { lockFolder } from './run/out-lock.ts';

interface RebuildOptions extends ExportPlace, AskedDays, CommonOptions {
  readonly acceptEmpty?: true;
}

/** The document that `--json` prints. */
export type RebuildResult = Awaited<ReturnType<typeof rebuild>>;

export function createCommand(): Command {
  return new Command('rebuild')
    .argument('<name>', 'the export')
    .option('--account <name>', 'only this account (default: all that have the export)')
    .addOption(option.from(' of the windows (default: all)'))
    .addOption(option.to())
    .option('--accept-empty', 'empty the held days of the range, which the newest report has no rows for')
    .addOption(option.json())
    .option('--local', 'work on the folder of local runs instead of the deployed bucket')
    .addOption(option.out())
    .action(async (name: string, options: RebuildOptions) => {
      const result = await rebuild(name, options);
      if (options.json) printDocument(result);
      else printLines(describeRebuilt(result));
      process.exitCode = result.outcome === 'done' ? DELIVERED : FAILED;
    });
}

async function rebuild(name: string, options: RebuildOptions) {
  const { from = '', to = '9999' } = options;
  const range = { start_date: from, end_date: to };
  if (options.acceptEmpty && (from === '' || to === '9999'))
    throw new UsageError(['--accept-empty needs --from and --to']);
  if (to <= from) throw new UsageError([`--to ${to} is not after --from ${from}`]);
  await using bucket = await openBucket(options);
  await using reading = await openToRead(options);
  await using _lock = options.local ? await lockFolder(options.out) : undefined;
  const exports = await findExports(name, options, bucket, new Date(), { all: true });
  const table = exports[0] && tableOf(exports[0].request);
  if (table === undefined) throw new UsageError([`the export ${name} has no table`]);
  const damaged = exports.flatMap((each) => each.records.damaged).filter((key) => isIn(range, windowOf(key)));
  const hasNone = exports.every(({ records }) => records.deliveries.every((each) => !isIn(range, each)));
  if (hasNone && damaged.length === 0)
    throw new UsageError([`no report or list of ${name} was delivered in this range`]);
  const schema = await findSchema(table, options.local ? exports : undefined);
  const deploy = `Add the export to ${configName()} and deploy the stack.`;
  if (!schema) throw new CommandFailed(`The catalog has no table ${table}.`, deploy);
  await using _scratch = await prepareProcess(options);
  const windows: Rebuilt[] = [];
  const without_file: DaysWithoutFile[] = [];
  let months = 0;
  const print = (line: string) => printLines([line], options.json ? process.stderr : process.stdout);
  for (const found of exports) {
    // Before anything is written, because a damaged month may end the command.
    const ledger = await readLedgerKnowledge(found, reading, range);
    for (const days of ledger.without_file) {
      without_file.push(days);
      print(describeWithoutFile(days, exportDaysCommand(found.request, days, options, false)));
    }
    const rebuilding = { found, schema, bucket, range, ledger, acceptEmpty: options.acceptEmpty ?? false };
    try {
      for await (const rebuilt of rebuildWindows(rebuilding)) {
        windows.push(rebuilt);
        print(describeWindow(rebuilt, exportDaysCommand(found.request, rebuilt, options, false)));
      }
      for (const report of await restoreEmptyDays(rebuilding)) {
        const rebuilt = { account: found.request.account, ...report, outcome: 'written' } as const;
        windows.push(rebuilt);
        print(`${describeWindow(rebuilt, '')}; from the ledger, because these days have no rows`);
      }
      months += await rebuildMonths(rebuilding);
    } catch (error) {
      throw await explainDamage(error as Error, rebuilding, reading, options);
    }
  }
  const isDone =
    damaged.length === 0 &&
    windows.every(({ outcome }) => outcome === 'written') &&
    without_file.every(({ in_table }) => in_table);
  const outcome = isDone ? 'done' : 'failed';
  return { version: '1', outcome, name, table, windows, without_file, months, damaged };
}

/** Says what would be lost with a damaged object, and which one to remove. Returns other errors unchanged. */
async function explainDamage(
  error: Error,
  { found }: Rebuilding,
  reading: ReadableBucket,
  options: RebuildOptions,
): Promise<Error> {
  const key = error instanceof TableProblem ? damagedKeyIn(error.message) : undefined;
  if (key === undefined) return error;
  const lost = await describeLoss(found, reading, key);
  const { account } = options;
  const again = commandFor(['rebuild', found.request.name], { account }, options);
  return new CommandFailed(
    `${key} is damaged or was not written by this stack. ${lost}`,
    `Restore an earlier version of the object. Or remove ${key}, and run: ${again}`,
    { cause: error },
  );
}

function describeWithoutFile({ account, in_table, ...range }: DaysWithoutFile, again: string): string {
  const fact = in_table
    ? 'only the table has these days: no file gives what they show. Without the table, they are lost'
    : 'left out: no file gives what these days showed last';
  return `${account} ${describeDays(range)}  ${fact}; to export them again: ${again}`;
}

const OUTCOMES = {
  written: 'written',
  gone: 'left out: its file was replaced or removed',
  failed: 'left out: the table cannot take it',
} as const;

/** @param again the command that exports the window again */
function describeWindow(rebuilt: Rebuilt, again: string): string {
  const { account, outcome, table, problem, warnings = [] } = rebuilt;
  const { days = 0, kept = 0, restated = 0 } = table ?? {};
  const facts = [
    ...(table ? [count(days, 'day')] : []),
    ...(kept > 0 ? [`${kept} keep a newer report`] : []),
    ...(restated > 0 ? [`${restated} restated by this report`] : []),
    ...(outcome === 'gone' ? [`to export it again: ${again}`] : []),
    ...(problem === undefined ? [] : [problem]),
    ...warnings.map((warning) => `warning: ${warning}`),
  ];
  return `${account} ${describeDays(rebuilt)}  ${[OUTCOMES[outcome], ...facts].join('; ')}`;
}

function describeRebuilt({ windows, months, table, damaged }: RebuildResult): string[] {
  const written = windows.filter(({ outcome }) => outcome === 'written').length;
  return [
    windows.length + damaged.length === 0
      ? `The table ${table} shows all that was delivered.`
      : `Table ${table}, windows: ${written} written, ${windows.length - written} left out`,
    ...(damaged.length > 0
      ? [`Manifests that cannot be read, whose days have to be exported again: ${damaged.join(', ')}`]
      : []),
    ...(months > 0 ? [`Months that got the table's columns besides: ${months}`] : []),
  ];
}

/**
 * Gives this process the memory of CurateReport or more, and a temporary folder of its own: CurateReport
 * removes what it finds in it.
 */
async function prepareProcess({ local, out }: Folder): Promise<AsyncDisposable> {
  const parent = local ? join(out, SCRATCH) : tmpdir();
  mkdirSync(parent, { recursive: true });
  const scratch = await mkdtempDisposable(join(parent, 'rebuild-'));
  process.env.TMPDIR = scratch.path;
  // DuckDB may take more than in the function, so that this command can read a file that was too much for it.
  const quarter = Math.floor(totalmem() / 1024 ** 2 / 4);
  const { CurateReport = MEMORY.CurateReport } = loadConfig().memory_mb;
  process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE = String(Math.max(CurateReport, quarter));
  return scratch;
}

/** A window that the table lacked, and what became of it. */
interface Rebuilt extends DateRange {
  readonly account: string;
  /** `gone`: its file was removed, or another run has replaced it. */
  readonly outcome: keyof typeof OUTCOMES;
  readonly table?: Curated['table'];
  readonly problem?: string | undefined;
  readonly warnings?: readonly string[];
}

/**
 * Writes what the table lacks of the delivered files, the oldest report first, as if they came again. Of a list,
 * the newest snapshot comes first, and the others are read only if that has no items. Files that are gone come
 * last, because others may have their days.
 */
async function* rebuildWindows(rebuilding: Rebuilding): AsyncGenerator<Rebuilt> {
  const { found, schema, bucket, range, ledger } = rebuilding;
  const { account, kind } = found.request;
  const newestFirst = found.records.deliveries
    .filter((delivery) => requestToWrite(found, delivery) && isIn(range, delivery))
    .toSorted((one, other) => compareReports(other, one));
  const ordered = kind === 'list' ? newestFirst : newestFirst.toReversed();
  const readShown = async (days: readonly string[]) =>
    withoutUnknown(
      shownOn(days, requireMonths(await readEntries(bucket, { ...schema, account }, isOf(days)))),
      schema,
    );
  const write = async (delivery: StoredDelivery, acceptedAt: AcceptedAt): Promise<Rebuilt> => {
    const { start_date, end_date, lost, removed } = delivery;
    const result = lost || removed ? GONE : await rebuildWindow(delivery, rebuilding, acceptedAt);
    return { account, start_date, end_date, ...result };
  };
  const acceptedBefore = (delivery: StoredDelivery): AcceptedAt => {
    const { manifest } = delivery;
    const asked = manifest.export_request;
    const byRequest = 'accept_empty' in asked && asked.accept_empty === true;
    return (day) => ledger.acceptedAt(day, delivery) ?? (byRequest ? manifest.copied_at : undefined);
  };
  const isGone = ({ lost, removed }: StoredDelivery) => lost || removed;
  const { true: gone = [], false: there = [] } = Object.groupBy(ordered, (each) =>
    String(isGone(each) ?? false),
  );
  for (const delivery of [...there, ...gone]) {
    const days = daysOf(delivery);
    const shown = await readShown(days);
    const acceptedAt = acceptedBefore(delivery);
    const isNeeded = (day: string) =>
      isLacking(delivery, shown[day], {
        lost: ledger.lost.get(day),
        accepted_at: acceptedAt(day),
        mayHaveRows: mayHaveRows(delivery, ledger.rowsOf(day, delivery)),
      });
    if (days.some(isNeeded)) yield await write(delivery, acceptedAt);
  }
  if (!rebuilding.acceptEmpty) return;
  for (const delivery of there) {
    const shown = await readShown(daysOf(delivery));
    const isHeld = (day: string) => {
      const held = shown[day]?.held;
      return covers(range, day) && held !== undefined && compareReports(held, delivery) === 0;
    };
    if (!daysOf(delivery).some(isHeld)) continue;
    const acceptedAt = acceptedBefore(delivery);
    const now = new Date().toISOString();
    yield await write(delivery, (day) => acceptedAt(day) ?? (isHeld(day) ? now : undefined));
  }
}

/** A report may have rows of a day if the table never took it. An older snapshot may have items. */
function mayHaveRows({ manifest, removed, lost }: StoredDelivery, rows: number | undefined): boolean {
  if (removed || lost) return false;
  return manifest.export_request.kind === 'list' ? (manifest.rows ?? 0) > 0 : rows !== 0;
}

function isOf(days: readonly string[]): (month: string) => boolean {
  const months = new Set(days.map((day) => day.slice(0, 'YYYY-MM'.length)));
  return (month) => months.has(month);
}

/** Forgets that days lack columns which the table does not have: no file can mend that. */
function withoutUnknown(shown: ShownDays, { columns }: TableSchema): ShownDays {
  const isLacked = (name: string) => columns.some((column) => column.name === name);
  return Object.fromEntries(
    Object.entries(shown).map(([day, { lacks, ...entry }]) => [
      day,
      lacks?.some(isLacked) ? { ...entry, lacks } : entry,
    ]),
  );
}

function isIn(range: DateRange, window?: DateRange): boolean {
  return window !== undefined && window.start_date < range.end_date && window.end_date > range.start_date;
}

const GONE = { outcome: 'gone' } as const;

async function rebuildWindow(
  { lost: _, ...delivery }: StoredDelivery,
  { found, schema, bucket, ledger }: Rebuilding,
  acceptedAt: AcceptedAt,
): Promise<Omit<Rebuilt, 'account' | keyof DateRange>> {
  try {
    const { account } = found.request;
    const request = requestToWrite(found, delivery) ?? found.request;
    const requests = { ...schema.requests, [account]: delivery.request_hash };
    const { platform, revision } = delivery.manifest;
    const after = await curateReport(savedWindowOf(delivery, request), {
      store: bucket,
      catalog: { getTable: async () => ({ ...schema, requests }) },
      target: { platform, revision },
      maxBytes: Number.POSITIVE_INFINITY,
      // A day, because a person may stop the command at any time.
      millisecondsLeft: () => 24 * 60 * 60 * 1000,
      acceptedAt,
      lost: (day) => ledger.lost.get(day),
    });
    if (after.status !== 'curated') return GONE;
    const { curated: { table, table_problem: problem } = {}, warnings } = after as SavedWindow;
    const damagedKey = [problem ?? [], warnings].flat().map(damagedKeyIn).find(Boolean);
    if (damagedKey !== undefined) throw damagedObject(damagedKey);
    const outcome = problem === undefined ? 'written' : 'failed';
    return { outcome, table, problem, warnings: warnings.filter((warning) => warning !== problem) };
  } catch (error) {
    if (!(error instanceof ExportError)) throw error;
    return { outcome: 'failed', problem: readMessage(error.message).happened };
  }
}
