import { runningExecution } from '../../../functions/days/runs.ts';
import type { DateRange } from '../../../functions/workflow/request/dates.ts';
import type { RunningExecution } from '../executions/deployed.ts';
import type { RecordedExport } from './read-export.ts';

/** The executions of an export that run, also one of several accounts that is to start it. */
export function runningOf(
  { request: { account, name }, records }: RecordedExport,
  running: readonly RunningExecution[],
) {
  const all = running.map(({ execution }) => execution);
  const ofExport = running.filter((one) => one.account === account && one.export === name);
  const ofRuns = records.runs.flatMap((run) => runningExecution(run, all) ?? []);
  return [...new Set([...ofExport.map(({ execution }) => execution), ...ofRuns])];
}

/** A run that Step Functions still runs. */
export interface RunningRun extends DateRange {
  /** Its own execution, or that of several accounts that is to start it. */
  readonly execution: string;
}

/** @param running the names of the executions that run */
export function findRunning({ records }: RecordedExport, running: readonly string[]): RunningRun[] {
  return records.runs.flatMap((run) => {
    const execution = runningExecution(run, running);
    const { start_date, end_date } = run.request;
    return execution === undefined ? [] : [{ execution, start_date, end_date }];
  });
}
