import { type DayState, TO_EXPORT } from '../../functions/deliveries/judge.ts';
import { dateIn, daysBetween } from '../../functions/workflow/request/dates.ts';
import { TABLES_PREFIX, type TableSchema } from '../../functions/workflow/table.ts';
import { type ConfiguredEntry, tablesOf, withColumns } from '../config/exports.ts';
import { newestRestatements, rowsPerDay, type SumOverTime, sumsOverTime } from '../config/queries.ts';
import { type DocumentedTable, documentTable } from '../config/table-words.ts';
import { type Folder, openToRead } from '../knowledge/bucket.ts';
import { loadConfig } from '../knowledge/config.ts';
import { readDeployment, stackName } from '../knowledge/deployment.ts';
import type { FoundExport } from '../knowledge/exports.ts';
import {
  findRemedies,
  groupMissing,
  type JudgedRange,
  judgeRange,
  LACKS,
} from '../knowledge/missing-days.ts';
import { showOn } from '../knowledge/months.ts';
import { explainCommand } from '../knowledge/next-command.ts';
import { failureOf, isRunning, type ReadExport, readExports } from '../knowledge/status.ts';
import { countDays } from './calendar.ts';
import type { Freshness, PageContents, PageDay, PageExport } from './contents.ts';
import { openTables, type TableFacts } from './read-tables.ts';

/** Executions of each export. */
const MAX_EXECUTIONS = 10;

/** Charts side by side. */
const MAX_METRICS = 3;

/** @throws UsageError if the folder has no runs, or no stack was deployed from here */
export async function readPage(folder: Folder, now: Date): Promise<PageContents> {
  await using bucket = await openToRead(folder);
  const exports = await readExports(undefined, folder, bucket, now);
  await using tables = await openTables(bucket, await bucket.list(TABLES_PREFIX));
  const described = describeTables(exports);
  const pages: PageExport[] = [];
  // One after the other, because they share a connection to DuckDB.
  for (const each of exports) {
    const table = each.found?.table;
    const words = described.get(table?.table ?? '');
    const facts = table && words && (await tables.read(table, words.metrics));
    pages.push(await describeExport(each, { ...words, facts }, folder, now));
  }
  return {
    made_at: now.toISOString(),
    place: await describePlace(folder),
    exports: pages.toSorted((one, other) => severityOf(one) - severityOf(other)),
  };
}

async function describePlace({ local, out }: Folder): Promise<string> {
  if (local) return out;
  const { region, awsAccount } = await readDeployment();
  return `the stack ${stackName()} in ${region} of AWS account ${awsAccount}`;
}

type Metrics = SumOverTime['metrics'];

interface DescribedTable {
  readonly words: DocumentedTable;
  readonly metrics: Metrics;
}

/** The tables of the exports, by name. */
function describeTables(exports: readonly ReadExport[]): Map<string, DescribedTable> {
  const config = loadConfig();
  const entries = exports.flatMap(({ found }): ConfiguredEntry[] =>
    found?.table ? [withColumns(Object(found.input), config.exports)] : [],
  );
  return new Map(
    tablesOf(entries, { platform: '', revision: '' }, config).map((schema) => {
      const words = documentTable(schema, entries);
      return [schema.table, { words, metrics: wantedMetrics(schema, words) }];
    }),
  );
}

function wantedMetrics({ columns }: TableSchema, words: DocumentedTable): Metrics {
  const addsUp = new Set(words.columns.filter((each) => each.adds_up).map(({ name }) => name));
  return columns
    .filter(({ name, type }) => addsUp.has(name) && type !== 'string')
    .toSorted((one, other) => Number(other.name === 'spend') - Number(one.name === 'spend'))
    .slice(0, MAX_METRICS);
}

interface KnownTable extends Partial<DescribedTable> {
  readonly facts: TableFacts | undefined;
}

async function describeExport(
  each: ReadExport,
  { words, metrics = [], facts }: KnownTable,
  folder: Folder,
  now: Date,
): Promise<PageExport> {
  const { account, name, executions, newest_day, found } = each;
  // Without its table, a day is judged by its delivery.
  const judged =
    found && facts?.problem !== undefined && !facts.shown ? { ...found, table: undefined } : found;
  const days = await describeDays(judged, facts, executions.filter(isRunning), folder, now);
  const failure = failureOf(each, days.judged);
  return {
    account,
    name,
    kind: found?.request.kind ?? 'report',
    days: days.days,
    ranges: days.ranges,
    problem: facts?.problem,
    sums: facts?.sums,
    restatements: facts?.restatements ?? [],
    older_restatements: facts?.older_restatements ?? 0,
    freshness: describeFreshness(newest_day, found, now),
    executions: executions.slice(0, MAX_EXECUTIONS),
    failure: failure && { ...failure, command: explainCommand(failure.execution, folder) },
    table: words,
    queries:
      words && facts?.shown && found?.request.kind === 'report'
        ? queriesOf(account, words, metrics, facts)
        : {},
  };
}

/** A day that is exported now counts as missing until it is delivered. */
async function describeDays(
  found: FoundExport | undefined,
  facts: TableFacts | undefined,
  running: ReadExport['executions'],
  folder: Folder,
  now: Date,
): Promise<Pick<PageExport, 'days' | 'ranges'> & { readonly judged?: JudgedRange['days'] }> {
  if (!found || found.request.kind === 'purchases') return { ranges: [] };
  const shown = facts?.shown ?? {};
  const range = await judgeRange(found, async (table, days) => showOn(days, table, shown), {}, now);
  const remedies = findRemedies(groupMissing(found, range), found.named, folder);
  const ranges = remedies.flatMap(({ ranges, command }) => ranges.map((each) => ({ ...each, command })));
  const isRunning = (day: string) =>
    running.some(({ start_date = '', end_date = '' }) => start_date <= day && day < end_date);
  const stateOf = (day: string, state: DayState, rows: number | undefined): PageDay['state'] => {
    if (state === 'present') return rows === 0 ? 'empty' : 'rows';
    return TO_EXPORT.has(state) && isRunning(day) ? 'running' : state;
  };
  return {
    judged: range.days,
    days: range.days.map(({ day, state }) => {
      const { rows } = shown[day] ?? {};
      return { date: day, state: stateOf(day, state, rows), rows, restated: facts?.restated[day] ?? 0 };
    }),
    ranges: ranges.toSorted((one, other) => one.start_date.localeCompare(other.start_date)),
  };
}

function describeFreshness(
  newest_day: string | undefined,
  found: FoundExport | undefined,
  now: Date,
): Freshness {
  const { deliveries = [], request } = found ?? {};
  const today = dateIn((request?.kind === 'report' && request.time_zone) || 'UTC', now);
  return {
    newest_day,
    delivered_at: deliveries
      .map(({ manifest }) => manifest.published_at)
      .sort()
      .at(-1),
    days_behind: newest_day === undefined ? undefined : Math.max(0, daysBetween(newest_day, today) - 1),
  };
}

function queriesOf(
  account: string,
  { table }: DocumentedTable,
  metrics: Metrics,
  { sums, restatements }: TableFacts,
): PageExport['queries'] {
  const shown = metrics.filter(({ name }) => sums?.metrics.some((metric) => metric.name === name));
  return {
    days: rowsPerDay(table, account),
    sums: sums && sumsOverTime(table, account, { ...sums, metrics: shown }),
    restatements: restatements.length > 0 ? newestRestatements(table, account) : undefined,
  };
}

/** A failure is worst, then come the days that lack something. */
function severityOf({ failure, days }: PageExport): number {
  const counts = countDays({ days });
  return [failure, ...LACKS.map((lack) => counts?.[lack]), true].findIndex(Boolean);
}
