import type { ObjectStore } from '../aws/objects.ts';
import type { AcceptedAt, LostReport } from '../tables/decide-day.ts';
import { openMerging } from '../tables/merge.ts';
import { mergeMonth } from '../tables/month.ts';
import { readEntries, requireMonths, shownOn } from '../tables/month-entries.ts';
import { damagedKeyIn, damagedObject } from '../tables/report.ts';
import { ExportError, readMessage } from '../workflow/errors.ts';
import { type DateRange, daysOf, monthOf, overlap } from '../workflow/request/dates.ts';
import type { ExportRequest } from '../workflow/request/request.ts';
import {
  compareReports,
  isSameReport,
  type ReportId,
  type ShownDay,
  type ShownDays,
} from '../workflow/shown-days.ts';
import type { Curated } from '../workflow/state-parts.ts';
import type { AuthorizedWindow, SavedWindow } from '../workflow/states.ts';
import type { TableSchema } from '../workflow/table.ts';
import { covers } from './judge.ts';
import {
  type EmptyReport,
  isLacking,
  type LedgerKnowledge,
  requestToWrite,
  type TableExport,
} from './lacking.ts';
import type { StoredDelivery } from './records.ts';

/** Reads the file of a delivery into the table, as CurateReport does. */
type ReadIntoTable = (
  delivery: StoredDelivery,
  /** The request of the delivery. */
  request: ExportRequest,
  table: { readonly schema: TableSchema; readonly acceptedAt: AcceptedAt; readonly lost: LostReport },
) => Promise<AuthorizedWindow | SavedWindow>;

/** A table that is written again from the files that were delivered. */
export interface Rebuilding {
  readonly tableExport: TableExport;
  readonly schema: TableSchema;
  readonly store: Pick<ObjectStore, 'list' | 'readEnd' | 'getFile' | 'putFile'>;
  /** Windows that share a day with it. */
  readonly range: DateRange;
  readonly ledger: LedgerKnowledge;
  /** Accepts that the held reports of the range have no rows. */
  readonly acceptEmpty: boolean;
  readonly readIntoTable: ReadIntoTable;
}

/** A window that the table lacked, and what became of it. */
export interface RebuiltWindow extends DateRange {
  readonly account: string;
  /** `gone`: its file was removed, or another run has replaced it · `failed`: the table cannot take it */
  readonly outcome: 'written' | 'gone' | 'failed';
  readonly table?: Curated['table'];
  readonly problem?: string | undefined;
  readonly warnings?: readonly string[];
}

/**
 * Writes what the table lacks of the delivered files, the oldest report first, as if they came again. Of a
 * list, the newest snapshot comes first, and older ones are read only if that has no items. Files that are
 * gone come last, because newer files may have their days.
 *
 * @throws TableProblem if an object of the table or of the ledger is damaged
 */
export async function* rebuildWindows(rebuilding: Rebuilding): AsyncGenerator<RebuiltWindow> {
  const { ledger, acceptEmpty } = rebuilding;
  for (const delivery of orderDeliveries(rebuilding)) {
    const shown = await readShown(rebuilding, delivery);
    const acceptedAt = acceptedBefore(delivery, ledger);
    const isNeeded = (day: string) =>
      isLacking(delivery, shown[day], {
        lost: ledger.lost.get(day),
        accepted_at: acceptedAt(day),
        mayHaveRows: mayHaveRows(delivery, ledger.rowsOf(day, delivery)),
      });
    if (daysOf(delivery).some(isNeeded)) yield rebuildWindow(delivery, rebuilding, acceptedAt);
  }
  if (acceptEmpty) yield* acceptHeldDays(rebuilding);
}

/** Accepts that the held reports of the range have no rows. */
async function* acceptHeldDays(rebuilding: Rebuilding): AsyncGenerator<RebuiltWindow> {
  const { range, ledger } = rebuilding;
  for (const delivery of orderDeliveries(rebuilding)) {
    if (isGone(delivery)) continue;
    const shown = await readShown(rebuilding, delivery);
    const isToAccept = (day: string) => covers(range, day) && isHeldReport(delivery, shown[day]);
    if (!daysOf(delivery).some(isToAccept)) continue;
    const acceptedAt = acceptedBefore(delivery, ledger);
    const now = new Date().toISOString();
    yield rebuildWindow(
      delivery,
      rebuilding,
      (day) => acceptedAt(day) ?? (isToAccept(day) ? now : undefined),
    );
  }
}

/**
 * Writes the days that the table lacks of reports without rows and without a file. The ledger has all of
 * them.
 *
 * @returns the windows of these reports
 * @throws see {@link rebuildWindows}
 */
export async function restoreEmptyDays(rebuilding: Rebuilding): Promise<DateRange[]> {
  const { tableExport, schema, store, ledger } = rebuilding;
  const { request } = tableExport;
  const { account } = request;
  if (ledger.empty.length === 0) return [];
  const time_zone = request.kind === 'report' ? (request.time_zone ?? 'UTC') : undefined;
  await using merging = await openMerging(store, schema.columns.length);
  const now = new Date().toISOString();
  const restored: DateRange[] = [];
  for (const { days, ...report } of ledger.empty) {
    const months = requireMonths(await readEntries(store, { ...schema, account }));
    const shown: ShownDays = Object.assign({}, ...months.map((month) => month.days));
    const acceptedAt = acceptedEmpty(report.version, rebuilding, shown, now);
    const lacking = days.filter(({ day }) =>
      isLacking(report.version, shown[day], {
        lost: ledger.lost.get(day),
        accepted_at: acceptedAt(day),
        mayHaveRows: false,
      }),
    );
    if (lacking.length === 0) continue;
    const lost: LostReport = (day) => ledger.lost.get(day);
    const tableReport = { ...report, schema, account, time_zone, acceptedAt, lost };
    for (const [month, daysOfMonth] of Map.groupBy(lacking, ({ day }) => monthOf(day)))
      await mergeMonth(merging, month, daysOfMonth, tableReport, undefined);
    restored.push(report.window);
  }
  return restored;
}

/** When somebody accepted that a report has no rows of a day: before, or now if it is held. */
function acceptedEmpty(
  version: EmptyReport['version'],
  { range, ledger, acceptEmpty }: Rebuilding,
  shown: ShownDays,
  now: string,
): AcceptedAt {
  return (day) => {
    const isAccepted = acceptEmpty && covers(range, day) && isHeldReport(version, shown[day]);
    return ledger.acceptedAt(day, version) ?? (isAccepted ? now : undefined);
  };
}

/** True if the table holds the report: it is the newest one of the day, and has no rows. */
function isHeldReport(report: ReportId, shown: ShownDay | undefined): boolean {
  return shown?.held !== undefined && isSameReport(shown.held, report);
}

/** The deliveries of the range whose request may be written, in the order in which their files are read. */
function orderDeliveries({ tableExport, range }: Rebuilding): readonly StoredDelivery[] {
  const oldestFirst = tableExport.records.deliveries
    .filter((delivery) => requestToWrite(tableExport, delivery) !== undefined && overlap(delivery, range))
    .toSorted(compareReports);
  const ordered = tableExport.request.kind === 'list' ? oldestFirst.toReversed() : oldestFirst;
  return [...ordered.filter((delivery) => !isGone(delivery)), ...ordered.filter(isGone)];
}

/** The file of the delivery was removed, or another run has replaced it. */
function isGone({ lost, removed }: StoredDelivery): boolean {
  return lost === true || removed === true;
}

/** The entries of a delivery's days, as the table shows them. */
async function readShown(
  { tableExport, schema, store }: Rebuilding,
  delivery: StoredDelivery,
): Promise<ShownDays> {
  const { account } = tableExport.request;
  const days = daysOf(delivery);
  const wanted = new Set(days.map(monthOf));
  const entries = await readEntries(store, { ...schema, account }, (month) => wanted.has(month));
  return withoutUnknown(shownOn(days, requireMonths(entries)), schema);
}

/** Forgets that days lack columns which the table does not have: no file can mend that. */
function withoutUnknown(shown: ShownDays, { columns }: TableSchema): ShownDays {
  const isColumn = (name: string) => columns.some((column) => column.name === name);
  return Object.fromEntries(
    Object.entries(shown).map(([day, { lacks, ...entry }]) => [
      day,
      lacks?.some(isColumn) ? { ...entry, lacks } : entry,
    ]),
  );
}

/** When somebody accepted before that a delivery has no rows of a day. Its request may have said so. */
function acceptedBefore(delivery: StoredDelivery, ledger: LedgerKnowledge): AcceptedAt {
  const { export_request: request, copied_at } = delivery.manifest;
  const byRequest = 'accept_empty' in request && request.accept_empty === true;
  return (day) => ledger.acceptedAt(day, delivery) ?? (byRequest ? copied_at : undefined);
}

/** A report may have rows of a day if the table never took it. An older snapshot may have items. */
function mayHaveRows(delivery: StoredDelivery, rows: number | undefined): boolean {
  if (isGone(delivery)) return false;
  const { manifest } = delivery;
  return manifest.export_request.kind === 'list' ? (manifest.rows ?? 0) > 0 : rows !== 0;
}

async function rebuildWindow(
  delivery: StoredDelivery,
  rebuilding: Rebuilding,
  acceptedAt: AcceptedAt,
): Promise<RebuiltWindow> {
  const { start_date, end_date } = delivery;
  const { account } = rebuilding.tableExport.request;
  const result = isGone(delivery)
    ? ({ outcome: 'gone' } as const)
    : await readFileAgain(delivery, rebuilding, acceptedAt);
  return { account, start_date, end_date, ...result };
}

async function readFileAgain(
  delivery: StoredDelivery,
  { tableExport, schema, ledger, readIntoTable }: Rebuilding,
  acceptedAt: AcceptedAt,
): Promise<Omit<RebuiltWindow, 'account' | keyof DateRange>> {
  const request = requestToWrite(tableExport, delivery) ?? tableExport.request;
  // The table takes an earlier form of the request, too.
  const requests = { ...schema.requests, [request.account]: delivery.request_hash };
  const lost: LostReport = (day) => ledger.lost.get(day);
  try {
    const table = { schema: { ...schema, requests }, acceptedAt, lost };
    const after = await readIntoTable(delivery, request, table);
    if (after.status !== 'curated') return { outcome: 'gone' };
    const { curated, warnings } = after as SavedWindow;
    const problem = curated?.table_problem;
    const messages = problem === undefined ? warnings : [problem, ...warnings];
    const damagedKey = messages.map(damagedKeyIn).find((key) => key !== undefined);
    if (damagedKey !== undefined) throw damagedObject(damagedKey);
    return {
      outcome: problem === undefined ? 'written' : 'failed',
      table: curated?.table,
      problem,
      warnings: warnings.filter((warning) => warning !== problem),
    };
  } catch (error) {
    if (!(error instanceof ExportError)) throw error;
    return { outcome: 'failed', problem: readMessage(error.message).happened };
  }
}
