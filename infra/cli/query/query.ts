import { text } from 'node:stream/consumers';
import { Command, Option } from 'commander';
import { UsageError } from '../errors.ts';
import { examples, option } from '../options.ts';
import { type Format, printResult, type QueryResult } from './result.ts';

interface QueryOptions {
  readonly out: string;
  readonly deployed?: true;
  readonly json?: true;
  readonly csv?: true;
}

const SPEND = 'SELECT date, campaign_name, sum(spend) AS spend FROM example GROUP BY ALL ORDER BY ALL';

const EXAMPLES = examples(
  'query "SHOW TABLES"',
  'query "DESCRIBE example"',
  `query "${SPEND}"`,
  'query --csv - < spend.sql',
  `query --deployed "SELECT max(date) FROM daily_campaigns WHERE account = 'acme'"`,
);

const DIALECTS = `

The table of the export daily-campaigns is daily_campaigns. DuckDB runs the SQL,
and with --deployed Trino, which has no GROUP BY ALL.`;

export function createQueryCommand(): Command {
  return new Command('query')
    .description('Run SQL on the tables of the exports: those of a local run, or with --deployed in Athena.')
    .argument('<sql>', 'one statement; - reads it from standard input')
    .addOption(new Option('--out <dir>', 'the folder of the local run').default('out').conflicts('deployed'))
    .option('--deployed', "run the query in Athena, on the stack of the last 'npm run deploy'")
    .addOption(option.json())
    .addOption(new Option('--csv', 'print comma-separated values on stdout').conflicts('json'))
    .addHelpText('after', EXAMPLES + DIALECTS)
    .action(query);
}

async function query(given: string, options: QueryOptions): Promise<void> {
  const sql = given === '-' ? await text(process.stdin) : given;
  if (sql.trim() === '') throw new UsageError(['the query is empty']);
  const result = await (options.deployed ? queryDeployed(sql) : queryLocal(sql, options.out));
  if (result) printResult(result, formatOf(options));
}

function formatOf({ json, csv }: QueryOptions): Format {
  if (json) return 'json';
  return csv ? 'csv' : 'table';
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
