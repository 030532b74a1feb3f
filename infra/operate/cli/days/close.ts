import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import pMap from 'p-map';
import { openDatabase } from '../../../../functions/tables/database.ts';
import { mergeObject, parquet, selectOld, timestamp } from '../../../../functions/tables/merge.ts';
import { literal } from '../../../../functions/tables/sql.ts';
import { monthRange } from '../../../../functions/workflow/request/dates.ts';
import {
  CLOSED,
  closedKey,
  LEDGER,
  LEDGER_COLUMNS,
  ledgerKey,
  REPORT,
} from '../../../../functions/workflow/table.ts';
import { DAY, newest } from '../../../stack/catalog/ledger.ts';
import { describeDamage } from '../../days/damage.ts';
import { judgeExport } from '../../days/days.ts';
import { type ExportPlace, type FoundExport, findExports } from '../../days/exports.ts';
import { describeFinality, judgeMonths } from '../../days/final-days.ts';
import { readLedger } from '../../days/ledger-days.ts';
import { commandFor } from '../../days/next-command.ts';
import { type Bucket, openBucket, openToRead } from '../../place/bucket.ts';
import { loadConfig } from '../../place/config.ts';
import { UsageError } from '../../place/errors.ts';
import { DELIVERED, FAILED } from '../exit-status.ts';
import { printDocument, printLines } from '../layout.ts';
import { type CommonOptions, examples, option, parseMonth } from '../options.ts';
import { lockFolder } from '../run/out-lock.ts';

interface CloseOptions extends ExportPlace, CommonOptions {
  readonly again?: true;
  readonly anyway?: true;
}

export function createCommand(): Command {
  return new Command('close')
    .argument('<month>', 'such as 2026-10', parseMonth)
    .argument('[name]', 'an export (default: all that have a table)')
    .option('--account <name>', 'only this account')
    .option('--again', 'close it again: what it shows now counts from then on')
    .option('--anyway', 'close it although days are missing or not final')
    .addOption(option.json())
    .option('--local', 'work on the folder of local runs instead of the deployed bucket')
    .addOption(option.out())
    .addHelpText('after', examples('close 2026-10', 'query --saved since-close'))
    .action(async (month: string, name: string | undefined, options: CloseOptions) => {
      const exports = await close(month, name, options);
      const isRefused = exports.some((each) => each.outcome === 'refused');
      if (options.json) printDocument({ outcome: isRefused ? 'refused' : 'ok', month, exports });
      else
        printLines(
          exports.flatMap(({ account, name, todo }) => [
            `${account}/${name}  ${month} ${todo[0]}`,
            ...todo.slice(1),
          ]),
        );
      process.exitCode = isRefused ? FAILED : DELIVERED;
    });
}

/** @returns of each export what became of its month, and what to do next */
async function close(month: string, name: string | undefined, options: CloseOptions) {
  const now = new Date();
  const { start_date: from, end_date: to } = monthRange(month);
  await using reading = await openToRead(options);
  const all = await findExports(name, options, reading, now, { from, to });
  const found = all.filter(({ table }) => table?.kind === 'report');
  if (found.length === 0) throw new UsageError(['no report with a table to close']);
  await using _lock = options.local ? await lockFolder(options.out) : undefined;
  await using bucket = await openBucket(options);
  const config = loadConfig();
  const since = found.map(({ request }) => [`${request.account}.${request.name}`, from] as const);
  const readDays = await readLedger(reading, new Map(since), config, now);
  const closeOne = async (each: FoundExport) => {
    const { account, name } = each.request;
    const judged = await judgeExport(reading, each);
    const { days, closed, damaged } = readDays(name, account);
    if (damaged.length > 0)
      return { account, name, outcome: 'refused', todo: ['is not closed:', ...damaged.map(describeDamage)] };
    const closeAs = (how: { readonly again?: boolean; readonly anyway?: boolean }) =>
      `  ${commandFor(['close', month, name], { account, ...how }, options)}`;
    const before = {
      outcome: 'closed before',
      todo: ['was closed before. To close it as it is now:', closeAs({ again: true })],
    };
    if (!options.again && closed.some((each) => each.month === month)) return { account, name, ...before };
    const [state] = judgeMonths(judged, days, each.request, config, options);
    const refuse = (...todo: readonly string[]) => ({ account, name, outcome: 'refused', todo });
    const missing = `  ${commandFor(['missing', name], { account, from, to }, options)}`;
    if (!state) return refuse('is not closed: no day is in the table', missing);
    const rebuild = `  ${commandFor(['rebuild', name], { account }, options)}`;
    const shown = judged.days.filter((day) => day.shown !== undefined);
    const unlogged = shown.filter(({ day }) => !days.has(day)).length;
    if (unlogged === shown.length) return refuse('is not closed: no day is in the ledger', rebuild);
    const words = describeFinality(state);
    if (words === 'final' || options.anyway) {
      const isWritten = await writeRows(month, each, bucket, now, options.again);
      const changed = `  ${commandFor(['query'], { saved: 'since-close' }, options)}`;
      const closed = { outcome: 'closed', todo: ['is closed. To see later what changed:', changed] };
      return { account, name, ...(isWritten ? closed : before) };
    }
    const { verify, lacking } = state;
    return refuse(
      `is not closed: ${words}`,
      ...(verify
        ? [`To read the unverified days again, from ${verify.from} on:`, `  ${verify.command}`]
        : []),
      ...(unlogged > 0 ? ['To write the days that the ledger lacks:', rebuild] : []),
      ...(lacking > unlogged ? ['To see the days that lack something:', missing] : []),
      'To close it all the same:',
      closeAs({ again: options.again ?? false, anyway: true }),
    );
  };
  return await pMap(found, closeOne, { concurrency: 1 });
}

/** Adds the values that the days show now. @returns false if the month was closed before, and not `again` */
async function writeRows(month: string, { request }: FoundExport, bucket: Bucket, now: Date, again = false) {
  const { signal } = new AbortController();
  await using scratch = await mkdtempDisposable(join(tmpdir(), 'close-'));
  const folder = scratch.path;
  const ledger = join(folder, 'ledger.parquet');
  await bucket.getFile(ledgerKey(request, month), ledger, signal);
  using database = await openDatabase(folder, signal);
  await database.query(`CREATE VIEW ${LEDGER} AS FROM ${parquet(ledger)}`);
  const closed = `SELECT * REPLACE (${literal(CLOSED)} AS kind, ${timestamp(now.toISOString())} AS copied_at)
    FROM ${LEDGER} SEMI JOIN (${newest()}) USING (${DAY}, report_id, report_created_at) WHERE kind = '${REPORT}'`;
  const merging = { database, store: bucket, folder, signal };
  return await mergeObject(merging, closedKey(request, month), async (old) => {
    if (old && !again) return { result: false };
    const before = old ? `${selectOld(old, LEDGER_COLUMNS)} UNION ALL ` : '';
    return { next: { rows: `FROM (${before}${closed}) ORDER BY date, metric, copied_at` }, result: true };
  });
}
