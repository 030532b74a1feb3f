import { Command } from 'commander';
import { ALL_DAYS, type DateRange } from '../../../functions/workflow/request/dates.ts';
import type { AskedDays } from '../days/days-to-look-at.ts';
import type { ExportPlace } from '../days/find-exports.ts';
import { openCurateReport, readIntoTable } from '../days/read-into-table.ts';
import { findTableToRebuild } from '../days/table-to-rebuild.ts';
import { openBucket, openToRead } from '../place/bucket.ts';
import { UsageError } from '../place/errors.ts';
import { DELIVERED, FAILED } from './exit-status.ts';
import { printDocument, printLines } from './layout.ts';
import { type CommonOptions, option } from './options.ts';
import { rebuildExport } from './rebuild-export.ts';
import { describeRebuilt, type RebuildResult, type RebuiltExport } from './rebuild-lines.ts';
import { lockFolder } from './run/out-lock.ts';

interface RebuildOptions extends ExportPlace, AskedDays, CommonOptions {
  readonly acceptEmpty?: true;
}

export function createCommand(): Command {
  return new Command('rebuild')
    .argument('<name>', 'the export')
    .option('--account <name>', 'only this account (default: all that have the export)')
    .addOption(option.from(' of the windows (default: all)'))
    .addOption(option.to())
    .option('--accept-empty', 'empty the held days of the range, which the newest report has no rows for')
    .addOption(option.json())
    .option('--local', 'work on the folder of local runs instead of the deployed bucket')
    .addOption(option.out())
    .action(async (name: string, options: RebuildOptions) => {
      const result = await rebuild(name, options);
      if (options.json) printDocument(result);
      else printLines(describeRebuilt(result));
      process.exitCode = result.outcome === 'done' ? DELIVERED : FAILED;
    });
}

async function rebuild(name: string, options: RebuildOptions): Promise<RebuildResult> {
  const { acceptEmpty = false, json } = options;
  const range = rebuildRange(options);
  await using store = await openBucket(options);
  await using reading = await openToRead(options);
  await using _lock = options.local ? await lockFolder(options.out) : undefined;
  const { schema, exports, damaged } = await findTableToRebuild(name, options, store, range);
  await using _process = await openCurateReport(options);
  const print = (line: string) => printLines([line], json ? process.stderr : process.stdout);
  const read = readIntoTable(store);
  const task = { schema, store, reading, range, acceptEmpty, readIntoTable: read, place: options, print };
  const rebuilt: RebuiltExport[] = [];
  for (const tableExport of exports) rebuilt.push(await rebuildExport(tableExport, task));
  const windows = rebuilt.flatMap((result) => result.windows);
  const without_file = rebuilt.flatMap((result) => result.without_file);
  const isDone =
    damaged.length === 0 &&
    windows.every(({ outcome }) => outcome === 'written') &&
    without_file.every(({ in_table }) => in_table);
  return {
    version: '1',
    outcome: isDone ? 'done' : 'failed',
    name,
    table: schema.table,
    windows,
    without_file,
    months: rebuilt.reduce((sum, { months }) => sum + months, 0),
    damaged,
  };
}

/** @throws UsageError if it has no days, or if days are to be emptied and nobody said which */
function rebuildRange({ from, to, acceptEmpty }: RebuildOptions): DateRange {
  if (acceptEmpty && (from === undefined || to === undefined))
    throw new UsageError(['--accept-empty needs --from and --to']);
  const start_date = from ?? ALL_DAYS.start_date;
  const end_date = to ?? ALL_DAYS.end_date;
  if (end_date <= start_date) throw new UsageError([`--to ${end_date} is not after --from ${start_date}`]);
  return { start_date, end_date };
}
