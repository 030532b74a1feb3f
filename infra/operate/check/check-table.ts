import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pMap from 'p-map';
import type { MonthEntries } from '../../../functions/tables/month-entries.ts';
import type { Sums } from '../../../functions/tables/report.ts';
import { addDays, type DateRange, latestDate } from '../../../functions/workflow/request/dates.ts';
import { monthKey } from '../../../functions/workflow/table.ts';
import type { AskedDays } from '../days/days-to-look-at.ts';
import { type ExportPlace, findExports } from '../days/find-exports.ts';
import { type JudgedRange, judgeExport } from '../days/judge-export.ts';
import { openLedger } from '../days/ledger-days.ts';
import { exportDaysCommand, rebuildCommand } from '../days/next-command.ts';
import type { RecordedExport } from '../days/read-export.ts';
import type { ReadableBucket } from '../place/bucket.ts';
import { type CheckedTable, requireSchema } from './checked-table.ts';
import { readStatements } from './read-statements.ts';
import { compareSources, type Difference, type Statement } from './sources.ts';
import { sumMonth } from './table-month.ts';

export type CheckedExport = Awaited<ReturnType<typeof checkExport>>;

type Asked = ExportPlace & AskedDays;

/**
 * Compares what a table shows with the files that its days are from, their manifests, the ledger and the
 * platform's own totals.
 *
 * @throws UsageError if the export has no table of days; AccessRefused, ServiceUnavailable
 */
export async function checkExports(name: string, asked: Asked, bucket: ReadableBucket, now: Date) {
  const exports = await findExports(name, asked, bucket, now, asked);
  const schema = await requireSchema(name, exports, asked);
  const check = (entry: RecordedExport) => checkExport({ entry, schema, bucket }, asked, now);
  return pMap(exports, check, { concurrency: 1 });
}

async function checkExport(checking: Omit<CheckedTable, 'database' | 'folder'>, asked: Asked, now: Date) {
  const { entry, schema, bucket } = checking;
  const { account, name } = entry.request;
  const judged = await judgeExport(bucket, entry);
  await using scratch = await mkdtempDisposable(join(tmpdir(), 'check-'));
  const folder = scratch.path;
  const since = new Map([[`${account}.${name}`, judged.start_date]]);
  using ledger = await openLedger(bucket, since, now, folder, schema.columns.length);
  const work = { ...checking, database: ledger.database, folder };
  const { readable, unreadable, sums } = await sumMonths(work, judged.months);
  const { statements, checked } = await readStatements(work, readable, sums, judged);
  const compared = compareSources([...statements, ...stateBehind(judged)]);
  const differences = compared.differences.toSorted((first, second) =>
    first.start_date.localeCompare(second.start_date),
  );
  return {
    account,
    name,
    months: countMonths(judged, checked, compared.days),
    differences,
    commands: commandsFor(entry, differences, asked),
    /** The keys of objects that cannot be read, or tell what cannot be true. */
    damaged: [
      ...entry.records.damaged,
      ...judged.damaged,
      ...unreadable.map(({ month = '' }) => monthKey(schema.table, account, month)),
      ...ledger.damaged.map(({ key }) => key),
    ],
  };
}

async function sumMonths(work: CheckedTable, months: readonly MonthEntries[]) {
  const summed = await pMap(months, (month) => sumMonth(work, month), { concurrency: 1 });
  return {
    readable: months.filter((_, at) => summed[at] !== undefined),
    unreadable: months.filter((_, at) => summed[at] === undefined),
    sums: new Map<string, Sums>(summed.flatMap((days) => days ?? [])),
  };
}

/** Days that were delivered, and that the table does not show. */
function stateBehind({ days, without_file }: JudgedRange): Statement[] {
  return days.flatMap(({ day, state }): Statement[] => {
    if (state !== 'behind') return [];
    const values = { manifest: 'delivered', table: null };
    const mend = without_file.has(day) ? 'run' : 'rebuild';
    return [{ ...oneDay(day), metric: 'report', values, days: [day], mend }];
  });
}

function oneDay(day: string): DateRange {
  return { start_date: day, end_date: addDays(day, 1) };
}

function countMonths({ days }: JudgedRange, checked: ReadonlySet<string>, differing: ReadonlySet<string>) {
  const byMonth = Map.groupBy(days, ({ day }) => day.slice(0, 'YYYY-MM'.length));
  return [...byMonth].map(([month, all]) => {
    const differ = all.filter(({ day }) => differing.has(day)).length;
    const agree = all.filter(({ day }) => checked.has(day) && !differing.has(day)).length;
    return { month, agree, differ, not_checked: all.length - agree - differ };
  });
}

/** @param differences sorted by their first day */
function commandsFor(
  { request }: RecordedExport,
  differences: readonly Difference[],
  asked: Asked,
): string[] {
  return [...Map.groupBy(differences, ({ mend }) => mend)].flatMap(([mend, some]) => {
    const [first] = some;
    const end_date = latestDate(some.map((difference) => difference.end_date));
    if (!first || end_date === undefined) return [];
    const commandOf = mend === 'run' ? exportDaysCommand : rebuildCommand;
    return [commandOf(request, { start_date: first.start_date, end_date }, asked, false)];
  });
}
