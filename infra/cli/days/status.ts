import { Command } from 'commander';
import pMap from 'p-map';
import type { StoredFailure } from '../../../functions/deliveries/records.ts';
import { EXPORTS_PREFIX, exportPrefix, MANIFEST, windowOf } from '../../../functions/workflow/keys.ts';
import { addDays, type DateRange, daysOf, groupDays } from '../../../functions/workflow/request/dates.ts';
import { hintAt } from '../../../functions/workflow/request/issues.ts';
import { duration } from '../../local/step-functions/progress.ts';
import { type Folder, openToRead, type ReadableBucket } from '../bucket.ts';
import { UsageError } from '../errors.ts';
import { describeEnd, type ExecutionSummary } from '../executions/executions.ts';
import { listExecutions } from '../executions/list.ts';
import { adviseLocally } from '../executions/outcome.ts';
import { printDocument, printLines, toMinute } from '../layout.ts';
import { explainCommand } from '../next-command.ts';
import { loadConfig, option } from '../options.ts';
import { lastPlatform } from '../requests/last-platform.ts';
import { describeRanges, type FoundExport, findExport, latestFailure, namesIn } from './days.ts';
import { groupMissing, type JudgedRange, judgeRange, LACKS, type Lack, type MissingDays } from './missing.ts';
import { shownReader } from './months.ts';

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
  readonly days?: MissingDays | undefined;
  /** The latest one that later deliveries have not settled. */
  readonly failure?: StoredFailure | undefined;
}

/** The last executions that are looked at. Each is one call, of which AWS allows 250 at once. */
const RECENT = 100;

/** Exports that are read at the same time. Each reads ten manifests or months at once. */
const PARALLEL = 4;

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
  await using bucket = await openToRead(options);
  const exports = await readExports(name, options, bucket, now);
  const describe = async (each: ReadExport): Promise<ExportStatus> => {
    const { account, name, executions, newest_day, found } = each;
    const judged =
      found && found.request.kind !== 'purchases'
        ? await judgeRange(found, shownReader(bucket), {}, now)
        : undefined;
    return {
      account,
      export: name,
      running: executions.filter(isRunning).map(({ execution }) => execution),
      last: executions.find((execution) => !isRunning(execution)),
      newest_day,
      days: found && judged && groupMissing(found, judged),
      failure: failureOf(each, judged?.days),
    };
  };
  return pMap(exports, describe, { concurrency: PARALLEL });
}

/** The failure that counts, with the advice of this machine for a local run. */
export function failureOf(
  { found, place }: ReadExport,
  days: JudgedRange['days'] | undefined,
): StoredFailure | undefined {
  const failure = found && latestFailure(found, found.request.kind === 'report' ? days : undefined);
  return failure && place ? adviseLocally(failure, place) : failure;
}

export function isRunning({ outcome }: ExecutionSummary): boolean {
  return outcome === 'running';
}

/** An export, as its objects and executions describe it. */
export interface ReadExport {
  readonly account: string;
  readonly name: string;
  /** Newest first. */
  readonly executions: readonly ExecutionSummary[];
  /** The last day that a manifest covers. */
  readonly newest_day: string | undefined;
  /** Undefined if its request is not known. */
  readonly found: FoundExport | undefined;
  /** The platform and folder of its last local run. */
  readonly place: Parameters<typeof adviseLocally>[1] | undefined;
}

/**
 * Reads all exports, or those of one name, in the order of their accounts and names.
 *
 * @throws UsageError if there is no such export
 */
export async function readExports(
  name: string | undefined,
  folder: Folder,
  bucket: ReadableBucket,
  now: Date,
): Promise<ReadExport[]> {
  const { local, out } = folder;
  // An export of the config that never ran in the folder is shown only if it is asked for.
  const executions = await listExecutions(folder, RECENT).catch((error) => {
    if (!local || name === undefined) throw error;
    return [];
  });
  const configured = local && name === undefined ? [] : loadConfig().exports;
  const platform = local ? await lastPlatform(out) : {};
  const known = new Set([
    ...configured.map((each) => `${each.account}/${each.name}`),
    ...executions.flatMap((one) => (one.account && one.export ? [`${one.account}/${one.export}`] : [])),
    ...(local ? namesIn(await bucket.list(EXPORTS_PREFIX)) : []),
  ]);
  const names = [...known].filter((id) => name === undefined || id === name || id.endsWith(`/${name}`));
  if (name !== undefined && names.length === 0)
    throw new UsageError([`there is no export ${name}${nameKnown(name, [...known])}`]);
  const read = async (id: string): Promise<ReadExport> => {
    const [account = '', name = ''] = id.split('/');
    const keys = await bucket.list(exportPrefix({ account, name }));
    const end = keys
      .flatMap((key) => (key.endsWith(`/${MANIFEST}`) ? [windowOf(key)?.end_date ?? ''] : []))
      .sort()
      .at(-1);
    return {
      account,
      name,
      executions: executions.filter((one) => `${one.account}/${one.export}` === id),
      newest_day: end && addDays(end, -1),
      found: await findExport(name, { ...folder, account }, bucket, now),
      place: local ? { ...platform, account, out } : undefined,
    };
  };
  return pMap(names.sort(), read, { concurrency: PARALLEL });
}

const LABELS: Readonly<Record<Lack, string>> = {
  not_delivered: 'missing',
  not_in_table: 'not in table',
  not_renewed: 'not renewed',
  held: 'held',
};

/** @param folder of local runs */
export function describeStatus(one: ExportStatus, folder?: Folder): string[] {
  const { running, last, newest_day, days, failure } = one;
  // Without a failure report, its history has the reason.
  const explained = failure ?? (last && last.outcome !== 'delivered' ? last : undefined);
  // No day of its request is over, so none is missing.
  const isUnused = newest_day === undefined && days?.not_delivered.length === 0;
  const lines: [string, string | undefined][] = [
    ...running.map((execution): [string, string] => ['running', execution]),
    ['last run', last ? describeLast(last) : 'none'],
    ['newest day', newest_day ?? 'none'],
    ...(days ? LACKS : []).flatMap((lack): [string, string][] => {
      if (lack === 'not_delivered' && isUnused)
        return [[LABELS[lack], 'nothing was exported yet, and no day of the request is over']];
      const ranges = days?.[lack] ?? [];
      return lack === 'not_delivered' || ranges.length > 0 ? [[LABELS[lack], describeMany(ranges)]] : [];
    }),
    ['failure', failure && describeFailure(failure)],
    ['more', explained && explainCommand(explained.execution, folder)],
  ];
  return [
    `${one.account}/${one.export}`,
    ...lines.flatMap(([label, text]) => (text === undefined ? [] : [`  ${label.padEnd(14)}${text}`])),
  ];
}

/** @param ids `account/name` of each export */
function nameKnown(name: string, ids: readonly string[]): string {
  const names = ids.flatMap((id) => [id, id.replace(/.*\//, '')]);
  return hintAt(name, names) || ` (there are ${ids.join(', ') || 'none'})`;
}

function describeLast(last: ExecutionSummary): string {
  const { started_at, ended_at = '', seconds, execution } = last;
  const took = seconds === undefined ? '' : `, took ${duration(seconds * 1_000)}`;
  const when = started_at === undefined ? `ended ${toMinute(ended_at)}` : toMinute(started_at);
  return `${describeEnd(last)}, ${when} UTC${took}, ${execution}`;
}

function describeMany(ranges: readonly DateRange[]): string {
  if (ranges.length === 0) return 'none';
  const days = ranges.flatMap(daysOf);
  // Ranges that differ only in their reason may touch.
  return `${days.length} ${days.length === 1 ? 'day' : 'days'}: ${describeRanges(groupDays(days), MAX_RANGES)}`;
}

function describeFailure({ at, error, happened, todo }: StoredFailure): string {
  return `${toMinute(at)} UTC, ${error}: ${happened} What to do: ${todo}`;
}
