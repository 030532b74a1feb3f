import { judgeStored } from '../../../functions/days/read-days.ts';
import { daysToRenew, isForgotten, type Run, runningExecution } from '../../../functions/days/runs.ts';
import { count } from '../../../functions/workflow/count.ts';
import { type DateRange, describeDays } from '../../../functions/workflow/request/dates.ts';
import type { RunningExecution } from '../executions/deployed.ts';
import type { Folder } from '../place/bucket.ts';
import { commandFor } from './next-command.ts';
import type { RecordedExport } from './read-export.ts';

/** A run that did not finish, what is left of it, and the command that finishes it. */
export interface UnfinishedRun extends DateRange {
  readonly execution: string;
  /** The run of the config, such as `daily-campaigns#2`. */
  readonly run?: string;
  readonly began_at: string;
  /** Days that are missing. */
  readonly missing: number;
  /** Days that are there from reports that were created before the run began. */
  readonly not_renewed: number;
  readonly command: string;
}

/**
 * Runs that did not finish, the oldest first, without the ones that Step Functions still runs. The command of
 * an account finishes all accounts of its run that are not done: an execution that was never started has
 * none.
 */
export function findUnfinished(
  recordedExport: RecordedExport,
  running: readonly string[],
  folder: Folder,
  now: Date,
): UnfinishedRun[] {
  const { records } = recordedExport;
  return records.runs.flatMap((run) => {
    if (runningExecution(run, running) || isForgotten(run, now)) return [];
    const open = daysToRenew(run, records.deliveries);
    if (open.length === 0) return [];
    const judged = judgeStored(open, recordedExport, records, undefined);
    const missing = judged.filter(({ state }) => state === 'missing').length;
    return [
      {
        execution: run.execution,
        ...(run.run !== undefined && { run: run.run }),
        began_at: run.began_at,
        ...rangeOfRun(run),
        missing,
        not_renewed: open.length - missing,
        command: commandFor(['resume', run.parent ?? run.execution], {}, folder),
      },
    ];
  });
}

/**
 * Such as `the run of 2025-01-01 to 2025-12-31 did not finish: 135 days are missing, 12 were not renewed`.
 */
export function describeUnfinished(run: UnfinishedRun): string {
  return `the run of ${describeDays(run)} did not finish: ${describeOpenDays(run)}`;
}

/** What is left of a run, such as `135 days are missing, 12 were not renewed`. */
export function describeOpenDays({ missing, not_renewed }: UnfinishedRun): string {
  const renewed = `${not_renewed === 1 ? 'was' : 'were'} not renewed`;
  if (missing === 0) return `${count(not_renewed, 'day')} ${renewed}`;
  const lacking = `${count(missing, 'day')} ${missing === 1 ? 'is' : 'are'} missing`;
  return not_renewed === 0 ? lacking : `${lacking}, ${not_renewed} ${renewed}`;
}

function rangeOfRun({ request: { start_date, end_date } }: Run): DateRange {
  return { start_date, end_date };
}

/** The executions of an export that run, also one of several accounts that is to start it. */
export function runningOf(
  { request: { account, name }, records }: RecordedExport,
  running: readonly RunningExecution[],
) {
  const all = running.map(({ execution }) => execution);
  const ofExport = running.filter((execution) => execution.account === account && execution.export === name);
  const ofRuns = records.runs.flatMap((run) => runningExecution(run, all) ?? []);
  return [...new Set([...ofExport.map(({ execution }) => execution), ...ofRuns])];
}

/** A run that Step Functions still runs. */
export interface RunningRun extends DateRange {
  /** Its own execution, or that of several accounts that is to start it. */
  readonly execution: string;
}

/** @param running the names of the executions that run */
export function runningRuns({ records }: RecordedExport, running: readonly string[]): RunningRun[] {
  return records.runs.flatMap((run) => {
    const execution = runningExecution(run, running);
    const { start_date, end_date } = run.request;
    return execution === undefined ? [] : [{ execution, start_date, end_date }];
  });
}
