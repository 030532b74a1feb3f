import * as z from 'zod/mini';
import { addDays } from '../../../functions/workflow/request/dates.ts';
import { findMetric } from '../../../functions/workflow/request/dictionary.ts';
import type { MartDay } from './read-mart.ts';
import type { AccountDays, ExactSums, ShownVersion } from './table-days.ts';

const EarlierReport = z.object({
  account: z.string(),
  report_id: z.string(),
  report_created_at: z.string(),
});
type EarlierReport = Readonly<z.infer<typeof EarlierReport>>;

/**
 * The kind of an error that the numbers of a day say. The document of `check --sql --json` has it, and
 * {@link guessKind} finds it.
 */
export const Guess = z.union([
  /** A whole multiple of the table, as after a join that meets each row several times. */
  z.object({ kind: z.literal('factor'), factor: z.number() }),
  /** The values of another day, as of another time zone. `from` is that day. */
  z.object({ kind: z.literal('shifted_day'), from: z.string() }),
  z.object({ kind: z.literal('missing_account'), account: z.string() }),
  /** What the day showed before it was restated. One report for each account that shows another one now. */
  z.object({ kind: z.literal('earlier_report'), reports: z.readonly(z.array(EarlierReport)) }),
  /** Amounts of several currencies, added up. */
  z.object({ kind: z.literal('several_currencies'), accounts: z.readonly(z.array(z.string())) }),
  /** Rows of other accounts too. */
  z.object({ kind: z.literal('more_accounts'), accounts: z.readonly(z.array(z.string())) }),
  z.object({ kind: z.literal('missing_day') }),
]);
export type Guess = z.infer<typeof Guess>;

/** A day whose sums differ. */
export interface DayDifference {
  readonly date: string;
  /** Undefined if the mart has no row of the day. */
  readonly rows: MartDay | undefined;
  readonly table: ExactSums;
  /** Those that differ. */
  readonly metrics: readonly string[];
  /** The mart's value of a metric is this one, as far as it is rounded and the tolerance goes. */
  agrees(metric: string, value: bigint): boolean;
}

export interface GuessContext {
  /** All that are compared. */
  readonly metrics: readonly string[];
  /** Undefined if the mart has no accounts. */
  readonly account: string | undefined;
  /** The accounts that the mart's rows are compared with. */
  readonly members: readonly AccountDays[];
  /** The other accounts of the table. */
  readonly others: readonly AccountDays[];
  /** The mart has rows of the account on any day. */
  readonly hasRows: boolean;
  readonly currencies: Readonly<Record<string, string>>;
  /** What the table shows of the members on a day. */
  sumsOn(date: string): ExactSums;
}

const MAX_FACTOR = 10;

/** One day may equal its neighbour by chance. */
const MIN_SHIFTED_DAYS = 2;

/**
 * Guesses the kind of error of a day. One guess has to explain every metric of the day; a factor, every
 * metric that differs.
 *
 * @param shift see {@link guessShifts}
 */
export function guessKind(
  day: DayDifference,
  context: GuessContext,
  shift: Guess | undefined,
): Guess | undefined {
  return (
    guessMissingAccount(day, context) ??
    guessEarlierReport(day, context) ??
    guessFactor(day) ??
    guessMoreAccounts(day, context) ??
    shift ??
    (day.rows ? undefined : { kind: 'missing_day' })
  );
}

/** The days that have the values of the day before, or of the day after. There are several, or none. */
export function guessShifts(
  days: readonly DayDifference[],
  context: GuessContext,
): ReadonlyMap<string, Guess> {
  const shifts = [-1, 1].map((by) => {
    const shifted = days.flatMap((day) => {
      const from = addDays(day.date, by);
      const isShifted = day.rows !== undefined && isAll(day, context, context.sumsOn(from));
      return isShifted ? [[day.date, { kind: 'shifted_day', from } as const] as const] : [];
    });
    return new Map<string, Guess>(shifted);
  });
  const [largest] = shifts.toSorted((first, second) => second.size - first.size);
  return largest && largest.size >= MIN_SHIFTED_DAYS ? largest : new Map();
}

function isAll(day: DayDifference, { metrics }: GuessContext, sums: ExactSums): boolean {
  return metrics.every((metric) => day.agrees(metric, sums.get(metric) ?? 0n));
}

function guessFactor({ metrics, table, agrees }: DayDifference): Guess | undefined {
  const shownOf = (metric: string) => table.get(metric) ?? 0n;
  if (metrics.some((metric) => shownOf(metric) === 0n)) return undefined;
  for (let factor = 2; factor <= MAX_FACTOR; factor += 1) {
    const isFactor = metrics.every((metric) => agrees(metric, shownOf(metric) * BigInt(factor)));
    if (isFactor) return { kind: 'factor', factor };
  }
  return undefined;
}

function guessMissingAccount(day: DayDifference, context: GuessContext): Guess | undefined {
  const { account, members, hasRows } = context;
  if (account !== undefined) return hasRows ? undefined : { kind: 'missing_account', account };
  // A day without values of the only account has rows of it.
  if (!day.rows || members.length < 2) return undefined;
  const missing = members.find(({ days }) => {
    const lacking = days.get(day.date)?.shown ?? new Map();
    return isAll(day, context, subtract(day.table, lacking));
  });
  return missing && { kind: 'missing_account', account: missing.account };
}

/** Looks for a time at which the members showed what the mart has. */
function guessEarlierReport(day: DayDifference, context: GuessContext): Guess | undefined {
  if (!day.rows) return undefined;
  const histories = context.members.map(({ account, days }) => {
    return { account, versions: days.get(day.date)?.versions ?? [] };
  });
  const times = new Set(histories.flatMap(({ versions }) => versions.map(({ shown_at }) => shown_at)));
  const newestFirst = [...times].sort((first, second) => second - first);
  for (const time of newestFirst) {
    const then = histories.map(({ account, versions }) => {
      const version = versions.findLast(({ shown_at }) => shown_at <= time);
      return { account, version, isNow: version === versions.at(-1) };
    });
    const sums = then.flatMap(({ version }) => version?.sums ?? []).reduce(add, new Map());
    if (!isAll(day, context, sums)) continue;
    const reports = then.flatMap(({ account, version, isNow }) =>
      version && !isNow ? [toEarlier(account, version)] : [],
    );
    if (reports.length > 0) return { kind: 'earlier_report', reports };
  }
  return undefined;
}

function toEarlier(account: string, { report_id, report_created_at }: ShownVersion): EarlierReport {
  return { account, report_id, report_created_at };
}

/** The mart's rows may be those of another account too, or of all. */
function guessMoreAccounts(day: DayDifference, context: GuessContext): Guess | undefined {
  const { members, others, currencies } = context;
  const additions = [...others.map((account) => [account]), others];
  for (const addition of additions) {
    if (addition.length === 0) continue;
    const more = addition.map(({ days }) => days.get(day.date)?.shown ?? new Map<string, bigint>());
    if (!isAll(day, context, [day.table, ...more].reduce(add, new Map()))) continue;
    const accounts = [...members, ...addition].map(({ account }) => account);
    const several = new Set(accounts.flatMap((account) => currencies[account] ?? []));
    const hasAmounts = context.metrics.some((metric) => findMetric(metric)?.unit === 'money');
    return { kind: several.size > 1 && hasAmounts ? 'several_currencies' : 'more_accounts', accounts };
  }
  return undefined;
}

function add(first: ExactSums, second: ExactSums): ExactSums {
  const sums = new Map(first);
  for (const [metric, value] of second) sums.set(metric, (sums.get(metric) ?? 0n) + value);
  return sums;
}

function subtract(whole: ExactSums, part: ExactSums): ExactSums {
  return new Map([...whole].map(([metric, value]) => [metric, value - (part.get(metric) ?? 0n)]));
}
