import { Command } from 'commander';
import { ExportError, InvalidInput, readMessage } from '../../../functions/workflow/errors.ts';
import { tableOf } from '../../../functions/workflow/table.ts';
import { type ExportedObjects, openBucket } from '../bucket.ts';
import { CommandFailed, DELIVERED, FAILED, UsageError } from '../errors.ts';
import { printDocument, printLines } from '../layout.ts';
import { examples, LOCAL_GROUP, loadConfig, option } from '../options.ts';
import { lockFolder } from '../out-lock.ts';
import { type Copy, readCopies } from './copies.ts';
import {
  findOlderDays,
  openDeployedPlace,
  openLocalPlace,
  type Rebuilt,
  rebuildWindow,
  registerFound,
} from './rebuild.ts';

interface CurateOptions {
  readonly account?: string;
  readonly from?: string;
  readonly to?: string;
  readonly json?: true;
  readonly local?: true;
  readonly out: string;
}

/** The document that `--json` prints. */
export interface CurateResult {
  readonly version: '1';
  readonly outcome: 'done' | 'failed';
  readonly name: string;
  readonly table: string;
  /** The newest data first. */
  readonly windows: readonly Rebuilt[];
  /** Days that show a report although a newer one was delivered before it. */
  readonly older: Awaited<ReturnType<typeof findOlderDays>>;
  /** Objects that had no partition. */
  readonly registered: number;
}

export function createCurateCommand(): Command {
  return new Command('curate')
    .description(
      "Write an export's table again, from the files that were delivered. Days that show the same report or a newer one stay, so a command that was stopped can be repeated.",
    )
    .argument('<name>', 'the export')
    .option('--account <name>', 'only this account (default: all that have the export)')
    .addOption(option.from(' of the windows (default: all)'))
    .addOption(option.to())
    .addOption(option.json())
    .option('--local', 'work on the folder of local runs instead of the deployed bucket')
    .optionsGroup(LOCAL_GROUP)
    .option('--out <dir>', 'the folder of local runs', 'out')
    .addHelpText(
      'after',
      [
        '\nIt runs on this machine, and without --local reads and writes with your AWS\ncredentials.',
        examples('curate example --local', 'curate daily-campaigns --from 2026-10-01 --to 2026-11-01'),
      ].join('\n'),
    )
    .action(async (name: string, options: CurateOptions) => {
      const result = await curate(name, options).catch(asCommandError);
      if (options.json) printDocument(result);
      else printLines(describeEnd(result));
      process.exitCode = result.outcome === 'done' ? DELIVERED : FAILED;
    });
}

/** The step's errors of AWS speak of the function's role. Here it is this person. */
function asCommandError(error: unknown): never {
  if (error instanceof InvalidInput) throw new UsageError(error.facts.faults as string[]);
  if (!(error instanceof ExportError)) throw error;
  const { permission = 'the permissions of CurateReport' } = error.facts;
  const [happened = ''] = readMessage(error.message).happened.split('. ', 1);
  throw new CommandFailed(
    happened.replace(/\.?$/, '.'),
    `Check your AWS credentials and Region. They need ${permission}. Then run the command again.`,
  );
}

async function curate(name: string, options: CurateOptions): Promise<CurateResult> {
  await using bucket = await openBucket(options);
  await using _lock = options.local ? await lockFolder(options.out) : undefined;
  const copies = await findCopies(name, options, bucket);
  const table = copies.map(({ state }) => tableOf(state.request)).find((found) => found !== undefined);
  if (table === undefined) throw new UsageError([`the export ${name} has no table`]);
  const [{ bucket: bucketName } = { bucket: '' }] = copies;
  // The last delivery may be outside the range.
  const { from, to, ...wholeExport } = options;
  await using place = await (options.local
    ? openLocalPlace(options.out, await findCopies(name, wholeExport, bucket))
    : openDeployedPlace(bucketName));
  const schema = await place.catalog.getTable(table);
  if (!schema)
    throw new CommandFailed(
      `The catalog has no table ${table}.`,
      'Add the export to cdk.json and deploy the stack.',
    );
  const rebuilding = { schema, place, bucket };
  const windows: Rebuilt[] = [];
  for (const copy of copies) {
    const rebuilt = await rebuildWindow(copy, rebuilding);
    windows.push(rebuilt);
    printLines([describeWindow(rebuilt)], options.json ? process.stderr : process.stdout);
  }
  const accounts = [...new Set(copies.map(({ state }) => state.request.account))];
  return {
    version: '1',
    name,
    table,
    windows,
    outcome: windows.some(({ outcome }) => FAILURES.has(outcome)) ? 'failed' : 'done',
    older: await findOlderDays(copies, rebuilding),
    registered: await registerFound(accounts, rebuilding),
  };
}

const FAILURES: ReadonlySet<Rebuilt['outcome']> = new Set(['failed', 'replaced']);

/** @throws UsageError if there are none */
async function findCopies(name: string, options: CurateOptions, bucket: ExportedObjects): Promise<Copy[]> {
  const { account, from, to, local } = options;
  const entries = loadConfig().exports.filter((entry) => entry.name === name);
  const accounts = account ? [account] : entries.map((entry) => entry.account);
  if (!local && accounts.length === 0) throw new UsageError([`the config has no export ${name}`]);
  const selection = {
    name,
    table: entries[0] && (entries[0].table ?? name),
    // In a folder, an export need not be in the config.
    ...((account !== undefined || !local) && { accounts }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  };
  const copies = await readCopies(bucket, selection);
  if (copies.length > 0) return copies;
  const where = from === undefined && to === undefined ? '' : ' in this range';
  throw new UsageError([`no report or list of ${name} was delivered${where}`]);
}

const OUTCOMES: Readonly<Record<Rebuilt['outcome'], string>> = {
  written: 'written',
  unchanged: 'shown already, or newer reports are',
  other_request: 'left out: its request is not the configured one',
  replaced: 'left out: another run has replaced its file; export it again',
  failed: 'failed',
};

function describeWindow(rebuilt: Rebuilt): string {
  const { account, start_date, end_date, outcome, days, kept = 0, restated = 0, problem, warnings } = rebuilt;
  const facts = [
    OUTCOMES[outcome],
    ...(days === undefined ? [] : [`${days} days`]),
    ...(kept > 0 ? [`${kept} keep a newer report`] : []),
    ...(restated > 0 ? [`${restated} have other values now`] : []),
    ...(problem === undefined ? [] : [problem]),
    ...(warnings ?? []).map((warning) => `warning: ${warning}`),
  ];
  return `${account} ${start_date} to ${end_date}  ${facts.join('; ')}`;
}

function describeEnd({ windows, older, registered, table }: CurateResult): string[] {
  const count = (outcome: Rebuilt['outcome']) => windows.filter((each) => each.outcome === outcome).length;
  const failed = count('failed') + count('replaced');
  return [
    `Table ${table}: ${count('written')} of ${windows.length} windows written, ${count('unchanged')} shown already, ${failed} failed.`,
    ...(registered > 0 ? [`Registered ${registered} objects that had no partition.`] : []),
    ...older.map(
      ({ account, date, report_id, created_at }) =>
        `warning: ${account} ${date} shows the report ${report_id} of ${created_at}. A newer report was delivered before it, and its file is gone: export the day again.`,
    ),
  ];
}
