import { Command } from 'commander';
import type { StoredFailure } from '../../../functions/deliveries/records.ts';
import { type DateRange, daysOf, groupDays } from '../../../functions/workflow/request/dates.ts';
import { type Folder, openToRead } from '../../knowledge/bucket.ts';
import { describeEnd, type ExecutionSummary, toMinute } from '../../knowledge/executions/executions.ts';
import { describeRanges } from '../../knowledge/exports.ts';
import { LACKS, type Lack, type MissingDays } from '../../knowledge/missing-days.ts';
import { explainCommand } from '../../knowledge/next-command.ts';
import { type ReadExport, readExports } from '../../knowledge/status.ts';
import { duration } from '../../local/step-functions/progress.ts';
import { printDocument, printLines } from '../layout.ts';
import { option } from '../options.ts';

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

/** Missing ranges that the text names; --json has all. */
const MAX_RANGES = 10;

export function createCommand(): Command {
  return new Command('status')
    .argument('[name]', 'an export (default: all)')
    .addOption(option.json())
    .option('--local', 'look at the runs of this machine')
    .addOption(option.out())
    .action(status);
}

async function status(name: string | undefined, options: StatusOptions): Promise<void> {
  await using bucket = await openToRead(options);
  const exports = (await readExports(name, options, bucket, new Date())).map(toStatus);
  if (options.json) printDocument({ outcome: 'ok', exports });
  else
    printLines(
      exports.flatMap((one, index) => [...(index > 0 ? [''] : []), ...describeStatus(one, options)]),
    );
}

function toStatus({ account, name, executions, newest_day, missing, failure }: ReadExport): ExportStatus {
  const isRunning = ({ outcome }: ExecutionSummary) => outcome === 'running';
  return {
    account,
    export: name,
    running: executions.filter(isRunning).map(({ execution }) => execution),
    last: executions.find((execution) => !isRunning(execution)),
    newest_day,
    days: missing,
    failure,
  };
}

const LABELS: Readonly<Record<Lack, string>> = {
  not_delivered: 'missing',
  not_in_table: 'not in table',
  not_renewed: 'not renewed',
  held: 'held',
  older_request: 'older request',
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
      const added = lack === 'older_request' ? ranges.flatMap(({ problem = [] }) => problem) : [];
      const text = [describeMany(ranges), ...new Set(added)].join(', ');
      return lack === 'not_delivered' || ranges.length > 0 ? [[LABELS[lack], text]] : [];
    }),
    ['failure', failure && describeLastFailure(failure)],
    ['more', explained && explainCommand(explained.execution, folder)],
  ];
  return [
    `${one.account}/${one.export}`,
    ...lines.flatMap(([label, text]) => (text === undefined ? [] : [`  ${label.padEnd(14)}${text}`])),
  ];
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

function describeLastFailure({ at, error, happened, todo }: StoredFailure): string {
  return `${toMinute(at)} UTC, ${error}: ${happened} What to do: ${todo}`;
}
