import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { literal, openDatabase } from '../../../functions/tables/database.ts';
import { mergeObject, parquet, timestamp } from '../../../functions/tables/merge.ts';
import { addDays } from '../../../functions/workflow/request/dates.ts';
import { CLOSED, closedKey, LEDGER_COLUMNS, ledgerKey } from '../../../functions/workflow/table.ts';
import { type Bucket, openBucket, openToRead } from '../../knowledge/bucket.ts';
import { loadConfig } from '../../knowledge/config.ts';
import { UsageError } from '../../knowledge/errors.ts';
import { type ExportPlace, type FoundExport, findExports } from '../../knowledge/exports.ts';
import { describeFinality, judgeMonths } from '../../knowledge/final-days.ts';
import { readLedger } from '../../knowledge/ledger-days.ts';
import { judgeRange } from '../../knowledge/missing-days.ts';
import { shownReader } from '../../knowledge/months.ts';
import { missingCommand } from '../../knowledge/next-command.ts';
import { DELIVERED, FAILED } from '../exit-status.ts';
import { printDocument, printLines } from '../layout.ts';
import { examples, option } from '../options.ts';
import { lockFolder } from '../run/out-lock.ts';

interface CloseOptions extends ExportPlace {
  readonly again?: true;
  readonly anyway?: true;
  readonly json?: true;
}

/** What became of the month of one export. */
interface Closed {
  readonly account: string;
  readonly name: string;
  readonly outcome: 'closed' | 'closed before' | 'refused';
  /** The reason of a refusal, with the days in words. */
  readonly problem?: string;
  /** The commands that make the days final. */
  readonly todo?: readonly string[];
}

export function createCommand(): Command {
  return new Command('close')
    .argument('<month>', 'such as 2026-10', parseMonth)
    .argument('[name]', 'an export (default: all that have a table)')
    .option('--account <name>', 'only this account')
    .option('--again', 'close it again: what the first close kept is replaced')
    .option('--anyway', 'close it although days are missing or not final')
    .addOption(option.json())
    .option('--local', 'work on the folder of local runs instead of the deployed bucket')
    .addOption(option.out())
    .addHelpText('after', examples('close 2026-10', 'query --saved since-close'))
    .action(async (month: string, name: string | undefined, options: CloseOptions) => {
      const exports = await close(month, name, options);
      const outcome = exports.some((each) => each.outcome === 'refused') ? 'refused' : 'ok';
      if (options.json) printDocument({ outcome, month, exports });
      else printLines(exports.flatMap((each) => describeClosed(month, each)));
      process.exitCode = outcome === 'ok' ? DELIVERED : FAILED;
    });
}

function parseMonth(text: string): string {
  if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(text)) throw new InvalidArgumentError('It must be a month, YYYY-MM.');
  return text;
}

async function close(month: string, name: string | undefined, options: CloseOptions): Promise<Closed[]> {
  const now = new Date();
  const from = `${month}-01`;
  const to = `${addDays(from, 31).slice(0, 'YYYY-MM'.length)}-01`;
  await using reading = await openToRead(options);
  await using _lock = options.local ? await lockFolder(options.out) : undefined;
  const found = (await findExports(name, options, reading, now, from)).filter(
    ({ table }) => table?.kind === 'report',
  );
  if (found.length === 0) throw new UsageError(['no report with a table to close']);
  const config = loadConfig();
  const since = found.map(({ request }) => [`${request.account}.${request.name}`, from] as const);
  const readDays = await readLedger(reading, new Map(since), config, now);
  await using bucket = await openBucket(options);
  const closed: Closed[] = [];
  for (const each of found) {
    const { request, table, named } = each;
    const { account } = request;
    const judged = await judgeRange(each, shownReader(reading), { from, to }, now);
    const { days } = readDays(table?.table ?? '', account);
    const [state] = judgeMonths(judged, days, { named: { ...named, account }, config, account }, options);
    const words = state && describeFinality(state);
    if (!state || (words !== 'final' && !options.anyway)) {
      const { command, from: on } = state?.verify ?? {};
      const todo = [
        ...(command ? [`from ${on} on: ${command}`] : []),
        ...(state?.lacking === 0 ? [] : [missingCommand({ account, name: request.name }, options)]),
      ];
      closed.push({
        account,
        name: request.name,
        outcome: 'refused',
        problem: words ?? 'the table shows none of its days',
        todo,
      });
    } else {
      const outcome = await keep(month, each, bucket, now, options.again === true);
      closed.push({ account, name: request.name, outcome });
    }
  }
  return closed;
}

/** Writes what the ledger says that the days show, unless the month was closed before. */
async function keep(
  month: string,
  { request }: FoundExport,
  bucket: Bucket,
  now: Date,
  again: boolean,
): Promise<'closed' | 'closed before'> {
  const { signal } = new AbortController();
  await using scratch = await mkdtempDisposable(join(tmpdir(), 'close-'));
  const folder = scratch.path;
  const ledger = join(folder, 'ledger.parquet');
  await bucket.getFile(ledgerKey(request, month), ledger, signal);
  using database = await openDatabase(folder, signal);
  const columns = LEDGER_COLUMNS.map(({ name }) => name);
  const rows = `SELECT ${columns} FROM (
    SELECT * REPLACE (${literal(CLOSED)} AS outcome, ${timestamp(now.toISOString())} AS copied_at),
      rank() OVER (PARTITION BY date ORDER BY report_created_at DESC, report_id DESC) AS age
    FROM ${parquet(ledger)} WHERE outcome = 'shown') WHERE age = 1 ORDER BY date, metric`;
  return await mergeObject(
    { database, store: bucket, folder, signal },
    closedKey(request, month),
    async (old) =>
      old && !again ? { result: 'closed before' as const } : { next: { rows }, result: 'closed' as const },
  );
}

function describeClosed(month: string, { account, name, outcome, problem, todo = [] }: Closed): string[] {
  const line = `${account}/${name}  ${month} `;
  if (outcome === 'closed') return [`${line}is closed. Later, 'query --saved since-close' says what changed`];
  if (outcome === 'closed before') return [`${line}was closed before: --again replaces what it showed then`];
  return [
    `${line}is not closed: ${problem}. --anyway closes it all the same`,
    ...todo.map((command) => `  ${command}`),
  ];
}
