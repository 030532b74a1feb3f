import { addDays, type DateRange } from '../../functions/workflow/request/dates.ts';
import { findMetric } from '../../functions/workflow/request/dictionary.ts';
import type { FinalAfter } from '../config/exports.ts';
import type { Folder } from './bucket.ts';
import type { ClosedMonth, LedgerDay } from './ledger-days.ts';
import { type JudgedRange, lackOf } from './missing-days.ts';
import { exportDaysCommand, type NamedExport } from './next-command.ts';

/** The days of a month that an export was asked for, by what is known about them. */
export interface MonthFinality {
  /** YYYY-MM */
  readonly month: string;
  readonly final: number;
  /** They ended, or changed, a few days ago. */
  readonly changing: number;
  /** No later report said the same. */
  readonly unverified: number;
  /** They are missing, held, or lack something else. */
  readonly lacking: number;
  /** Reads the unverified days again. Before the date `from`, they cannot become final. */
  readonly verify?: { readonly command: string; readonly from: string };
}

/** @param ledger of the export's table @returns nothing if the table shows none of the days */
export function judgeMonths(
  { days }: JudgedRange,
  ledger: ReadonlyMap<string, LedgerDay>,
  { named, config, account }: { named: NamedExport; config: FinalAfter; account: string },
  folder: Folder,
): MonthFinality[] {
  const { final_after_days = config.final_after_days } = config.accounts[account] ?? {};
  const judged = days.map(({ day, state }) => {
    const lacks = lackOf(state) !== undefined && state !== 'older_request';
    const { finality, same_since } = ledger.get(day) ?? {};
    return { day, kind: lacks ? 'lacking' : finality, same_since };
  });
  if (!judged.some(({ kind }) => kind && kind !== 'lacking')) return [];
  return [...Map.groupBy(judged, ({ day }) => day.slice(0, 'YYYY-MM'.length))].map(([month, all]) => {
    const of = (wanted: string | undefined) => all.filter(({ kind }) => kind === wanted);
    const unverified = of('unverified');
    const [first, last] = [unverified[0]?.day, unverified.at(-1)?.day];
    const range: DateRange | undefined =
      first && last ? { start_date: first, end_date: addDays(last, 1) } : undefined;
    const from = unverified
      .map(({ same_since = '' }) => same_since)
      .sort()
      .at(-1);
    return {
      month,
      final: of('final').length,
      changing: of('changing').length,
      unverified: unverified.length,
      lacking: of('lacking').length + of(undefined).length,
      ...(range &&
        from && {
          verify: {
            command: exportDaysCommand(named, range, folder, []),
            from: addDays(from, final_after_days),
          },
        }),
    };
  });
}

/** Such as `final`, or `3 days unverified, 2 changing`. */
export function describeFinality({ unverified, changing, lacking }: MonthFinality): string {
  const counts = [
    [unverified, 'unverified'],
    [changing, 'changing'],
    [lacking, 'lacking'],
  ] as const;
  const [first, ...others] = counts.filter(([many]) => many > 0).map(([many, word]) => ({ many, word }));
  if (!first) return 'final';
  const days = first.many === 1 ? 'day' : 'days';
  return [`${first.many} ${days} ${first.word}`, ...others.map(({ many, word }) => `${many} ${word}`)].join(
    ', ',
  );
}

/** Changes that are named, of spend first. */
const MAX_CHANGES = 3;

/** Such as `closed on 2026-11-09; since the close: 4 days, spend +312.20`. Only metrics that add up are named. */
export function describeClose({ closed_on, days, changes }: ClosedMonth): string {
  if (days === 0) return `closed on ${closed_on}, unchanged since`;
  const named = Object.entries(changes)
    .filter(([name, change]) => change !== 0 && findMetric(name)?.adds_up)
    .toSorted(([one], [other]) => Number(other === 'spend') - Number(one === 'spend'))
    .slice(0, MAX_CHANGES)
    .map(([name, change]) => {
      const digits = findMetric(name)?.unit === 'money' ? 2 : 0;
      const format = new Intl.NumberFormat('en', {
        signDisplay: 'always',
        minimumFractionDigits: digits,
        maximumFractionDigits: 2,
      });
      return `${name} ${format.format(change)}`;
    });
  const many = `${days} ${days === 1 ? 'day' : 'days'}`;
  return `closed on ${closed_on}; since the close: ${[many, ...named].join(', ')}`;
}
