import * as z from 'zod/mini';
import { metricsOf } from '../../../functions/tables/sums.ts';
import { addDays, dateIn, earliest, latestDate } from '../../../functions/workflow/request/dates.ts';
import { findMetric } from '../../../functions/workflow/request/dictionary.ts';
import type { AskedDays } from '../days/days-to-look-at.ts';
import { type ExportPlace, findExports } from '../days/find-exports.ts';
import type { ReadableBucket } from '../place/bucket.ts';
import { UsageError } from '../place/errors.ts';
import { requireSchema } from './checked-table.ts';
import { compareMart } from './compare-mart.ts';
import { Guess } from './guesses.ts';
import { type Mart, type MartResult, readMart } from './read-mart.ts';
import { readTableDays } from './table-days.ts';

const Range = { start_date: z.string(), end_date: z.string() };

/** The document that `check --sql --json` prints. */
export const MartCheck = z.object({
  version: z.literal('1'),
  /** `nothing_compared` if the table can judge none of the days. */
  outcome: z.enum(['ok', 'differs', 'nothing_compared']),
  name: z.string(),
  /** Only this account was compared. */
  account: z.optional(z.string()),
  /** The day after the last one. */
  ...Range,
  metrics: z.readonly(z.array(z.string())),
  /** Columns that are neither date nor account nor a metric that adds up. */
  left_out: z.readonly(z.array(z.string())),
  /** The number of days that agree: of each account, if the mart has accounts. */
  agree: z.number(),
  different: z.readonly(
    z.array(
      z.object({
        date: z.string(),
        account: z.optional(z.string()),
        differences: z.readonly(
          z.array(
            z.object({ metric: z.string(), mart: z.string(), table: z.string(), difference: z.string() }),
          ),
        ),
        guess: z.optional(Guess),
      }),
    ),
  ),
  /** Days that are missing or behind in the table. */
  not_compared: z.readonly(
    z.array(z.object({ ...Range, account: z.string(), state: z.enum(['missing', 'behind']) })),
  ),
  /** Accounts of the mart that do not have the export. None are named if one account was compared. */
  unknown_accounts: z.readonly(z.array(z.string())),
  /** The keys of objects that cannot be read, or tell what cannot be true. */
  damaged: z.readonly(z.array(z.string())),
});
export type MartCheck = z.infer<typeof MartCheck>;

export interface MartOptions extends ExportPlace, AskedDays {
  /** The share of the table's value by which a sum may differ. */
  readonly tolerance: number;
}

/**
 * Compares the sums of a mart with what the table of an export shows.
 *
 * @param result of the query or the file
 * @throws UsageError if the export has no table of days, or if the mart cannot be compared with it
 */
export async function checkMart(
  name: string,
  result: MartResult,
  { account, tolerance, ...options }: MartOptions,
  bucket: ReadableBucket,
  now: Date,
): Promise<MartCheck> {
  const { from, to } = options;
  const known = await findExports(name, options, bucket, now);
  const schema = await requireSchema(name, known, options);
  if (account !== undefined && !known.some(({ request }) => request.account === account))
    throw new UsageError([`there is no export ${account}/${name}`]);
  const additive = metricsOf(schema.columns).filter(
    ({ name: metric }) => findMetric(metric)?.adds_up !== false,
  );
  const metrics = additive.map((column) => column.name);
  const mart = await readMart(result, metrics);
  const accounts = known.map(({ request }) => request.account);
  refuseSeveralCurrencies(mart, schema.currencies, account === undefined ? accounts : [account]);
  const first = from ?? earliest(mart.days.map(({ date }) => date));
  if (first === undefined)
    throw new UsageError(['the mart has no rows, so nothing says which days to compare: give --from']);
  // The days around are looked at too: a mart may have the values of the day before or after.
  const tomorrow = addDays(dateIn('UTC', now), 1);
  const looked = {
    from: earliest([addDays(first, -1), dateIn('UTC', now)]) ?? first,
    to: addDays(latestDate([tomorrow, to ?? tomorrow]) ?? tomorrow, 1),
  };
  const exports = await findExports(name, options, bucket, now, looked);
  const days = await readTableDays(exports, bucket, now);
  const { currencies } = schema;
  const doubles = new Set(additive.filter(({ type }) => type === 'double').map((column) => column.name));
  const question = { mart, accounts: days, account, doubles, currencies, from: first, to, tolerance };
  const compared = compareMart(question);
  const damaged = days
    .filter((entry) => account === undefined || entry.account === account)
    .flatMap((entry) => entry.damaged);
  const { different, unknown_accounts, agree } = compared;
  const isDifferent = [different, unknown_accounts, damaged].some(({ length }) => length > 0);
  const { metrics: ofMart, left_out } = mart;
  return {
    version: '1',
    outcome: martOutcome(isDifferent, agree),
    name,
    ...(account !== undefined && { account }),
    metrics: ofMart,
    left_out,
    ...compared,
    damaged,
  };
}

function martOutcome(isDifferent: boolean, agree: number): MartCheck['outcome'] {
  if (isDifferent) return 'differs';
  return agree === 0 ? 'nothing_compared' : 'ok';
}

/** A sum of amounts of several currencies is no amount. */
function refuseSeveralCurrencies(
  { hasAccounts, metrics }: Mart,
  currencies: Readonly<Record<string, string>>,
  accounts: readonly string[],
): void {
  const amounts = metrics.filter((metric) => findMetric(metric)?.unit === 'money');
  const several = new Set(accounts.flatMap((account) => currencies[account] ?? []));
  if (hasAccounts || several.size < 2 || amounts.length === 0) return;
  throw new UsageError([
    `the mart adds amounts of several currencies up (${[...several].sort().join(', ')}) in ${amounts.join(', ')}: give it a column account, or compare one --account`,
  ]);
}
