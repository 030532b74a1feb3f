import { text } from 'node:stream/consumers';
import { Command, Option } from 'commander';
import { monthRange } from '../../../../functions/workflow/request/dates.ts';
import { type AsOf, savedQueries } from '../../../stack/catalog/queries.ts';
import { tablesOf } from '../../../stack/config/exports.ts';
import { targetOfConfig } from '../../../stack/config/sandbox-config.ts';
import { UsageError } from '../../place/errors.ts';
import { loadConfig } from '../../place/load-config.ts';
import { alignColumns, printDocument, printLines } from '../layout.ts';
import { type CommonOptions, examples, option, parseDate, parseMonth } from '../options.ts';
import { printResult, type QueryResult } from './result.ts';

interface QueryCommandOptions extends CommonOptions {
  /** True without a name. */
  readonly saved?: string | true;
  readonly month?: string;
  readonly from?: string;
  readonly to?: string;
  readonly at?: string;
  readonly csv?: true;
}

const QUERY_EXAMPLES = examples(
  `query "SELECT max(date) FROM daily_campaigns WHERE account = 'acme'"`,
  'query --local "SHOW TABLES"',
  'query --local "SELECT * FROM example_restatements"',
  'query --local --csv - < spend.sql',
  'query --saved as-of --month 2026-10 --at 2026-11-05',
);

const DIALECTS = `

The table of the export daily-campaigns is daily_campaigns. Athena runs the SQL,
and with --local DuckDB. Athena has no GROUP BY ALL.`;

export function createCommand(): Command {
  return new Command('query')
    .argument('[sql]', 'one statement; - reads it from standard input')
    .addOption(option.json())
    .addOption(new Option('--csv', 'print comma-separated values, also for spreadsheets').conflicts('json'))
    .option('--saved [name]', 'run a saved query; without a name, list them')
    .addOption(
      new Option('--month <month>', 'with --saved as-of: the month to show')
        .argParser(parseMonth)
        .conflicts(['from', 'to']),
    )
    .option('--from <date>', 'with --saved as-of: the first day to show', parseDate)
    .option('--to <date>', 'with --saved as-of: the day after the last one', parseDate)
    .option('--at <date>', 'with --saved as-of: at whose end, in UTC', parseDate)
    .option('--local', 'query the tables of the runs of this machine')
    .addOption(option.out())
    .addHelpText('after', QUERY_EXAMPLES + DIALECTS)
    .action(query);
}

async function query(statement: string | undefined, options: QueryCommandOptions): Promise<void> {
  const { saved } = options;
  checkDates(options);
  if ((statement === undefined) === (saved === undefined))
    throw new UsageError(['give one SQL statement, or --saved NAME']);
  if (saved === true) return listSaved(options);
  const sql = saved === undefined ? await readStatement(statement) : await findSaved(saved, options);
  const result = await runQuery(sql, options);
  if (result) await printResult(result, options.json ? 'json' : options.csv ? 'csv' : 'table');
}

/** @throws UsageError if a date is missing, or one is there that the query does not take */
function checkDates({ saved, month, from, to, at }: QueryCommandOptions): void {
  const hasDays = month !== undefined || (from !== undefined && to !== undefined);
  const hasAll = hasDays && at !== undefined;
  const hasSome = [month, from, to, at].some((date) => date !== undefined);
  if (saved === 'as-of' ? !hasAll : hasSome)
    throw new UsageError([
      '--saved as-of needs --at, and --month or --from and --to; no other query takes them',
    ]);
  if (from !== undefined && to !== undefined && to <= from)
    throw new UsageError([`--to ${to} is not after --from ${from}`]);
}

/** Only the engine that runs the query is loaded: DuckDB takes 46 ms. */
async function runQuery(sql: string, { local, out }: QueryCommandOptions): Promise<QueryResult | undefined> {
  if (local) return (await import('./local.ts')).runLocalQuery(sql, out);
  const { readAthenaPlace, runAthenaQuery } = await import('./athena.ts');
  return runAthenaQuery(sql, await readAthenaPlace());
}

/** @param statement `-` for the standard input */
async function readStatement(statement = ''): Promise<string> {
  const sql = statement === '-' ? await text(process.stdin) : statement;
  if (sql.trim() === '') throw new UsageError(['the query is empty']);
  return sql;
}

async function listSaved(options: QueryCommandOptions): Promise<void> {
  const queries = await readSaved(options);
  const lines = Object.entries(queries).map(([name, { description }]) => [name, description]);
  if (options.json) printDocument({ outcome: 'ok', queries });
  else printLines(alignColumns(lines));
}

async function findSaved(name: string, options: QueryCommandOptions): Promise<string> {
  const queries = await readSaved(options);
  const query = Object.hasOwn(queries, name) ? queries[name] : undefined;
  if (query) return query.sql;
  const known = Object.keys(queries).join(', ') || 'none, because nothing has written a table yet';
  throw new UsageError([`there is no saved query ${name} (there are ${known})`]);
}

/** The queries that the stack saves, or those for the tables of the folder. */
async function readSaved({
  local,
  out,
  month,
  from,
  to,
  at,
}: QueryCommandOptions): Promise<ReturnType<typeof savedQueries>> {
  const range = month === undefined ? { start_date: from, end_date: to } : monthRange(month);
  const dates: AsOf = { from: range.start_date, to: range.end_date, at };
  if (local) return (await import('./local.ts')).readSavedQueries(out, dates);
  const config = loadConfig();
  return savedQueries(tablesOf(config.exports, targetOfConfig(config), config), { ...dates, config });
}
