import { count } from '../../../functions/workflow/count.ts';
import type { ExportId } from '../../../functions/workflow/keys.ts';
import { addDays } from '../../../functions/workflow/request/dates.ts';
import { findMetric } from '../../../functions/workflow/request/dictionary.ts';
import type { FinalAfter } from '../../stack/config/exports.ts';
import type { Folder } from '../place/bucket.ts';
import { describeAmount } from './describe-amount.ts';
import type { JudgedRange } from './judge-export.ts';
import type { ClosedMonth, LedgerDay } from './ledger-days.ts';
import { exportDaysCommand } from './next-command.ts';

/**
 * - `changing`: the day ended, or changed, a few days ago
 * - `unverified`: no later report said the same
 * - `lacking`: missing, behind, held, or not in the ledger
 */
const KINDS = ['final', 'changing', 'unverified', 'lacking'] as const;

/** The days of a month that an export was asked for: how many there are of each kind. */
export interface MonthFinality extends Readonly<Record<(typeof KINDS)[number], number>> {
  /** YYYY-MM */
  readonly month: string;
  /** Reads the unverified days again. From the date `from` on, the first of them can become final. */
  readonly verify?: { readonly command: string; readonly from: string };
}

/** @param ledger of the export's table @returns nothing if the table shows none of the days */
export function judgeMonths(
  { days }: Pick<JudgedRange, 'days'>,
  ledger: ReadonlyMap<string, LedgerDay>,
  { account, name }: ExportId,
  config: FinalAfter,
  folder: Folder,
): MonthFinality[] {
  const { final_after_days = config.final_after_days } = config.accounts[account] ?? {};
  const judged = days.map(({ day, state }) => {
    const { finality, same_since } = ledger.get(day) ?? {};
    const lacks = state === 'missing' || state === 'behind' || state === 'held';
    return { day, kind: (!lacks && finality) || 'lacking', same_since };
  });
  if (days.every(({ shown }) => shown === undefined)) return [];
  return [...Map.groupBy(judged, ({ day }) => day.slice(0, 'YYYY-MM'.length))].map(([month, all]) => {
    const counts = KINDS.map((kind) => [kind, all.filter((day) => day.kind === kind).length]);
    const finality: MonthFinality = { month, ...Object.fromEntries(counts) };
    const unverified = all.filter(({ kind }) => kind === 'unverified');
    const [first, last] = [unverified[0], unverified.at(-1)];
    if (!first || !last) return finality;
    const range = { start_date: first.day, end_date: addDays(last.day, 1) };
    const command = exportDaysCommand({ account, name }, range, folder, false);
    const [oldest] = unverified.flatMap(({ same_since }) => same_since ?? []).sort();
    const from = addDays(oldest ?? range.end_date, final_after_days);
    return { ...finality, verify: { command, from } };
  });
}

/** Such as `final`, or `3 days unverified, 1 day changing`. */
export function describeFinality({ unverified, changing, lacking }: MonthFinality): string {
  const counts = Object.entries({ unverified, changing, lacking }).filter(([, many]) => many > 0);
  return counts.map(([word, many]) => `${count(many, 'day')} ${word}`).join(', ') || 'final';
}

/** Changes that are named, of spend first. */
const MAX_CHANGES = 3;

/** Such as `closed on 2026-11-09; since the close: 4 days, spend +312.20`. Names only metrics that add up. */
export function describeClose({ closed_on, days, changes }: ClosedMonth): string {
  if (days === 0) return `closed on ${closed_on}, unchanged since`;
  const named = Object.entries(changes)
    .filter(([name, change]) => change !== 0 && findMetric(name)?.adds_up)
    .toSorted(([first], [second]) => Number(second === 'spend') - Number(first === 'spend'))
    .slice(0, MAX_CHANGES)
    .map(([name, change]) => `${name} ${change > 0 ? '+' : '-'}${describeAmount(name, Math.abs(change))}`);
  return `closed on ${closed_on}; since the close: ${[count(days, 'day'), ...named].join(', ')}`;
}
