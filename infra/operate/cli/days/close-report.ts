import { closeMonth } from '../../../../functions/tables/close-month.ts';
import { monthRange } from '../../../../functions/workflow/request/dates.ts';
import { newest } from '../../../stack/catalog/ledger-sql.ts';
import { describeDamage } from '../../days/damage.ts';
import { describeFinality, judgeMonths, type MonthFinality } from '../../days/final-days.ts';
import type { ExportPlace } from '../../days/find-exports.ts';
import { judgeExport } from '../../days/judge-export.ts';
import type { readLedger } from '../../days/ledger-days.ts';
import { commandFor } from '../../days/next-command.ts';
import type { RecordedExport } from '../../days/read-export.ts';
import type { Bucket, ReadableBucket } from '../../place/bucket.ts';
import { loadConfig } from '../../place/load-config.ts';

/** What became of a month of an export, and what to do next. */
export interface ClosedReport {
  readonly account: string;
  readonly name: string;
  readonly outcome: 'closed' | 'closed before' | 'refused';
  /** Lines for a person. The first one goes after the name of the month. */
  readonly todo: readonly string[];
}

/** What all exports of a month have in common while it is closed. */
interface Closing {
  readonly month: string;
  readonly options: ExportPlace & { readonly again?: true; readonly anyway?: true };
  readonly reading: ReadableBucket;
  readonly store: Bucket;
  readonly readDays: Awaited<ReturnType<typeof readLedger>>;
  readonly now: Date;
}

/** Closes a month of a report, unless its days are not final, or it was closed before. */
export async function closeReport(report: RecordedExport, closing: Closing): Promise<ClosedReport> {
  const { month, options, reading, store, readDays, now } = closing;
  const { account, name } = report.request;
  const judged = await judgeExport(reading, report);
  const { days, closed, damaged } = readDays(name, account);
  const commands = commandsOf(report.request, closing);
  const refuse = (...todo: readonly string[]): ClosedReport => ({ account, name, outcome: 'refused', todo });
  const closedBefore: ClosedReport = {
    account,
    name,
    outcome: 'closed before',
    todo: ['was closed before. To close it as it is now:', commands.close({ again: true })],
  };
  if (damaged.length > 0) return refuse('is not closed:', ...damaged.map(describeDamage));
  if (!options.again && closed.some((before) => before.month === month)) return closedBefore;
  const [finality] = judgeMonths(judged, days, report.request, loadConfig(), options);
  if (!finality) return refuse('is not closed: no day is in the table', commands.missing);
  const shown = judged.days.filter((day) => day.shown !== undefined);
  const unlogged = shown.filter(({ day }) => !days.has(day)).length;
  if (unlogged === shown.length) return refuse('is not closed: no day is in the ledger', commands.rebuild);
  if (describeFinality(finality) !== 'final' && !options.anyway)
    return refuse(...describeRefusal(finality, unlogged, commands, options));
  const again = options.again ?? false;
  const isWritten = await closeMonth(store, report.request, {
    month,
    shownReports: newest(),
    closedAt: now,
    again,
  });
  const todo = ['is closed. To see later what changed:', commands.sinceClose];
  return isWritten ? { account, name, outcome: 'closed', todo } : closedBefore;
}

type CloseCommands = ReturnType<typeof commandsOf>;

/** The commands about a month of an export, each as a line of a list. */
function commandsOf({ account, name }: RecordedExport['request'], { month, options }: Closing) {
  const { start_date: from, end_date: to } = monthRange(month);
  const line = (...[words, flags]: Parameters<typeof commandFor>) => `  ${commandFor(words, flags, options)}`;
  return {
    close: (how: { readonly again: boolean; readonly anyway?: boolean }) =>
      line(['close', month, name], { account, ...how }),
    missing: line(['missing', name], { account, from, to }),
    rebuild: line(['rebuild', name], { account }),
    sinceClose: line(['query'], { saved: 'since-close' }),
  };
}

/** @param unlogged the number of days that the table shows and the ledger lacks */
function describeRefusal(
  finality: MonthFinality,
  unlogged: number,
  commands: CloseCommands,
  { again = false }: { readonly again?: boolean },
): string[] {
  const { verify, lacking } = finality;
  return [
    `is not closed: ${describeFinality(finality)}`,
    ...(verify ? [`To read the unverified days again, from ${verify.from} on:`, `  ${verify.command}`] : []),
    ...(unlogged > 0 ? ['To write the days that the ledger lacks:', commands.rebuild] : []),
    ...(lacking > unlogged ? ['To see the days that lack something:', commands.missing] : []),
    'To close it all the same:',
    commands.close({ again, anyway: true }),
  ];
}
