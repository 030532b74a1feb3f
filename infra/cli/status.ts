import { Command } from 'commander';
import { EXPORTS_PREFIX, exportPrefix, FAILURE, MANIFEST, windowOf } from '../../functions/workflow/keys.ts';
import { addDays } from '../../functions/workflow/request/dates.ts';
import { duration } from '../local/progress.ts';
import { type Folder, openToRead, type ReadableBucket } from './bucket.ts';
import { describeRanges, findExport, findLatestFailure, namesIn, type RemainingFailure } from './days.ts';
import { UsageError } from './errors.ts';
import { describeEnd, type ExecutionSummary } from './executions.ts';
import { lastPlatform, readKeptRequests } from './kept-requests.ts';
import { printDocument, printLines, toMinute } from './layout.ts';
import { listExecutions } from './list.ts';
import { findMissingDays, type MissingDays } from './missing.ts';
import { explainCommand } from './next-command.ts';
import { loadConfig, option } from './options.ts';
import { adviseLocally } from './outcome.ts';

interface StatusOptions extends Folder {
  readonly json?: true;
}

/** An export in the document that `status --json` prints. */
export interface ExportStatus {
  readonly account: string;
  readonly export: string;
  /** The names of executions. */
  readonly running: readonly string[];
  /** The last execution that has ended. */
  readonly last?: ExecutionSummary | undefined;
  /** The last day that a manifest covers. */
  readonly newest_day?: string | undefined;
  /** As `missing` shows them. Absent if the export has no days, or its request is not known. */
  readonly missing?: MissingDays['missing'] | undefined;
  readonly held?: MissingDays['held'] | undefined;
  /** The latest failure report that no later delivery has deleted. */
  readonly failure?: RemainingFailure | undefined;
}

/** The last executions that are looked at. Each is one call, of which AWS allows 250 at once. */
const RECENT = 100;

/** Missing ranges that the text names; --json has all. */
const MAX_RANGES = 10;

export function createStatusCommand(): Command {
  return new Command('status')
    .argument('[name]', 'an export (default: all)')
    .addOption(option.json())
    .option('--local', 'look at the runs of this machine')
    .addOption(option.out())
    .action(status);
}

async function status(name: string | undefined, options: StatusOptions): Promise<void> {
  const exports = await readStatus(name, options, new Date());
  if (options.json) printDocument({ outcome: 'ok', exports });
  else
    printLines(
      exports.flatMap((one, index) => [...(index > 0 ? [''] : []), ...describeStatus(one, options)]),
    );
}

/** @throws UsageError if there is no such export */
async function readStatus(
  name: string | undefined,
  options: StatusOptions,
  now: Date,
): Promise<ExportStatus[]> {
  const { local, out } = options;
  // An export of the config that never ran in the folder is shown only if it is asked for.
  const executions = await listExecutions(options, RECENT).catch((error) => {
    if (!local || name === undefined) throw error;
    return [];
  });
  await using objects = await openToRead(options);
  const configured = local && name === undefined ? [] : loadConfig().exports;
  const kept = local ? await readKeptRequests(out, now) : [];
  const known = new Set([
    ...[...configured, ...kept.map(({ request }) => request)].map((each) => `${each.account}/${each.name}`),
    ...executions.flatMap((one) => (one.account && one.export ? [`${one.account}/${one.export}`] : [])),
    ...(local ? namesIn(await objects.list(EXPORTS_PREFIX)) : []),
  ]);
  const names = [...known].filter((id) => name === undefined || id === name || id.endsWith(`/${name}`));
  if (name !== undefined && names.length === 0)
    throw new UsageError([`there is no export ${name} (there are ${[...known].join(', ') || 'none'})`]);
  const statuses: ExportStatus[] = [];
  for (const id of names.sort()) {
    const own = executions.filter((one) => `${one.account}/${one.export}` === id);
    const [account = '', name = ''] = id.split('/');
    const keys = await objects.list(exportPrefix({ account, name }));
    const end = keys
      .flatMap((key) => (key.endsWith(`/${MANIFEST}`) ? [windowOf(key)?.end_date ?? ''] : []))
      .sort()
      .at(-1);
    const failures = keys.filter((key) => key.endsWith(`/${FAILURE}`));
    const failure = await findLatestFailure(objects, failures);
    const run = { ...lastPlatform(kept, { account, name }), account, out };
    const days = await readDays(account, name, options, objects, now);
    statuses.push({
      account,
      export: name,
      running: own.filter(({ outcome }) => outcome === 'running').map(({ execution }) => execution),
      last: own.find(({ outcome }) => outcome !== 'running'),
      newest_day: end && addDays(end, -1),
      missing: days?.missing,
      held: days?.held,
      failure: failure && local ? adviseLocally(failure, run) : failure,
    });
  }
  return statuses;
}

/** @returns undefined if the export has no days, or its request is not known */
async function readDays(
  account: string,
  name: string,
  options: StatusOptions,
  objects: ReadableBucket,
  now: Date,
): Promise<MissingDays | undefined> {
  const found = await findExport(name, { ...options, account }, objects, now);
  return found && found.request.kind !== 'purchases' ? findMissingDays(found, objects, {}, now) : undefined;
}

/** @param folder of local runs */
export function describeStatus(one: ExportStatus, folder?: Folder): string[] {
  const { running, last, newest_day, missing, held = [], failure } = one;
  const isInFile = ({ reason }: { reason: string }) => reason === 'not_in_table';
  const inFiles = missing?.filter(isInFile) ?? [];
  const lines: [string, string | undefined][] = [
    ...running.map((execution): [string, string] => ['running', execution]),
    ['last run', last ? describeLast(last) : 'none'],
    ['newest day', newest_day ?? 'none'],
    ['missing', missing && describeMany(missing.filter((range) => !isInFile(range)))],
    ['not in table', inFiles.length > 0 ? describeMany(inFiles) : undefined],
    ['held', held.length > 0 ? describeMany(held) : undefined],
    ['failure', failure && describeFailure(failure)],
    ['more', failure && explainCommand(failure.execution, folder)],
  ];
  return [
    `${one.account}/${one.export}`,
    ...lines.flatMap(([label, text]) => (text === undefined ? [] : [`  ${label.padEnd(14)}${text}`])),
  ];
}

function describeLast(last: ExecutionSummary): string {
  const { started_at, ended_at = '', seconds, execution } = last;
  const took = seconds === undefined ? '' : `, took ${duration(seconds * 1_000)}`;
  return `${describeEnd(last)}, ${toMinute(started_at ?? ended_at)} UTC${took}, ${execution}`;
}

function describeMany(ranges: MissingDays['held']): string {
  if (ranges.length === 0) return 'none';
  const days = ranges.reduce((sum, range) => sum + range.days, 0);
  return `${days} ${days === 1 ? 'day' : 'days'}: ${describeRanges(ranges, MAX_RANGES)}`;
}

function describeFailure({ at, error, happened, todo }: RemainingFailure): string {
  return `${toMinute(at)} UTC, ${error}: ${happened} What to do: ${todo}`;
}
