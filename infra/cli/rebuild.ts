import { mkdirSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { curateReport } from '../../functions/curate-report.ts';
import { type DayState, judgeDays } from '../../functions/deliveries/judge.ts';
import type { StoredDelivery } from '../../functions/deliveries/records.ts';
import { openDatabase } from '../../functions/tables/database.ts';
import { mergeLedger, shownLines } from '../../functions/tables/ledger.ts';
import { duckType } from '../../functions/tables/merge.ts';
import { beginsWith, mergeMonth } from '../../functions/tables/month.ts';
import { damaged, damagedKeyIn, TableProblem } from '../../functions/tables/report.ts';
import { count } from '../../functions/workflow/count.ts';
import { ExportError, readMessage } from '../../functions/workflow/errors.ts';
import { windowOf } from '../../functions/workflow/keys.ts';
import { type DateRange, daysOf, describeDays } from '../../functions/workflow/request/dates.ts';
import type { ShownDays } from '../../functions/workflow/shown-days.ts';
import type { Curated } from '../../functions/workflow/state-parts.ts';
import type { SavedWindow } from '../../functions/workflow/states.ts';
import { type TableSchema, tableColumns, tableOf } from '../../functions/workflow/table.ts';
import { MEMORY } from '../config/cost.ts';
import { type Bucket, type Folder, openBucket } from '../knowledge/bucket.ts';
import { configName, loadConfig } from '../knowledge/config.ts';
import { CommandFailed, UsageError } from '../knowledge/errors.ts';
import { type ExportPlace, type FoundExport, findExports } from '../knowledge/exports.ts';
import { type AskedDays, byNewest } from '../knowledge/missing-days.ts';
import { type Month, readMonths, shownReader } from '../knowledge/months.ts';
import { commandFor, exportDaysCommand } from '../knowledge/next-command.ts';
import {
  type DaysWithoutFile,
  describeLoss,
  findDaysWithoutFile,
  requestToWrite,
} from '../knowledge/rebuildable.ts';
import { savedWindowOf } from '../knowledge/saved-window.ts';
import { findSchema } from '../knowledge/tables.ts';
import { SCRATCH } from '../local/lambda/lambda.ts';
import { DELIVERED, FAILED } from './exit-status.ts';
import { printDocument, printLines } from './layout.ts';
import { type CommonOptions, option } from './options.ts';
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
  await using _lock = options.local ? await lockFolder(options.out) : undefined;
  const exports = await findExports(name, options, bucket, new Date(), '');
  const table = exports[0] && tableOf(exports[0].request);
  if (table === undefined) throw new UsageError([`the export ${name} has no table`]);
  const damaged = exports.flatMap((each) => each.damaged).filter((key) => isIn(range, windowOf(key)));
  const hasNone = exports.every(({ deliveries }) => deliveries.every((each) => !isIn(range, each)));
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
    for (const days of await findDaysWithoutFile(found, bucket, range)) {
      without_file.push(days);
      print(describeWithoutFile(days, exportDaysCommand(found.request, days, options, false)));
    }
    const acceptEmpty = options.acceptEmpty && ((day: string) => from <= day && day < to);
    const rebuilding = { found, schema, bucket, range, acceptEmpty };
    try {
      for await (const rebuilt of rebuildWindows(rebuilding)) {
        windows.push(rebuilt);
        print(describeWindow(rebuilt, exportDaysCommand(found.request, rebuilt, options, false)));
      }
      months += await rebuildMonths(rebuilding);
    } catch (error) {
      throw await explainDamage(error as Error, rebuilding, options);
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
  { found, bucket }: Rebuilding,
  options: RebuildOptions,
): Promise<Error> {
  const key = error instanceof TableProblem ? damagedKeyIn(error.message) : undefined;
  if (key === undefined) return error;
  const lost = await describeLoss(found, bucket, key);
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

interface Rebuilding {
  readonly found: FoundExport;
  readonly schema: TableSchema;
  readonly bucket: Bucket;
  /** Windows that share a day with it. */
  readonly range: DateRange;
  /** Empties a held day. */
  readonly acceptEmpty: ((day: string) => boolean) | undefined;
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
 * Writes what the table lacks of the delivered files, the newest report first. Reports that may lack the
 * rows of a day follow, the oldest first, because a table holds only a day that has rows. Files that are
 * gone come last, because others may have their days.
 */
async function* rebuildWindows(rebuilding: Rebuilding): AsyncGenerator<Rebuilt> {
  const { found, schema, bucket, range, acceptEmpty } = rebuilding;
  const { account } = found.request;
  const groupOf = ({ lost, removed, manifest }: StoredDelivery) =>
    lost || removed ? 'gone' : manifest.table?.held === 0 ? 'complete' : 'holding';
  const own = found.deliveries.filter((each) => requestToWrite(found, each) && isIn(range, each));
  const { complete = [], holding = [], gone = [] } = Object.groupBy(own.toSorted(byNewest), groupOf);
  for (const { lost, ...delivery } of [...complete, ...holding.toReversed(), ...gone]) {
    const days = daysOf(delivery);
    const shown = withoutUnknown(await shownReader(bucket)({ ...schema, account }, days), schema);
    const states = judgeDays(days, { deliveries: [delivery], shown, hash: delivery.request_hash });
    const isLacking = (state: DayState, at: number) =>
      state === 'not_in_table' || (state === 'held' && acceptEmpty?.(days[at] ?? ''));
    if (!states.some(isLacking)) continue;
    const { start_date, end_date, removed } = delivery;
    const result = lost || removed ? GONE : await rebuildWindow(delivery, rebuilding);
    yield { account, start_date, end_date, ...result };
  }
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
  delivery: StoredDelivery,
  { found, schema, bucket, acceptEmpty }: Rebuilding,
): Promise<Omit<Rebuilt, 'account' | keyof DateRange>> {
  try {
    const { export_request: asked } = delivery.manifest;
    const isAccepted = asked !== undefined && 'accept_empty' in asked && asked.accept_empty === true;
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
      acceptEmpty: (day) => isAccepted || acceptEmpty?.(day) === true,
    });
    if (after.status !== 'curated') return GONE;
    const { curated: { table, table_problem: problem } = {}, warnings } = after as SavedWindow;
    const damagedKey = [problem ?? [], warnings].flat().map(damagedKeyIn).find(Boolean);
    if (damagedKey !== undefined) throw damaged(damagedKey);
    const outcome = problem === undefined ? 'written' : 'failed';
    return { outcome, table, problem, warnings: warnings.filter((warning) => warning !== problem) };
  } catch (error) {
    if (!(error instanceof ExportError)) throw error;
    return { outcome: 'failed', problem: readMessage(error.message).happened };
  }
}

/**
 * Brings all months of an account to the table's columns, whatever the range, and adds to the ledger what
 * their last writers could not.
 *
 * @returns how many did not have the columns
 * @throws TableProblem if a column has another type in a month
 */
async function rebuildMonths({ found: { request, hash }, schema, bucket }: Rebuilding): Promise<number> {
  const { account } = request;
  const columns = tableColumns(schema);
  const all = await readMonths(bucket, { ...schema, account }, () => true);
  const isOther = (each: Month) =>
    schema.kind !== 'list' &&
    !(
      beginsWith(each.columns, columns) &&
      columns.every(({ name, type }) => each.columns.get(name) === duckType(type))
    );
  const others = all.filter(isOther);
  const { signal } = new AbortController();
  await using scratch = await mkdtempDisposable(join(tmpdir(), 'rebuild-'));
  const { path: folder } = scratch;
  using database = await openDatabase(folder, signal, schema.columns.length);
  const merging = { database, store: bucket, folder, signal };
  const copied_at = new Date(0).toISOString();
  const version = { report_id: '', created_at: copied_at, request_hash: hash };
  const window = { start_date: '', end_date: '' };
  const offer = { version, window, copied_at, execution: '', schema, account, acceptEmpty: () => false };
  for (const { month } of others) await mergeMonth(merging, month, [], offer, '');
  const lines = all.flatMap(({ days }) => shownLines(days));
  for (const [month, some] of Map.groupBy(lines, ({ day }) => day.slice(0, 'YYYY-MM'.length)))
    await mergeLedger(merging, request, month, some);
  return others.length;
}
