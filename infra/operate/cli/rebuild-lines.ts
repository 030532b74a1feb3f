import type { DaysWithoutFile } from '../../../functions/days/lacking.ts';
import type { RebuiltWindow } from '../../../functions/days/rebuild.ts';
import { count } from '../../../functions/workflow/count.ts';
import { describeDays } from '../../../functions/workflow/request/dates.ts';

/** What became of an account's part of a table. */
export interface RebuiltExport {
  readonly windows: readonly RebuiltWindow[];
  readonly without_file: readonly DaysWithoutFile[];
  /** The number of months that lacked columns of the table, and have them now. */
  readonly months: number;
}

/** The document that `rebuild --json` prints: what became of the accounts' parts of the table. */
export interface RebuildResult extends RebuiltExport {
  readonly version: '1';
  /** `failed` if a day of the range is not in the table. */
  readonly outcome: 'done' | 'failed';
  readonly name: string;
  readonly table: string;
  /** The keys of damaged manifests and failure reports of the range. */
  readonly damaged: readonly string[];
}

/** @param exportAgain the command that exports these days again */
export function describeWithoutFile(
  { account, in_table, ...range }: DaysWithoutFile,
  exportAgain: string,
): string {
  const fact = in_table
    ? 'only the table has these days: no file gives what they show. Without the table, they are lost'
    : 'left out: no file gives what these days showed last';
  return `${account} ${describeDays(range)}  ${fact}; to export them again: ${exportAgain}`;
}

const WINDOW_OUTCOMES: Readonly<Record<RebuiltWindow['outcome'], string>> = {
  written: 'written',
  gone: 'left out: its file was replaced or removed',
  failed: 'left out: the table cannot take it',
};

/** @param exportAgain the command that exports the window again */
export function describeRebuiltWindow(rebuilt: RebuiltWindow, exportAgain: string): string {
  const { account, outcome, table, problem, warnings = [] } = rebuilt;
  const { days = 0, kept = 0, restated = 0 } = table ?? {};
  const facts = [
    ...(table ? [count(days, 'day')] : []),
    ...(kept > 0 ? [`${kept} keep a newer report`] : []),
    ...(restated > 0 ? [`${restated} restated by this report`] : []),
    ...(outcome === 'gone' ? [`to export it again: ${exportAgain}`] : []),
    ...(problem === undefined ? [] : [problem]),
    ...warnings.map((warning) => `warning: ${warning}`),
  ];
  return `${account} ${describeDays(rebuilt)}  ${[WINDOW_OUTCOMES[outcome], ...facts].join('; ')}`;
}

/** A window of days without rows, which needs no file. */
export function describeRestored({ account, outcome, ...range }: RebuiltWindow): string {
  const reason = 'from the ledger, because these days have no rows';
  return `${account} ${describeDays(range)}  ${WINDOW_OUTCOMES[outcome]}; ${reason}`;
}

/** The last lines: what became of the table. */
export function describeRebuilt({ windows, months, table, damaged }: RebuildResult): string[] {
  const written = windows.filter(({ outcome }) => outcome === 'written').length;
  return [
    windows.length + damaged.length === 0
      ? `The table ${table} shows all that was delivered.`
      : `Table ${table}, windows: ${written} written, ${windows.length - written} left out`,
    ...(damaged.length > 0
      ? [`Manifests that cannot be read, whose days have to be exported again: ${damaged.join(', ')}`]
      : []),
    ...(months > 0 ? [`Months that got the table's columns besides: ${months}`] : []),
  ];
}
