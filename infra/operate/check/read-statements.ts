import { covers } from '../../../functions/days/judge.ts';
import type { StoredDelivery } from '../../../functions/days/records.ts';
import { aboveTolerance, type ComparedDay } from '../../../functions/decisions/total.ts';
import type { Row } from '../../../functions/tables/database.ts';
import type { MonthEntries } from '../../../functions/tables/month-entries.ts';
import type { Sums } from '../../../functions/tables/report.ts';
import { metricsOf } from '../../../functions/tables/sums.ts';
import { addDays, type DateRange } from '../../../functions/workflow/request/dates.ts';
import type { ReportRequest } from '../../../functions/workflow/request/request.ts';
import { compareReports, type ReportVersion, type ShownDay } from '../../../functions/workflow/shown-days.ts';
import { newest, RECONCILIATION } from '../../stack/catalog/ledger-sql.ts';
import { type CheckedTable, roundSum, toRoundedSums } from './checked-table.ts';
import { type FileFacts, readReportFile } from './read-report-file.ts';
import type { Statement } from './sources.ts';

/** What is known of the days, besides their files. */
interface Knowledge {
  /** Columns of the table that are numbers, and `rows`. */
  readonly columns: ReadonlySet<string>;
  /** What the table's rows add up to, by date. */
  readonly table: ReadonlyMap<string, Sums>;
  ledgerOf(day: string, shown: ReportVersion): Sums;
  /** The platform's total, if it differs by more than the request tolerates. */
  totalOf(day: string, metric: string): string | undefined;
}

/**
 * Reads what the sources say about the days that the table shows, and about the files that these are from.
 *
 * @param sums the rows of the months, added up by date
 * @returns `checked`: the days whose file could be read
 */
export async function readStatements(
  work: CheckedTable,
  months: readonly MonthEntries[],
  sums: ReadonlyMap<string, Sums>,
  range: DateRange,
): Promise<{ readonly statements: Statement[]; readonly checked: ReadonlySet<string> }> {
  const knowledge = await readKnowledge(work, sums);
  const shown = months.flatMap((month) => Object.entries(month.days)).filter(([day]) => covers(range, day));
  const { deliveries } = work.entry.records;
  const byDelivery = Map.groupBy(shown, ([day, report]) => deliveryOf(day, report, deliveries));
  const statements: Statement[] = [];
  const checked = new Set<string>();
  for (const [delivery, days] of byDelivery) {
    const file = delivery && (await readReportFile(work, delivery));
    // The file may differ in other days of its window, which newer reports show.
    if (file)
      statements.push(
        ...stateFile(
          delivery,
          file,
          days.map(([day]) => day),
        ),
      );
    for (const [day, report] of days) {
      const inFile = file?.days.get(day);
      if (inFile) checked.add(day);
      statements.push(...stateDay(day, report, inFile, knowledge));
    }
  }
  return { statements, checked };
}

/** The delivery of the report that a table shows on a day. */
function deliveryOf(
  day: string,
  shown: ReportVersion,
  deliveries: readonly StoredDelivery[],
): StoredDelivery | undefined {
  return deliveries.find((delivery) => covers(delivery, day) && compareReports(delivery, shown) === 0);
}

/** @param days that show the file */
function stateFile(
  { manifest, start_date, end_date }: StoredDelivery,
  { total }: FileFacts,
  days: readonly string[],
): Statement[] {
  const inManifest = Object.entries({ checksum: manifest.checksum.value, ...toRoundedSums(manifest) });
  return inManifest.map(([metric, value]) => {
    const inFile = total[metric];
    const values = { manifest: value, ...(inFile !== undefined && { file: inFile }) };
    return { start_date, end_date, metric, values, days };
  });
}

function stateDay(
  day: string,
  shown: ShownDay,
  inFile: Sums | undefined,
  { columns, table, ledgerOf, totalOf }: Knowledge,
): Statement[] {
  const inTable = table.get(day);
  const inLedger = ledgerOf(day, shown);
  // Leaves out columns that the table got later, or has no more.
  const metrics = ['rows', ...Object.keys(shown.ledger.sums)].filter((name) => columns.has(name));
  return metrics.map((metric) => {
    const file = inFile?.[metric];
    const platform = totalOf(day, metric);
    const values = {
      ...(file !== undefined && { file }),
      // The table has no row of a day without rows.
      table: inTable ? (inTable[metric] ?? null) : '0',
      ledger: inLedger[metric] ?? null,
      ...(platform !== undefined && { platform }),
    };
    return { start_date: day, end_date: addDays(day, 1), metric, values, days: [day] };
  });
}

async function readKnowledge(work: CheckedTable, table: ReadonlyMap<string, Sums>): Promise<Knowledge> {
  const keyOf = (day: unknown, report_id: unknown, time: unknown) => JSON.stringify([day, report_id, time]);
  const facts = Map.groupBy(
    await work.database.query(`SELECT *, epoch_ms("report_created_at") AS "at" FROM (${newest()})`),
    ({ date, report_id, at }: Row) => keyOf(String(date), String(report_id), Number(at)),
  );
  const totals = await readTotals(work);
  return {
    columns: new Set(['rows', ...metricsOf(work.schema.columns).map(({ name }) => name)]),
    table,
    ledgerOf(day, { report_id, created_at }) {
      const ofReport = facts.get(keyOf(day, report_id, Date.parse(created_at))) ?? [];
      return toRoundedSums({
        sums: Object.fromEntries(ofReport.map(({ metric, value }) => [metric, value])),
      });
    },
    totalOf: (day, metric) => totals.get(`${day} ${metric}`),
  };
}

/** Reads the platform's totals that differ from the rows by more than the request tolerates. */
async function readTotals({ entry, database }: CheckedTable): Promise<ReadonlyMap<string, string>> {
  const sums = `coalesce(COLUMNS('rows_sum|platform_total|difference'), 0)::DOUBLE`;
  const compared = await database.query(`SELECT "date", "metric", ${sums} FROM (${RECONCILIATION})`);
  const { reconcile_tolerance } = entry.request as ReportRequest;
  const above = aboveTolerance(compared as unknown as ComparedDay[], reconcile_tolerance);
  return new Map(
    above.map(({ date, metric, platform_total }) => [`${date} ${metric}`, roundSum(platform_total)]),
  );
}
