import { addDays, type DateRange } from '../../functions/workflow/request/dates.ts';
import type { FinalAfter } from '../config/exports.ts';
import type { Folder } from './bucket.ts';
import type { LedgerDay } from './ledger-days.ts';
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
