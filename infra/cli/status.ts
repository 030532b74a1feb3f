import { Command } from 'commander';
import { EXPORTS_PREFIX, exportPrefix } from '../../functions/workflow/keys.ts';
import { addDays } from '../../functions/workflow/request/dates.ts';
import { duration } from '../local/progress.ts';
import { type ExportedObjects, NO_OBJECTS, openBucket } from './bucket.ts';
import { describeDays, findLatestFailure, namesIn, type RemainingFailure, readKeys } from './days.ts';
import { readStateMachineArn } from './deployment.ts';
import { UsageError } from './errors.ts';
import { describeEnd, type ExecutionSummary, listLocal } from './executions.ts';
import { printDocument, printLines, toMinute } from './layout.ts';
import { findMissingDays, findWanted, type MissingDays } from './missing.ts';
import { explainCommand, type LocalFolder } from './next-command.ts';
import { examples, LOCAL_GROUP, loadConfig, option } from './options.ts';

interface StatusOptions {
  readonly json?: true;
  readonly local?: true;
  readonly out: string;
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
  /** As `missing` shows them. Absent for a list, before the first delivery, and for a deployed export that is not in cdk.json. */
  readonly missing?: MissingDays['missing'] | undefined;
  /** The latest failure report that no later delivery has deleted. */
  readonly failure?: RemainingFailure | undefined;
}

/** The last executions that are looked at. Each is one call, of which AWS allows 250 at once. */
const RECENT = 100;

/** Missing ranges that the text names; --json has all. */
const MAX_RANGES = 10;

export function createStatusCommand(): Command {
  return new Command('status')
    .description(
      'Show of each export what runs, how the last run ended, the newest day, the missing days and the last failure.',
    )
    .argument('[name]', 'an export (default: all)')
    .addOption(option.json())
    .option('--local', 'look at the runs of this machine')
    .optionsGroup(LOCAL_GROUP)
    .addOption(option.out())
    .addHelpText('after', examples('status', 'status daily-campaigns --json', 'status --local'))
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
  const executions = local ? await listLocal(out) : await listDeployed();
  const configured = local ? [] : loadConfig().exports;
  await using objects = await openBucket({ ...(local && { local }), out }).catch((error) => {
    // The first run on this machine has delivered nothing yet.
    if (local) return NO_OBJECTS;
    throw error;
  });
  const known = new Set([
    ...configured.map((entry) => `${entry.account}/${entry.name}`),
    ...executions.flatMap((one) => (one.account && one.export ? [`${one.account}/${one.export}`] : [])),
    ...(local ? namesIn(await objects.list(EXPORTS_PREFIX)) : []),
  ]);
  const names = [...known].filter((id) => name === undefined || id === name || id.endsWith(`/${name}`));
  if (name !== undefined && names.length === 0)
    throw new UsageError([`there is no export ${name} (there are ${[...known].join(', ') || 'none'})`]);
  const statuses: ExportStatus[] = [];
  for (const id of names.sort()) {
    const isConfigured = configured.some((one) => `${one.account}/${one.name}` === id);
    const own = executions.filter((one) => `${one.account}/${one.export}` === id);
    const [account = '', name = ''] = id.split('/');
    const { delivered, failures, isList } = readKeys(await objects.list(exportPrefix({ account, name })));
    const end = delivered
      .map(({ end_date }) => end_date)
      .sort()
      .at(-1);
    const mayHaveDays = end !== undefined && !isList && (local || isConfigured);
    statuses.push({
      account,
      export: name,
      running: own.filter(({ outcome }) => outcome === 'running').map(({ execution }) => execution),
      last: own.find(({ outcome }) => outcome !== 'running'),
      newest_day: end && addDays(end, -1),
      missing: mayHaveDays ? await readMissing(account, name, options, objects, now) : undefined,
      failure: await findLatestFailure(objects, failures),
    });
  }
  return statuses;
}

/** @returns undefined if the export has no days */
async function readMissing(
  account: string,
  name: string,
  options: StatusOptions,
  objects: ExportedObjects,
  now: Date,
): Promise<MissingDays['missing'] | undefined> {
  const wanted = await findWanted(name, { ...options, account }, objects, now);
  if (wanted.request.kind !== 'report') return undefined;
  return (await findMissingDays(wanted, objects, options, now)).missing;
}

async function listDeployed(): Promise<ExecutionSummary[]> {
  const { listDeployed } = await import('./deployed.ts');
  return listDeployed(
    await readStateMachineArn(undefined, 'use --local for the runs of this machine'),
    RECENT,
  );
}

/** @param folder of local runs */
export function describeStatus(one: ExportStatus, folder?: LocalFolder): string[] {
  const { running, last, newest_day, missing, failure } = one;
  const lines: [string, string | undefined][] = [
    ...running.map((execution): [string, string] => ['running', execution]),
    ['last run', last ? describeLast(last) : 'none'],
    ['newest day', newest_day ?? 'none'],
    ['missing', missing && describeMissing(missing)],
    ['failure', failure && describeFailure(failure)],
    ['more', failure && explainCommand(failure.execution, folder)],
  ];
  return [
    `${one.account}/${one.export}`,
    ...lines.flatMap(([label, text]) => (text === undefined ? [] : [`  ${label.padEnd(12)}${text}`])),
  ];
}

function describeLast(last: ExecutionSummary): string {
  const { started_at, ended_at = '', seconds, execution } = last;
  const took = seconds === undefined ? '' : `, took ${duration(seconds * 1_000)}`;
  return `${describeEnd(last)}, ${toMinute(started_at ?? ended_at)} UTC${took}, ${execution}`;
}

function describeMissing(missing: MissingDays['missing']): string {
  if (missing.length === 0) return 'none';
  const days = missing.reduce((sum, range) => sum + range.days, 0);
  const shown = missing.slice(-MAX_RANGES).map(describeDays);
  const more = missing.length > MAX_RANGES ? `${missing.length - MAX_RANGES} earlier ranges and ` : '';
  return `${days} ${days === 1 ? 'day' : 'days'}: ${more}${shown.join(', ')}`;
}

function describeFailure({ at, error, happened, todo }: RemainingFailure): string {
  return `${toMinute(at)} UTC, ${error}: ${happened} What to do: ${todo}`;
}
