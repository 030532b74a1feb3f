import { text } from 'node:stream/consumers';
import { Command, Option } from 'commander';
import { savedQueries } from '../../catalog/queries.ts';
import { tablesOf } from '../../config/exports.ts';
import { loadConfig } from '../../knowledge/config.ts';
import { UsageError } from '../../knowledge/errors.ts';
import { alignColumns, printDocument, printLines } from '../layout.ts';
import { type CommonOptions, examples, option, parseDate } from '../options.ts';
import { printResult, type QueryResult } from './result.ts';

interface QueryOptions extends CommonOptions {
  /** True without a name. */
  readonly saved?: string | true;
  readonly day?: string;
  readonly at?: string;
  readonly csv?: true;
}

const EXAMPLES = examples(
  `query "SELECT max(date) FROM daily_campaigns WHERE account = 'acme'"`,
  'query --local "SHOW TABLES"',
  'query --local "SELECT * FROM example_restatements"',
  'query --local --csv - < spend.sql',
  'query --saved as-of --day 2026-11-03 --at 2026-11-10',
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
    .option('--day <date>', 'with --saved as-of: the day to show', parseDate)
    .option('--at <date>', 'with --saved as-of: at whose end, in UTC', parseDate)
    .option('--local', 'query the tables of the runs of this machine')
    .addOption(option.out())
    .addHelpText('after', EXAMPLES + DIALECTS)
    .action(query);
}

async function query(given: string | undefined, options: QueryOptions): Promise<void> {
  const { saved, day, at } = options;
  const isDated = day !== undefined && at !== undefined;
  if (saved === 'as-of' ? !isDated : (day ?? at) !== undefined)
    throw new UsageError(['--saved as-of needs --day and --at, and no other query takes them']);
  if ((given === undefined) === (saved === undefined))
    throw new UsageError(['give one SQL statement, or --saved NAME']);
  if (saved === true) return listSaved(options);
  const sql = saved === undefined ? await readStatement(given) : await findSaved(saved, options);
  const result = await runQuery(sql, options);
  if (result) await printResult(result, options.json ? 'json' : options.csv ? 'csv' : 'table');
}

/** Only the engine that runs the query is loaded: DuckDB takes 46 ms. */
async function runQuery(sql: string, { local, out }: QueryOptions): Promise<QueryResult | undefined> {
  if (local) return (await import('./local.ts')).runLocalQuery(sql, out);
  const { readAthenaPlace, runAthenaQuery } = await import('./athena.ts');
  return runAthenaQuery(sql, await readAthenaPlace());
}

async function readStatement(given = ''): Promise<string> {
  const sql = given === '-' ? await text(process.stdin) : given;
  if (sql.trim() === '') throw new UsageError(['the query is empty']);
  return sql;
}

async function listSaved(options: QueryOptions): Promise<void> {
  const queries = await readSaved(options);
  const lines = Object.entries(queries).map(([name, { description }]) => [name, description]);
  if (options.json) printDocument({ outcome: 'ok', queries });
  else printLines(alignColumns(lines));
}

async function findSaved(name: string, options: QueryOptions): Promise<string> {
  const queries = await readSaved(options);
  const query = Object.hasOwn(queries, name) ? queries[name] : undefined;
  if (query) return query.sql;
  const known = Object.keys(queries).join(', ') || 'none, because nothing has written a table yet';
  throw new UsageError([`there is no saved query ${name} (there are ${known})`]);
}

/** The queries that the stack saves, or those for the tables of the folder. */
async function readSaved({ local, out, day, at }: QueryOptions): Promise<ReturnType<typeof savedQueries>> {
  if (local) return (await import('./local.ts')).readSavedQueries(out, { day, at });
  const config = loadConfig();
  return savedQueries(tablesOf(config.exports, { platform: '', revision: '' }, config), { day, at, config });
}
