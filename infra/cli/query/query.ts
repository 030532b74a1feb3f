import { text } from 'node:stream/consumers';
import { Command, Option } from 'commander';
import { UsageError } from '../errors.ts';
import { printDocument, printLines } from '../layout.ts';
import { type CommonOptions, examples, localOption, option } from '../options.ts';
import { type Format, printResult, type QueryResult } from './result.ts';

interface QueryOptions extends CommonOptions {
  readonly save?: string;
  readonly csv?: true;
  readonly spreadsheet?: true;
}

const EXAMPLES = examples(
  `query "SELECT max(date) FROM daily_campaigns WHERE account = 'acme'"`,
  'query --local "SHOW TABLES"',
  'query --local "SELECT * FROM example_restatements"',
  'query --local --csv - < spend.sql',
  'query --local --save ads.duckdb',
);

const DIALECTS = `

The table of the export daily-campaigns is daily_campaigns. Athena runs the SQL,
and with --local DuckDB. Athena has no GROUP BY ALL.`;

export function createQueryCommand(): Command {
  return new Command('query')
    .argument('[sql]', 'one statement; - reads it from standard input')
    .addOption(option.json())
    .addOption(new Option('--csv', 'print comma-separated values on stdout').conflicts('json'))
    .addOption(
      new Option('--spreadsheet', 'like --csv, for Excel and others: no cell is a formula').conflicts([
        'json',
        'csv',
      ]),
    )
    .option('--local', 'query the tables of the runs of this machine')
    .addOption(option.out())
    .addOption(
      localOption('--save <file>', 'instead of a query, write a DuckDB database with a view of each table'),
    )
    .addHelpText('after', EXAMPLES + DIALECTS)
    .action(query);
}

async function query(given: string | undefined, options: QueryOptions): Promise<void> {
  const { save } = options;
  if ((given === undefined) === (save === undefined))
    throw new UsageError(['give one SQL statement, or --save FILE']);
  if (save !== undefined) return saveViews(save, options);
  const sql = given === '-' ? await text(process.stdin) : (given ?? '');
  if (sql.trim() === '') throw new UsageError(['the query is empty']);
  const result = await (options.local ? queryLocal(sql, options.out) : queryDeployed(sql));
  if (result) await printResult(result, formatOf(options));
}

function formatOf({ json, csv, spreadsheet }: QueryOptions): Format {
  if (json) return 'json';
  if (spreadsheet) return 'spreadsheet';
  return csv ? 'csv' : 'table';
}

async function saveViews(file: string, { out, json }: QueryOptions): Promise<void> {
  const { saveDatabase } = await import('./local.ts');
  const views = await saveDatabase(file, out);
  if (json) printDocument({ outcome: 'ok', file, views });
  else printLines([`${file} has the views ${views.join(', ')}`]);
}

/** Only the engine that runs the query is loaded: DuckDB takes 46 ms. */
async function queryLocal(sql: string, out: string): Promise<QueryResult> {
  const { runLocalQuery } = await import('./local.ts');
  return runLocalQuery(sql, out);
}

async function queryDeployed(sql: string): Promise<QueryResult | undefined> {
  const { readAthenaPlace, runAthenaQuery } = await import('./athena.ts');
  return runAthenaQuery(sql, await readAthenaPlace());
}
