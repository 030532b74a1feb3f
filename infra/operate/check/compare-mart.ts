import type { DayState } from '../../../functions/days/judge.ts';
import {
  addDays,
  type DateRange,
  daysOf,
  groupDays,
  latestDate,
} from '../../../functions/workflow/request/dates.ts';
import { countDecimals, formatAmount } from './exact-amounts.ts';
import { type DayDifference, type Guess, guessKind, guessShifts } from './guesses.ts';
import type { Mart, MartDay } from './read-mart.ts';
import type { AccountDays, ExactSums, TableDay } from './table-days.ts';

export interface MartQuestion {
  readonly mart: Mart;
  /** All accounts of the table. */
  readonly accounts: readonly AccountDays[];
  /** Only this account is compared. */
  readonly account?: string | undefined;
  /** Metrics of the table that are floating-point numbers. Their sums have twelve digits. */
  readonly doubles: ReadonlySet<string>;
  /** Of the amounts, by account. */
  readonly currencies: Readonly<Record<string, string>>;
  /** The first day. */
  readonly from: string;
  /** The day after the last one. Default: after the newest day that the table shows. */
  readonly to?: string | undefined;
  /** The share of the table's value by which a sum may differ. */
  readonly tolerance: number;
}

/** As a share of a number. */
const HALF_OF_TWELFTH_DIGIT = 5e-12;

/** A value that differs. Amounts are texts, because they may have more digits than a JSON number. */
export interface DifferentValue {
  readonly metric: string;
  readonly mart: string;
  readonly table: string;
  /** The mart's value less the table's. */
  readonly difference: string;
}

export interface DifferentDay {
  readonly date: string;
  /** Absent if the mart has no accounts. */
  readonly account?: string;
  readonly differences: readonly DifferentValue[];
  readonly guess?: Guess;
}

/** Days that the table cannot judge. */
export interface NotCompared extends DateRange {
  readonly account: string;
  readonly state: Extract<DayState, 'missing' | 'behind'>;
}

export interface MartComparison extends DateRange {
  readonly agree: number;
  readonly different: readonly DifferentDay[];
  readonly not_compared: readonly NotCompared[];
  readonly unknown_accounts: readonly string[];
}

/**
 * What is compared with the same rows of the mart: an account, or all of them if the mart has no accounts.
 */
interface Unit {
  readonly account: string | undefined;
  readonly members: readonly AccountDays[];
  /** The rows of the mart, by date. */
  readonly days: ReadonlyMap<string, MartDay>;
}

/** Compares the sums of a mart with those of the table. Days are compared where the table can judge them. */
export function compareMart(question: MartQuestion): MartComparison {
  const { mart, accounts, account } = question;
  const compared = accounts.filter((entry) => account === undefined || entry.account === account);
  const units = mart.hasAccounts
    ? compared.map((member) => createUnit(member.account, [member], mart.days))
    : [createUnit(undefined, compared, mart.days)];
  const range = comparedRange(question, compared);
  const days = daysOf(range);
  const open = new OpenDays();
  const rounded = roundedMetrics(question, compared);
  const different: DifferentDay[] = [];
  let agree = 0;
  for (const unit of units) {
    const comparison = compareUnit(unit, days, { ...question, rounded }, open);
    agree += comparison.agree;
    different.push(...explainDays(comparison.differing, unit, question));
    if (question.to === undefined) addNewer(open, unit, range.end_date);
  }
  const known = new Set(accounts.map((entry) => entry.account));
  const names = account === undefined ? mart.days.flatMap((day) => day.account ?? []) : [];
  return {
    ...range,
    agree,
    different: different.toSorted((first, second) => compareTexts(first.date, second.date)),
    not_compared: open.toRanges(),
    unknown_accounts: [...new Set(names.filter((name) => !known.has(name)))].sort(),
  };
}

interface RoundedQuestion extends MartQuestion {
  readonly rounded: ReadonlySet<string>;
}

/** Metrics that the mart may have rounded. A column with the decimals of the table has every digit of it. */
function roundedMetrics(
  { mart, doubles }: MartQuestion,
  accounts: readonly AccountDays[],
): ReadonlySet<string> {
  const shown = accounts.flatMap(({ days }) => [...days.values()].flatMap((day) => [...(day.shown ?? [])]));
  const hasMore = (metric: string, decimals: number) =>
    shown.some(([name, value]) => name === metric && countDecimals(value) > decimals);
  // The sums of floating-point numbers may have fewer decimals than the numbers.
  const isRounded = (metric: string) =>
    doubles.has(metric) || hasMore(metric, mart.decimals.get(metric) ?? 0);
  return new Set(mart.metrics.filter(isRounded));
}

/** Compares each day of a unit. Adds the days that the table cannot judge to `open`. */
function compareUnit(unit: Unit, days: readonly string[], question: RoundedQuestion, open: OpenDays) {
  const differing: DayDifference[] = [];
  let agree = 0;
  for (const date of days) {
    const members = unit.members.filter(({ begins }) => begins !== undefined && begins <= date);
    const lacking = members.flatMap((member) => lackingOf(member, date));
    if (lacking.length > 0) open.add(date, lacking);
    else if (members.length === 0) open.addUnknown(date, unit);
    else {
      const difference = compareDay(unit, date, question);
      if (difference.metrics.length > 0) differing.push(difference);
      else agree += 1;
    }
  }
  return { agree, differing };
}

function createUnit(
  account: string | undefined,
  members: readonly AccountDays[],
  days: readonly MartDay[],
): Unit {
  const ofUnit = days.filter((day) => account === undefined || day.account === account);
  return { account, members, days: new Map(ofUnit.map((day) => [day.date, day])) };
}

/** Ends after the newest day that the table shows, unless somebody asks for other days. */
function comparedRange({ from, to }: MartQuestion, accounts: readonly AccountDays[]): DateRange {
  const shown = accounts.flatMap(({ days }) => [...days].flatMap(([date, day]) => (day.shown ? [date] : [])));
  const newest = latestDate(shown);
  const end = to ?? (newest === undefined ? from : addDays(newest, 1));
  // The mart may begin after the newest day.
  return { start_date: from, end_date: end < from ? from : end };
}

/** A day of an account that the table lacks, or of which it lacks the newest report. */
function lackingOf({ account, days }: AccountDays, date: string) {
  const state = days.get(date)?.state ?? 'missing';
  return state === 'missing' || state === 'behind' ? [{ account, state } as const] : [];
}

/** Names newer days than those that are compared: those that are behind, and those that only the mart has. */
function addNewer(open: OpenDays, unit: Unit, since: string): void {
  const behind = unit.members.flatMap((member) =>
    [...member.days].flatMap(([date, { state }]) => (state === 'behind' ? [date] : [])),
  );
  const newer = new Set([...behind, ...unit.days.keys()].filter((date) => date >= since));
  for (const date of newer) {
    const lacking = unit.members.flatMap((member) => lackingOf(member, date));
    open.add(
      date,
      lacking.filter(({ state }) => state === 'behind' || unit.days.has(date)),
    );
  }
}

/** Days that are not compared. */
class OpenDays {
  readonly #days: {
    readonly date: string;
    readonly account: string;
    readonly state: 'missing' | 'behind';
  }[] = [];

  add(
    date: string,
    accounts: readonly { readonly account: string; readonly state: 'missing' | 'behind' }[],
  ): void {
    this.#days.push(...accounts.map((entry) => ({ date, ...entry })));
  }

  /** A day before any account had one is named if the mart has it. */
  addUnknown(date: string, { members, days }: Unit): void {
    if (days.has(date))
      this.add(
        date,
        members.map(({ account }) => ({ account, state: 'missing' })),
      );
  }

  toRanges(): NotCompared[] {
    const alike = Map.groupBy(this.#days, ({ account, state }) => JSON.stringify([account, state]));
    const ranges = [...alike.values()].flatMap((group) => {
      const [first] = group;
      if (!first) return [];
      const { account, state } = first;
      const dates = [...new Set(group.map(({ date }) => date))].sort();
      return groupDays(dates).map((range) => ({ account, state, ...range }));
    });
    return ranges.toSorted((first, second) => compareTexts(first.start_date, second.start_date));
  }
}

function compareDay(unit: Unit, date: string, question: RoundedQuestion): DayDifference {
  const { mart, doubles, rounded, tolerance } = question;
  const rows = unit.days.get(date);
  const table = tableSums(unit.members, date);
  const agrees = (metric: string, value: bigint) => {
    const sum = rows?.sums.get(metric);
    const distance = (sum?.units ?? 0n) - value;
    const share = tolerance + (doubles.has(metric) ? HALF_OF_TWELFTH_DIGIT : 0);
    const lost = (sum?.noise ?? 0) + (rounded.has(metric) ? (sum?.rounding ?? 0) : 0);
    return Math.abs(Number(distance)) <= Math.abs(Number(value)) * share + lost;
  };
  const metrics = mart.metrics.filter((metric) => !agrees(metric, table.get(metric) ?? 0n));
  return { date, rows, table, metrics, agrees };
}

/** The sums that the table shows of a day, of some accounts together. */
function tableSums(
  members: readonly { readonly days: ReadonlyMap<string, TableDay> }[],
  date: string,
): ExactSums {
  const sums = new Map<string, bigint>();
  for (const { days } of members)
    for (const [metric, value] of days.get(date)?.shown ?? [])
      sums.set(metric, (sums.get(metric) ?? 0n) + value);
  return sums;
}

function explainDays(
  differing: readonly DayDifference[],
  unit: Unit,
  { mart, accounts, currencies }: MartQuestion,
): DifferentDay[] {
  const context = {
    metrics: mart.metrics,
    account: unit.account,
    members: unit.members,
    others: accounts.filter((entry) => !unit.members.includes(entry)),
    hasRows: unit.days.size > 0,
    currencies,
    sumsOn: (date: string) => tableSums(unit.members, date),
  };
  const shifts = guessShifts(differing, context);
  return differing.map((day): DifferentDay => {
    const guess = guessKind(day, context, shifts.get(day.date));
    return {
      date: day.date,
      ...(unit.account !== undefined && { account: unit.account }),
      differences: day.metrics.map((metric) => describeValue(day, metric)),
      ...(guess && { guess }),
    };
  });
}

function describeValue({ rows, table }: DayDifference, metric: string): DifferentValue {
  const value = rows?.sums.get(metric)?.units ?? 0n;
  const shown = table.get(metric) ?? 0n;
  return {
    metric,
    mart: formatAmount(value),
    table: formatAmount(shown),
    difference: formatAmount(value - shown),
  };
}

function compareTexts(first: string, second: string): number {
  if (first === second) return 0;
  return first < second ? -1 : 1;
}
