import {
  type Rebuilding,
  type RebuiltWindow,
  rebuildWindows,
  restoreEmptyDays,
} from '../../../functions/days/rebuild.ts';
import { completeMonths } from '../../../functions/tables/complete-months.ts';
import { damagedKeyIn, TableProblem } from '../../../functions/tables/report.ts';
import type { DateRange } from '../../../functions/workflow/request/dates.ts';
import type { ExportPlace } from '../days/find-exports.ts';
import { commandFor, exportDaysCommand } from '../days/next-command.ts';
import type { RecordedExport } from '../days/read-export.ts';
import { describeLoss, readLedgerKnowledge } from '../days/rebuildable.ts';
import type { ReadableBucket } from '../place/bucket.ts';
import { CommandFailed } from '../place/errors.ts';
import {
  describeRebuiltWindow,
  describeRestored,
  describeWithoutFile,
  type RebuiltExport,
} from './rebuild-lines.ts';

interface RebuildTask extends Omit<Rebuilding, 'tableExport' | 'ledger'> {
  /** For what nothing is written with. */
  readonly reading: ReadableBucket;
  readonly place: ExportPlace;
  readonly print: (line: string) => void;
}

/**
 * Writes what an account's part of a table lacks, and prints what becomes of each window.
 *
 * @throws CommandFailed if an object of the table or of the ledger is damaged
 */
export async function rebuildExport(
  tableExport: RecordedExport,
  { reading, place, print, ...task }: RebuildTask,
): Promise<RebuiltExport> {
  const { request } = tableExport;
  const { account } = request;
  const exportAgain = (days: DateRange) => exportDaysCommand(request, days, place, false);
  // Before anything is written, because a damaged month may end the command.
  const ledger = await readLedgerKnowledge(tableExport, reading, task.range);
  for (const days of ledger.without_file) print(describeWithoutFile(days, exportAgain(days)));
  const rebuilding: Rebuilding = { ...task, tableExport, ledger };
  const windows: RebuiltWindow[] = [];
  try {
    for await (const window of rebuildWindows(rebuilding)) {
      windows.push(window);
      print(describeRebuiltWindow(window, exportAgain(window)));
    }
    for (const { start_date, end_date } of await restoreEmptyDays(rebuilding)) {
      const window: RebuiltWindow = { account, start_date, end_date, outcome: 'written' };
      windows.push(window);
      print(describeRestored(window));
    }
    const months = await completeMonths(task.store, request, task.schema);
    return { windows, without_file: ledger.without_file, months };
  } catch (error) {
    throw await explainDamage(error as Error, tableExport, reading, place);
  }
}

/** Says what would be lost with a damaged object, and which one to remove. Returns other errors unchanged. */
async function explainDamage(
  error: Error,
  tableExport: RecordedExport,
  reading: ReadableBucket,
  place: ExportPlace,
): Promise<Error> {
  const key = error instanceof TableProblem ? damagedKeyIn(error.message) : undefined;
  if (key === undefined) return error;
  const loss = await describeLoss(tableExport, reading, key);
  const rebuild = commandFor(['rebuild', tableExport.request.name], { account: place.account }, place);
  return new CommandFailed(
    `${key} is damaged or was not written by this stack. ${loss}`,
    `Restore an earlier version of the object. Or remove ${key}, and run: ${rebuild}`,
    { cause: error },
  );
}
