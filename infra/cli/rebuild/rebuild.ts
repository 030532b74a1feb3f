import { Command } from 'commander';
import { describeDays } from '../../../functions/workflow/request/dates.ts';
import { tableOf } from '../../../functions/workflow/table.ts';
import { openBucket } from '../../knowledge/bucket.ts';
import { configName } from '../../knowledge/config.ts';
import { CommandFailed, UsageError } from '../../knowledge/errors.ts';
import { type ExportPlace, findExports } from '../../knowledge/exports.ts';
import { findSchema } from '../../knowledge/tables.ts';
import { DELIVERED, FAILED } from '../exit-status.ts';
import { printDocument, printLines } from '../layout.ts';
import { option } from '../options.ts';
import { lockFolder } from '../run/out-lock.ts';
import {
  isIn,
  prepareProcess,
  type Rebuilding,
  type Rebuilt,
  rebuildMonths,
  rebuildWindows,
} from './windows.ts';

interface RebuildOptions extends ExportPlace {
  readonly from?: string;
  readonly to?: string;
  readonly acceptEmpty?: true;
  readonly json?: true;
}

/** The document that `--json` prints. */
export type RebuildResult = Awaited<ReturnType<typeof rebuild>>;

export function createCommand(): Command {
  return new Command('rebuild')
    .argument('<name>', 'the export')
    .option('--account <name>', 'only this account (default: all that have the export)')
    .addOption(option.from(' of the windows (default: all)'))
    .addOption(option.to())
    .option(
      '--accept-empty',
      'empty the held days: those of --from and --to that have no rows in the newest report',
    )
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

async function rebuild(name: string, options: RebuildOptions) {
  const { from = '', to = '9999', acceptEmpty = false } = options;
  const range = { start_date: from, end_date: to };
  if (acceptEmpty && (from === '' || to === '9999'))
    throw new UsageError(['--accept-empty needs --from and --to']);
  await using bucket = await openBucket(options);
  await using _lock = options.local ? await lockFolder(options.out) : undefined;
  const exports = await findExports(name, options, bucket, new Date(), '');
  const table = exports[0] && tableOf(exports[0].request);
  if (table === undefined) throw new UsageError([`the export ${name} has no table`]);
  if (exports.every(({ deliveries }) => deliveries.every((each) => !isIn(range, each))))
    throw new UsageError([`no report or list of ${name} was delivered in this range`]);
  const schema = await findSchema(table, options.local ? exports : undefined);
  if (!schema)
    throw new CommandFailed(
      `The catalog has no table ${table}.`,
      `Add the export to ${configName()} and deploy the stack.`,
    );
  prepareProcess(options);
  const windows: Rebuilt[] = [];
  // Counts the months that were rewritten only to bring them to the table's columns.
  let months = 0;
  for (const found of exports) {
    const rebuilding: Rebuilding = { found, schema, bucket, range, acceptEmpty };
    for await (const rebuilt of rebuildWindows(rebuilding)) {
      windows.push(rebuilt);
      printLines([describeRebuiltWindow(rebuilt)], options.json ? process.stderr : process.stdout);
    }
    months += await rebuildMonths(rebuilding);
  }
  const isDone = windows.every(({ outcome }) => outcome === 'written');
  return { version: '1', outcome: isDone ? 'done' : 'failed', name, table, windows, months };
}

const OUTCOMES: Readonly<Record<Rebuilt['outcome'], string>> = {
  written: 'written',
  gone: 'left out: its file was replaced or removed; export it again',
  failed: 'left out: the table cannot take it',
};

function describeRebuiltWindow({
  account,
  outcome,
  table,
  problem,
  warnings = [],
  ...range
}: Rebuilt): string {
  const { days = 0, kept = 0, restated = 0 } = table ?? {};
  const facts = [
    ...(table ? [`${days} ${days === 1 ? 'day' : 'days'}`] : []),
    ...(kept > 0 ? [`${kept} keep a newer report`] : []),
    ...(restated > 0 ? [`${restated} have other values now`] : []),
    ...(problem === undefined ? [] : [problem]),
    ...warnings.map((warning) => `warning: ${warning}`),
  ];
  return `${account} ${describeDays(range)}  ${[OUTCOMES[outcome], ...facts].join('; ')}`;
}

function describeRebuilt({ windows, months, table }: RebuildResult): string[] {
  const written = windows.filter(({ outcome }) => outcome === 'written').length;
  const left = windows.length - written;
  return [
    windows.length === 0
      ? `The table ${table} shows all that was delivered.`
      : `Table ${table}, windows: ${written} written${left > 0 ? `, ${left} left out` : ''}`,
    ...(months > 0 ? [`Months that got the table's columns besides: ${months}`] : []),
  ];
}
