import { join } from 'node:path';
import { parquetReadObjects } from 'hyparquet';
import type { ObjectStore } from '../aws/objects.ts';
import type { ComparedDay } from '../decisions/total.ts';
import { daysOf, monthOf, wasOver } from '../workflow/request/dates.ts';
import { comparedMetrics } from '../workflow/request/report.ts';
import type { ReportRequest } from '../workflow/request/request.ts';
import type { Window } from '../workflow/state-parts.ts';
import type { SavedWindow } from '../workflow/states.ts';
import { columnName, ledgerKey, REPORT, TOTAL, tableOf } from '../workflow/table.ts';
import {
  type Curation,
  deliveredReportOf,
  stageWindow,
  type TableFile,
  writeByMonth,
} from './curate-file.ts';
import { type LedgerFact, mergeLedger } from './ledger.ts';
import { damagedObject, listNames, TableProblem } from './report.ts';

/**
 * Writes the platform's total of each day into the ledger.
 *
 * @throws DownloadRefused, ServiceUnavailable; TableProblem if it cannot be written
 */
export async function curateTotal(state: SavedWindow, tableFile: TableFile): Promise<Curation> {
  if (!tableFile.catalog) throw new TableProblem('without tables, there is no ledger');
  const { dimensions, ...request } = state.request as ReportRequest;
  const metrics = comparedMetrics(request).map(columnName);
  const facts = await stageWindow(request, state.window, tableFile, join(tableFile.folder, 'total.parquet'));
  if (facts.table_problem !== undefined) throw new TableProblem(facts.table_problem);
  // It may be 0, or have another name now.
  const absent = facts.absent.filter((name) => metrics.includes(name));
  if (absent.length > 0) throw new TableProblem(`no row of it has ${listNames(absent)}`);
  const delivered = deliveredReportOf(state, tableFile);
  const lines = facts.days.map(({ day, sums }): LedgerFact => {
    const compared = Object.fromEntries(metrics.map((metric) => [metric, sums[metric] ?? null]));
    const day_over = wasOver(day, delivered.version.created_at, delivered.time_zone);
    return { ...delivered, day, rows: 0, sums: compared, kind: TOTAL, day_over };
  });
  const problem = await writeByMonth(lines, tableFile.signal, (month, facts) =>
    mergeLedger(tableFile, request, month, facts),
  );
  if (problem !== undefined) throw new TableProblem(problem);
  return { rows: facts.rows, curated: {}, warnings: [] };
}

/** The reports of the rows and of the total of a window, which one execution has delivered. */
export interface ReconciledWindow {
  readonly window: Window;
  readonly rows: string;
  readonly total: string;
}

type LedgerStore = Pick<ObjectStore, 'readEnd'>;

/** No ledger of a month is that large: a few thousand rows of a hundred bytes. */
const WHOLE_OBJECT_BYTES = 512 * 1024 ** 2;

/**
 * Reads the sums of the rows and the platform's total of each day and metric from the ledger. NULL counts as
 * 0. Days that lack one of the two are left out.
 *
 * @throws TableProblem, AccessRefused, ServiceUnavailable
 */
export async function readComparedDays(
  store: LedgerStore,
  request: ReportRequest,
  windows: readonly ReconciledWindow[],
): Promise<ComparedDay[]> {
  const days = windows.flatMap(({ window }) => daysOf(window));
  const months = [...new Set(days.map(monthOf))].toSorted();
  const facts = (
    await Promise.all(months.map((month) => readLedgerLines(store, ledgerKey(request, month))))
  ).flat();
  const table = tableOf(request) ?? null;
  const ofTable = facts.filter(({ table_name }) => table_name === table);
  const byReport = Map.groupBy(ofTable, ({ report_id }) => report_id);
  // A platform may give an id to a later report.
  for (const [id, lines] of byReport) byReport.set(id, newestOf(lines));
  return windows
    .flatMap(({ window, rows, total }) => {
      const isOfWindow = ({ date }: Line) => window.start_date <= date && date < window.end_date;
      const sums = new Map(
        (byReport.get(rows) ?? [])
          .filter((fact) => isOfWindow(fact) && fact.kind === REPORT)
          .map((fact) => [`${fact.date} ${fact.metric}`, fact.value ?? 0]),
      );
      const totals = (byReport.get(total) ?? []).filter((fact) => isOfWindow(fact) && fact.kind === TOTAL);
      return totals.flatMap(({ date, metric, value }) => {
        const rows_sum = sums.get(`${date} ${metric}`);
        if (rows_sum === undefined) return [];
        const platform_total = value ?? 0;
        return [{ date, metric, rows_sum, platform_total, difference: rows_sum - platform_total }];
      });
    })
    .toSorted(byDateAndMetric);
}

function byDateAndMetric(first: ComparedDay, second: ComparedDay): number {
  return first.date.localeCompare(second.date) || first.metric.localeCompare(second.metric);
}

/** The lines of the newest of the reports that have one id. */
function newestOf(lines: readonly Line[]): Line[] {
  // Spread as arguments, very many lines would not fit a call.
  const newest = lines.reduce(
    (time, { report_created_at }) => Math.max(time, report_created_at.getTime()),
    0,
  );
  return lines.filter(({ report_created_at }) => report_created_at.getTime() === newest);
}

/** A line of the ledger. */
interface Line {
  /** YYYY-MM-DD */
  readonly date: string;
  readonly report_id: string;
  readonly report_created_at: Date;
  /** Null: the export has no table. */
  readonly table_name: string | null;
  readonly metric: string;
  readonly value: number | null;
  readonly kind: string;
}

/** Reads a month of the ledger without DuckDB. @returns nothing if there is none */
async function readLedgerLines(store: LedgerStore, key: string): Promise<Line[]> {
  const end = await store.readEnd(key, WHOLE_OBJECT_BYTES);
  if (!end) return [];
  const { bytes } = end;
  const file = {
    byteLength: bytes.length,
    slice: (from: number, to?: number) => new Uint8Array(bytes.subarray(from, to)).buffer,
  };
  const columns = ['date', 'report_id', 'report_created_at', 'table_name', 'metric', 'value', 'kind'];
  const rows = await parquetReadObjects({ file, columns }).catch((error: Error) => {
    throw damagedObject(key, error);
  });
  return rows.map(({ date, ...fact }) => {
    return { ...fact, date: (date as Date).toISOString().slice(0, 10) } as Line;
  });
}
