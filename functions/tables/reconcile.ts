import { join } from 'node:path';
import { aboveTolerance, addByMetric, type ComparedDay } from '../decisions/total.ts';
import { comparedMetrics } from '../workflow/request/report.ts';
import type { ReportRequest } from '../workflow/request/request.ts';
import { literal } from '../workflow/sql.ts';
import type { SavedWindow } from '../workflow/states.ts';
import { columnName, ledgerKey, TOTAL, tableOf } from '../workflow/table.ts';
import { eachMonth, stageWindow, type Work } from './curate-file.ts';
import { type LedgerDay, mergeLedger } from './ledger.ts';
import { mergeObject, parquet, timestamp } from './merge.ts';
import { TableProblem } from './report.ts';

/**
 * Writes the platform's total of each day into the ledger, beside the sums of the rows, and compares them.
 *
 * @throws DownloadRefused, ServiceUnavailable; TableProblem if there is nothing to compare
 */
export async function curateTotal(
  { window, main, object, ready_id: report_id = '', ...state }: SavedWindow,
  work: Work,
) {
  const { dimensions, ...request } = state.request as ReportRequest;
  const metrics = comparedMetrics(request).map(columnName);
  const facts = await stageWindow(request, window, work, join(work.folder, 'total.parquet'));
  const { created_at = '' } = main?.reports.find(({ id }) => id === main.ready_id) ?? {};
  const version = { report_id: main?.ready_id ?? '', created_at, request_hash: work.hash };
  const lines = facts.days.map(({ day, sums }): LedgerDay => {
    const own = Object.fromEntries(metrics.map((metric) => [metric, sums[metric] ?? null]));
    return { day, rows: 0, sums: own, version, window, copied_at: object.copied_at, outcome: TOTAL };
  });
  const days: ComparedDay[] = [];
  const problem = await eachMonth(lines, work.signal, async (month, some) => {
    await mergeLedger(work, request, month, some);
    days.push(...(await compare(work, request, month, version)));
  });
  const reason = problem ?? facts.table_problem ?? 'the ledger lacks the sums of its rows or of the total';
  if (problem !== undefined || days.length === 0) throw new TableProblem(reason);
  const { reconcile_tolerance: tolerance } = request;
  const above = aboveTolerance(days, tolerance);
  const [worst] = above;
  const [first] = above.map(({ date }) => date).sort();
  const reconciled = {
    report_id,
    key: object.key,
    days: new Set(days.map(({ date }) => date)).size,
    ...(tolerance && { above_tolerance: above.length }),
    metrics: addByMetric(days),
  };
  const warning = `sums of days that differ from the platform's total by more than reconcile_tolerance: ${above.length}, from ${first} on; most of all ${worst?.metric} of ${worst?.date}: ${worst?.rows_sum} in the rows, ${worst?.platform_total} in the total`;
  return { reconciled, warnings: worst ? [warning] : [] };
}

/** Reads a report's sums and its total from the ledger of a month. No value counts as 0. */
async function compare(
  work: Work,
  request: ReportRequest,
  month: string,
  { report_id, created_at }: LedgerDay['version'],
): Promise<readonly ComparedDay[]> {
  const table = tableOf(request);
  const isSaid = [
    `report_id = ${literal(report_id)} AND report_created_at = ${timestamp(created_at)}`,
    `table_name IS NOT DISTINCT FROM ${table === undefined ? 'NULL' : literal(table)}`,
  ].join(' AND ');
  const values = (where: string) =>
    `SELECT date, metric, coalesce(value, 0) AS value FROM said WHERE ${where}`;
  const select = (path: string) => `WITH said AS (FROM ${parquet(path)} WHERE ${isSaid})
    SELECT CAST(date AS VARCHAR) AS date, metric, CAST(own.value AS DOUBLE) AS rows_sum,
      CAST(total.value AS DOUBLE) AS platform_total, CAST(own.value - total.value AS DOUBLE) AS difference
    FROM (${values(`outcome = '${TOTAL}'`)}) AS total JOIN (${values(`outcome <> '${TOTAL}'`)}) AS own
    USING (date, metric) ORDER BY date, metric`;
  return mergeObject(work, ledgerKey(request, month), async (old) => {
    const rows = old ? await work.database.query(select(old.path)) : [];
    return { result: rows as unknown as readonly ComparedDay[] };
  });
}
