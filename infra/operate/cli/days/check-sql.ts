import { statSync } from 'node:fs';
import { count } from '../../../../functions/workflow/count.ts';
import { describeDays } from '../../../../functions/workflow/request/dates.ts';
import { checkMart, type MartCheck } from '../../check/check-mart.ts';
import type { Guess } from '../../check/guesses.ts';
import { describeDamage } from '../../days/damage.ts';
import type { AskedDays } from '../../days/days-to-look-at.ts';
import { type ExportPlace, findConfigured } from '../../days/find-exports.ts';
import { openToRead } from '../../place/bucket.ts';
import { refuse } from '../../place/errors.ts';
import { DELIVERED, FAILED } from '../exit-status.ts';
import { printDocument, printLines } from '../layout.ts';
import type { CommonOptions } from '../options.ts';
import { type MartSource, readMartResult } from '../query/mart-result.ts';

export interface CheckSqlOptions extends ExportPlace, AskedDays, CommonOptions {
  readonly sql?: string;
  readonly file?: string;
  readonly database?: string;
  readonly tolerance?: string;
}

/** Somebody asks for the comparison with a mart. */
export function isAboutMart({ sql, file, database, tolerance }: CheckSqlOptions): boolean {
  return [sql, file, database, tolerance].some((option) => option !== undefined);
}

/** Compares a mart with the table of an export, prints the result, and sets the exit status. */
export async function runMartCheck(name: string, options: CheckSqlOptions): Promise<void> {
  refuse(findOptionFaults(options));
  if (!options.local) findConfigured(name, options);
  const result = await readMartResult(martSource(options), options);
  if (!result) return;
  await using bucket = await openToRead(options);
  const tolerance = Number(options.tolerance ?? 0);
  const checked = await checkMart(name, result, { ...options, tolerance }, bucket, new Date());
  if (options.json) printDocument(checked);
  else printLines(describeMartCheck(checked));
  process.exitCode = checked.outcome === 'ok' ? DELIVERED : FAILED;
}

function findOptionFaults(options: CheckSqlOptions): string[] {
  const { tolerance, from, to } = options;
  return [
    ...findSourceFaults(options),
    ...(tolerance === undefined || isShare(tolerance)
      ? []
      : [`--tolerance ${tolerance} is no share: it must be from 0 to below 1, such as 0.01`]),
    ...(from !== undefined && to !== undefined && to <= from
      ? [`--to ${to} is not after --from ${from}`]
      : []),
  ];
}

function findSourceFaults({ sql, file, database }: CheckSqlOptions): string[] {
  return [
    ...(sql === undefined && file === undefined ? ['give the mart: --sql or --file'] : []),
    ...(sql !== undefined && file !== undefined ? ['give --sql or --file, not both'] : []),
    ...(sql?.trim() === '' ? ['the query of --sql is empty'] : []),
    ...(database !== undefined && sql === undefined ? ['--database needs --sql, which runs on it'] : []),
    ...(file !== undefined && !isFile(file) ? [`--file ${file} is no file`] : []),
    ...(database !== undefined && !isFile(database) ? [`--database ${database} is no file`] : []),
  ];
}

function isShare(text: string): boolean {
  const share = Number(text);
  return text.trim() !== '' && share >= 0 && share < 1;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

function martSource({ sql = '', file, database }: CheckSqlOptions): MartSource {
  return file === undefined ? { sql, database } : { file };
}

export function describeMartCheck(checked: MartCheck): string[] {
  const { name, account, metrics, agree, different, not_compared, left_out, unknown_accounts } = checked;
  const range = checked.end_date > checked.start_date ? describeDays(checked) : 'no day';
  const place = account === undefined ? name : `${account}/${name}`;
  return [
    `${place}  ${range}  ${metrics.join(', ')}: ${count(agree, 'day')} agree${agree === 1 ? 's' : ''}, ${different.length} differ${different.length === 1 ? 's' : ''}`,
    ...different.flatMap(({ date, account: ofDay, differences, guess }) => {
      const day = ofDay === undefined ? date : `${date}  ${ofDay}`;
      const values = differences.map(
        ({ metric, mart, table, difference }) =>
          `  ${day}  ${metric}: mart ${mart}, table ${table}, difference ${difference}`,
      );
      return [...values, ...(guess ? [`    ${describeGuess(guess)}`] : [])];
    }),
    ...not_compared.map(
      (days) =>
        `  not compared: ${describeDays(days)} of ${days.account}, which the table ${LACKS[days.state]}`,
    ),
    ...(left_out.length > 0
      ? [`  left out, because they are no metrics that add up: ${left_out.join(', ')}`]
      : []),
    ...(unknown_accounts.length > 0
      ? [`  accounts that do not have this export: ${unknown_accounts.join(', ')}`]
      : []),
    ...checked.damaged.map((key) => `  ${describeDamage(key)}`),
  ];
}

const LACKS = { missing: 'does not have', behind: 'does not show as delivered' } as const;

function describeGuess(guess: Guess): string {
  switch (guess.kind) {
    case 'factor':
      return `${guess.factor} times the table: a join may meet each row ${guess.factor} times`;
    case 'shifted_day':
      return `the table's values of ${guess.from}: the day may be of another time zone`;
    case 'missing_account':
      return `the account ${guess.account} is missing`;
    case 'earlier_report':
      return `what the day showed before it was restated: ${guess.reports
        .map((report) => `report ${report.report_id} of ${report.report_created_at} (${report.account})`)
        .join(', ')}`;
    case 'several_currencies':
      return `the sum of ${guess.accounts.join(', ')}, whose amounts are of several currencies`;
    case 'more_accounts':
      return `the sum of ${guess.accounts.join(', ')}`;
    case 'missing_day':
      return 'the mart has no row of the day';
  }
}
