import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { covers } from '../../../functions/days/judge.ts';
import { openDatabase } from '../../../functions/tables/database.ts';
import { mergeLedger, shownFacts } from '../../../functions/tables/ledger.ts';
import { beginsWith, mergeMonth } from '../../../functions/tables/month.ts';
import { type MonthEntries, readEntries, requireMonths } from '../../../functions/tables/month-entries.ts';
import type { DateRange } from '../../../functions/workflow/request/dates.ts';
import { compareReports } from '../../../functions/workflow/shown-days.ts';
import { type TableSchema, tableColumns } from '../../../functions/workflow/table.ts';
import type { FoundExport } from '../days/exports.ts';
import { isLacking, type LedgerKnowledge } from '../days/rebuildable.ts';
import type { Bucket } from '../place/bucket.ts';

export interface Rebuilding {
  readonly found: FoundExport;
  readonly schema: TableSchema;
  readonly bucket: Bucket;
  /** Windows that share a day with it. */
  readonly range: DateRange;
  readonly ledger: LedgerKnowledge;
  /** Accepts that the held reports of the range have no rows. */
  readonly acceptEmpty: boolean;
}

/** What writes into the months of an account's table. Its folder is removed when it is disposed of. */
async function openMerging({ schema, bucket }: Rebuilding) {
  await using opened = new AsyncDisposableStack();
  const { signal } = new AbortController();
  const { path: folder } = opened.use(await mkdtempDisposable(join(tmpdir(), 'rebuild-')));
  const database = opened.use(await openDatabase(folder, signal, schema.columns.length));
  const close = opened.move();
  return { database, store: bucket, folder, signal, [Symbol.asyncDispose]: () => close.disposeAsync() };
}

/**
 * Writes the days that the table lacks of reports without rows and without a file. The ledger has all of them.
 *
 * @returns the windows of these reports
 */
export async function restoreEmptyDays(rebuilding: Rebuilding): Promise<DateRange[]> {
  const { found, schema, bucket, range, ledger, acceptEmpty } = rebuilding;
  const { account } = found.request;
  if (ledger.empty.length === 0) return [];
  const time_zone = found.request.kind === 'report' ? (found.request.time_zone ?? 'UTC') : undefined;
  await using merging = await openMerging(rebuilding);
  const now = new Date().toISOString();
  const restored: DateRange[] = [];
  for (const { days, ...report } of ledger.empty) {
    const { version } = report;
    const all = requireMonths(await readEntries(bucket, { ...schema, account }));
    const shownOf = (day: string) => all.find(({ days }) => days[day])?.days[day];
    const acceptedAt = (day: string) => {
      const held = shownOf(day)?.held;
      const isHeld = held !== undefined && compareReports(held, version) === 0;
      const isAccepted = acceptEmpty && covers(range, day) && isHeld;
      return ledger.acceptedAt(day, version) ?? (isAccepted ? now : undefined);
    };
    const lacking = days.filter(({ day }) =>
      isLacking(version, shownOf(day), {
        lost: ledger.lost.get(day),
        accepted_at: acceptedAt(day),
        mayHaveRows: false,
      }),
    );
    if (lacking.length === 0) continue;
    const offer = {
      ...report,
      schema,
      account,
      time_zone,
      acceptedAt,
      lost: (day: string) => ledger.lost.get(day),
    };
    for (const [month, some] of Map.groupBy(lacking, ({ day }) => day.slice(0, 'YYYY-MM'.length)))
      await mergeMonth(merging, month, some, offer, '');
    restored.push(report.window);
  }
  return restored;
}

/**
 * Brings all months of an account to the table's columns, whatever the range, and adds to the ledger what
 * their last writers could not.
 *
 * @returns how many did not have the columns
 * @throws TableProblem if a column has another type in a month
 */
export async function rebuildMonths(rebuilding: Rebuilding): Promise<number> {
  const { found, schema, bucket } = rebuilding;
  const { request, hash } = found;
  const { account } = request;
  const columns = tableColumns(schema);
  const all = requireMonths(await readEntries(bucket, { ...schema, account }));
  const isOther = ({ month, columns: present }: MonthEntries) =>
    month !== undefined &&
    !(beginsWith(present.keys(), columns) && columns.every(({ name, type }) => present.get(name) === type));
  const others = all.filter(isOther);
  await using merging = await openMerging(rebuilding);
  const copied_at = new Date(0).toISOString();
  const version = { report_id: '', created_at: copied_at, request_hash: hash };
  const window = { start_date: '', end_date: '' };
  const offer = { version, window, copied_at, execution: '', schema, account, acceptedAt: () => undefined };
  for (const { month = '' } of others) await mergeMonth(merging, month, [], offer, '');
  const lines = all.flatMap(({ days }) => shownFacts(days));
  for (const [month, some] of Map.groupBy(lines, ({ day }) => day.slice(0, 'YYYY-MM'.length)))
    await mergeLedger(merging, request, month, some);
  return others.length;
}
