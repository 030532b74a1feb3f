import { describe, expect, it } from 'vitest';
import type { DayState } from '../../../../functions/days/judge.ts';
import { compareMart, type MartQuestion } from '../../../../infra/operate/check/compare-mart.ts';
import { countDecimals, parseAmount } from '../../../../infra/operate/check/exact-amounts.ts';
import type { MartDay } from '../../../../infra/operate/check/read-mart.ts';
import type { AccountDays, TableDay } from '../../../../infra/operate/check/table-days.ts';

type Values = Readonly<Record<string, number>>;

const units = (value: number) => parseAmount(String(value)) ?? 0n;

const sumsOf = (values: Values) =>
  new Map(Object.entries(values).map(([metric, value]) => [metric, units(value)]));

const dateOf = (day: number) => `2026-10-${String(day).padStart(2, '0')}`;

/** A day that the table shows, unless it is behind or missing without values. */
function tableDay(values: Values | undefined, state: DayState = 'there', before?: Values): TableDay {
  const version = (report_id: string, hour: number, ofReport: Values) => {
    const time = Date.UTC(2026, 10, 1, hour);
    return {
      report_id,
      report_created_at: new Date(time).toISOString(),
      shown_at: time,
      sums: sumsOf(ofReport),
    };
  };
  const versions = [
    ...(before ? [version('r-1', 1, before)] : []),
    ...(values ? [version('r-2', 2, values)] : []),
  ];
  return { state, shown: values && sumsOf(values), versions };
}

/** An account whose first day is the first one here. @param days by their number */
function accountOf(account: string, days: Readonly<Record<number, TableDay>>): AccountDays {
  const dated = Object.entries(days).map(([day, value]) => [dateOf(Number(day)), value] as const);
  return { account, begins: dated[0]?.[0], days: new Map(dated), damaged: [] };
}

interface MartRow {
  readonly day: number;
  readonly account?: string;
  readonly values: Values;
  readonly rounding?: number;
}

function compare(
  rows: readonly MartRow[],
  accounts: readonly AccountDays[],
  question: Partial<MartQuestion> = {},
) {
  const days = rows.map(({ day, account, values, rounding = 0 }): MartDay => {
    const sums = Object.entries(values).map(
      ([metric, value]) => [metric, { units: units(value), rounding, noise: 0 }] as const,
    );
    return { date: dateOf(day), account, sums: new Map(sums) };
  });
  const metrics = [...new Set(rows.flatMap(({ values }) => Object.keys(values)))];
  const hasAccounts = rows.some(({ account }) => account !== undefined);
  const ofMetric = (metric: string) =>
    Math.max(...rows.map(({ values }) => countDecimals(units(values[metric] ?? 0))));
  const decimals = new Map(metrics.map((metric) => [metric, ofMetric(metric)]));
  const mart = { days, hasAccounts, metrics, decimals, left_out: [] };
  const from = dateOf(Math.min(...rows.map(({ day }) => day)));
  const doubles = new Set<string>();
  return compareMart({ mart, accounts, doubles, currencies: {}, from, tolerance: 0, ...question });
}

const spend = (value: number) => ({ spend: value });
const MISSING = tableDay(undefined, 'missing');

describe('the days that are compared', () => {
  it('begin with the first one of the mart and end with the newest one of the table', () => {
    const days = { 1: tableDay(spend(1)), 2: tableDay(spend(2)), 3: tableDay(spend(3)) };
    const result = compare([{ day: 2, values: spend(2) }], [accountOf('acme', days)]);
    expect(result).toMatchObject({ start_date: dateOf(2), end_date: dateOf(4), agree: 1 });
    expect(result.different).toMatchObject([{ date: dateOf(3), guess: { kind: 'missing_day' } }]);
  });

  it('are those that somebody asks for', () => {
    const days = { 1: tableDay(spend(1)), 2: tableDay(spend(2)), 3: tableDay(spend(3)) };
    const question = { from: dateOf(1), to: dateOf(2) };
    const result = compare([{ day: 2, values: spend(9) }], [accountOf('acme', days)], question);
    expect(result).toMatchObject({ agree: 0, different: [{ date: dateOf(1) }] });
  });

  it.each(['missing', 'behind'] as const)('leave a day out that is %s, and name it', (state) => {
    const days = { 1: tableDay(spend(1)), 2: tableDay(spend(2), state), 3: tableDay(spend(3)) };
    const rows = [1, 2, 3].map((day) => ({ day, values: spend(day === 2 ? 9 : day) }));
    const result = compare(rows, [accountOf('acme', days)]);
    expect(result).toMatchObject({
      agree: 2,
      different: [],
      not_compared: [{ account: 'acme', state, start_date: dateOf(2), end_date: dateOf(3) }],
    });
  });

  it.each(['held', 'older'] as const)('have a day that is %s, with what the table shows', (state) => {
    const days = { 1: tableDay(spend(1), state) };
    const result = compare([{ day: 1, values: spend(1) }], [accountOf('acme', days)]);
    expect(result).toMatchObject({ agree: 1, not_compared: [] });
  });

  it('name a day that is behind, and newer than those that the table shows', () => {
    const days = { 1: tableDay(spend(1)), 2: tableDay(undefined, 'behind'), 3: MISSING };
    const result = compare([{ day: 1, values: spend(1) }], [accountOf('acme', days)]);
    expect(result).toMatchObject({
      end_date: dateOf(2),
      agree: 1,
      not_compared: [{ state: 'behind', start_date: dateOf(2), end_date: dateOf(3) }],
    });
  });

  it('name a newer day that only the mart has', () => {
    const rows = [1, 5].map((day) => ({ day, values: spend(1) }));
    const result = compare(rows, [accountOf('acme', { 1: tableDay(spend(1)) })]);
    expect(result.not_compared).toMatchObject([{ state: 'missing', start_date: dateOf(5) }]);
  });

  it('of a mart without accounts leave out a day that one account lacks, and name the account', () => {
    const acme = accountOf('acme', { 1: tableDay(spend(1)), 2: tableDay(spend(2)) });
    const globex = accountOf('globex', { 1: tableDay(spend(10)), 2: MISSING });
    const rows = [
      { day: 1, values: spend(11) },
      { day: 2, values: spend(99) },
    ];
    expect(compare(rows, [acme, globex])).toMatchObject({
      agree: 1,
      different: [],
      not_compared: [{ account: 'globex', state: 'missing', start_date: dateOf(2) }],
    });
  });

  it('of a mart without accounts have days before an account began', () => {
    const acme = accountOf('acme', { 1: tableDay(spend(1)), 2: tableDay(spend(2)) });
    const globex = accountOf('globex', { 2: tableDay(spend(10)) });
    const rows = [
      { day: 1, values: spend(1) },
      { day: 2, values: spend(12) },
    ];
    expect(compare(rows, [acme, globex])).toMatchObject({ agree: 2, different: [], not_compared: [] });
  });

  it('of a mart without accounts find an error in days before an account began', () => {
    const acme = accountOf('acme', { 1: tableDay(spend(1)), 2: tableDay(spend(2)) });
    const globex = accountOf('globex', { 2: tableDay(spend(10)) });
    const rows = [
      { day: 1, values: spend(7) },
      { day: 2, values: spend(12) },
    ];
    expect(compare(rows, [acme, globex])).toMatchObject({ agree: 1, different: [{ date: dateOf(1) }] });
  });

  it('of one account leave the others out', () => {
    const accounts = ['acme', 'globex'].map((name) => accountOf(name, { 1: tableDay(spend(1)) }));
    const rows = [
      { day: 1, account: 'acme', values: spend(1) },
      { day: 1, account: 'globex', values: spend(7) },
      { day: 1, account: 'initech', values: spend(7) },
    ];
    const result = compare(rows, accounts, { account: 'acme' });
    expect(result).toMatchObject({ agree: 1, different: [], unknown_accounts: [] });
  });
});

describe('the values that are compared', () => {
  const table = [accountOf('acme', { 1: tableDay({ spend: 100, clicks: 10 }) })];

  it('differ with both of them and the difference', () => {
    const [day] = compare([{ day: 1, values: { spend: 97.5, clicks: 10 } }], table).different;
    expect(day?.differences).toEqual([{ metric: 'spend', mart: '97.5', table: '100', difference: '-2.5' }]);
  });

  it.each([
    { tolerance: 0.01, value: 99, agree: 1 },
    { tolerance: 0.01, value: 98.99, agree: 0 },
    { tolerance: 0, value: 99.9999999999, agree: 0 },
  ])('with the tolerance $tolerance, $value agrees with 100 or not: $agree', ({
    tolerance,
    value,
    agree,
  }) => {
    expect(compare([{ day: 1, values: spend(value) }], table, { tolerance })).toMatchObject({ agree });
  });

  it('of floating-point numbers may differ behind the twelfth digit', () => {
    const doubles = new Set(['spend']);
    const digits = (value: number) => compare([{ day: 1, values: spend(value) }], table, { doubles }).agree;
    expect({ behind: digits(100.0000000004), before: digits(100.000001) }).toEqual({ behind: 1, before: 0 });
  });

  it('may differ by what the mart rounds', () => {
    const days = { 1: tableDay(spend(100.123)) };
    const rows = [{ day: 1, values: spend(100.12), rounding: Number(units(0.005)) }];
    expect(compare(rows, [accountOf('acme', days)])).toMatchObject({ agree: 1 });
  });

  it('may not differ if the mart has as many decimals as the table', () => {
    const days = { 1: tableDay(spend(100.12)), 2: tableDay(spend(3)) };
    const rows = [
      { day: 1, values: spend(97.82), rounding: Number(units(5)) },
      { day: 2, values: spend(3), rounding: Number(units(5)) },
    ];
    expect(compare(rows, [accountOf('acme', days)])).toMatchObject({
      agree: 1,
      different: [{ date: dateOf(1) }],
    });
  });

  it('of a day without rows and of NULL are 0', () => {
    const empty = [accountOf('acme', { 1: tableDay(spend(1)), 2: tableDay({}) })];
    expect(compare([{ day: 1, values: spend(1) }], empty)).toMatchObject({ agree: 2 });
  });

  it('of an account that does not have the export are named', () => {
    const rows = [
      { day: 1, account: 'acme', values: spend(100) },
      { day: 1, account: 'initech', values: spend(1) },
    ];
    expect(compare(rows, table)).toMatchObject({ agree: 1, unknown_accounts: ['initech'] });
  });
});

describe('the guess of a kind', () => {
  const guessOf = (values: Values, shown: Values, before?: Values) => {
    const days = { 1: tableDay(shown, 'there', before) };
    return compare([{ day: 1, values }], [accountOf('acme', days)]).different[0]?.guess;
  };

  it('is a factor if each metric that differs has it', () => {
    expect(guessOf({ spend: 20, clicks: 8 }, { spend: 10, clicks: 4 })).toEqual({
      kind: 'factor',
      factor: 2,
    });
  });

  it('is no factor if one metric has another', () => {
    expect(guessOf({ spend: 20, clicks: 12 }, { spend: 10, clicks: 4 })).toBeUndefined();
  });

  it('is an earlier report with its id and time', () => {
    const shown = { spend: 10, clicks: 4 };
    expect(guessOf({ spend: 7, clicks: 3 }, shown, { spend: 7, clicks: 3 })).toEqual({
      kind: 'earlier_report',
      reports: [{ account: 'acme', report_id: 'r-1', report_created_at: '2026-11-01T01:00:00.000Z' }],
    });
  });

  it('is no earlier report if one metric is of neither', () => {
    const shown = { spend: 10, clicks: 4 };
    expect(guessOf({ spend: 7, clicks: 9 }, shown, { spend: 7, clicks: 3 })).toBeUndefined();
  });

  it('is no shift if a single day equals its neighbour', () => {
    const days = { 1: tableDay(spend(5)), 2: tableDay(spend(9)), 3: tableDay(spend(4)) };
    const rows = [5, 5, 4].map((value, at) => ({ day: at + 1, values: spend(value) }));
    const [day] = compare(rows, [accountOf('acme', days)]).different;
    expect(day).toMatchObject({ date: dateOf(2) });
    expect(day?.guess).toBeUndefined();
  });

  it('is no missing account if the only one has rows', () => {
    expect(guessOf(spend(0), spend(10))).toBeUndefined();
  });

  it('is several currencies only if the accounts have several', () => {
    const accounts = ['acme', 'globex'].map((name, at) => accountOf(name, { 1: tableDay(spend(at + 5)) }));
    const kindWith = (currencies: Readonly<Record<string, string>>) =>
      compare([{ day: 1, values: spend(11) }], accounts, { account: 'acme', currencies }).different[0]?.guess;
    expect(kindWith({ acme: 'EUR', globex: 'USD' })).toMatchObject({ kind: 'several_currencies' });
    expect(kindWith({ acme: 'EUR', globex: 'EUR' })).toMatchObject({ kind: 'more_accounts' });
    expect(kindWith({ acme: 'EUR' })).toMatchObject({ kind: 'more_accounts' });
  });
});
