import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJson } from '../../../functions/workflow/json.ts';
import type { BusEvent } from '../../local/events.ts';
import type { ExecutionHistory, History, HistoryEvent } from '../../local/step-functions/history.ts';
import { UsageError } from '../errors.ts';
import {
  describeInput,
  type ExecutionSummary,
  type ExplainedExecution,
  outcomeFor,
  plannedWindows,
  readResult,
  secondsBetween,
  unbegun,
  type WindowRun,
} from './executions.ts';

/**
 * The executions of a local run's folder, newest first. history.json has those of the last run; of earlier
 * ones, events.jsonl has the end.
 *
 * @throws UsageError if the folder has neither file
 */
export async function listLocal(out: string): Promise<ExecutionSummary[]> {
  return (await readRuns(out)).map(({ summary }) => summary);
}

/** @throws UsageError if the folder does not have it */
export async function readLocal(out: string, execution: string): Promise<ExplainedExecution> {
  const found = (await readRuns(out)).find(({ summary }) => summary.execution === execution);
  if (found) return found;
  throw new UsageError([`--out ${out} has no execution ${execution}`]);
}

async function readRuns(out: string): Promise<ExplainedExecution[]> {
  const [history, events] = await Promise.all(
    ['history.json', 'events.jsonl'].map((name) => readFile(join(out, name), 'utf8').catch(() => undefined)),
  );
  if (history === undefined && events === undefined)
    throw new UsageError([`no run has begun in --out ${out}: repeat its command, or name another folder`]);
  const { executions = [], next } = Object(parseJson(history ?? '')) as Partial<History>;
  const recorded = executions.map((each) => ({ ...readRecorded(each), next }));
  const names = new Set(recorded.map(({ summary }) => summary.execution));
  const announced = (events ?? '')
    .split('\n')
    .flatMap((line) => readAnnounced(parseJson(line)))
    .filter(({ summary }) => !names.has(summary.execution));
  // Not by time: the clock of a run with --speed may be ahead of the next run's.
  return [...announced, ...recorded].reverse();
}

function readRecorded({ execution, result, events }: ExecutionHistory): ExplainedExecution {
  const [first] = events;
  const until = events.at(-1)?.time ?? '';
  const summary = {
    execution,
    outcome: result ? outcomeFor(result.status) : ('unfinished' as const),
    ...(first && describeInput(first.input, new Date(first.time))),
    started_at: first?.time,
    ended_at: result && until,
    seconds: first && secondsBetween(first.time, until),
    error: result?.error,
  };
  const windows = readWindows(summary, events, until);
  const recorded = events.some(({ state }) => state !== undefined);
  return { summary, end: { name: execution, ...result }, windows, recorded };
}

function readWindows(summary: ExecutionSummary, events: readonly HistoryEvent[], until: string): WindowRun[] {
  const plan = events.find(({ type, state }) => type === 'StateExited' && state === 'PlanExport');
  const byWindow = Map.groupBy(events, ({ window }) => window);
  return plannedWindows(plan?.output).map((window, place) => {
    const own = byWindow.get(place) ?? [];
    const begun = own[0]?.time;
    if (begun === undefined) return { window, outcome: unbegun(summary) };
    const end = own.find(({ type }) => /^MapIteration(Succeeded|Failed)$/.test(type));
    return {
      window,
      outcome: summary.outcome,
      seconds: secondsBetween(begun, end?.time ?? until),
      ...(end
        ? readResult(end.output, end.error)
        : { state: own.findLast(({ type }) => type === 'StateEntered')?.state }),
    };
  });
}

/** The event tells neither when the execution started nor what its states did. */
function readAnnounced(event: unknown): ExplainedExecution[] {
  const { 'detail-type': type, detail, time } = Object(event) as BusEvent;
  const status = { 'Report Exported': 'SUCCEEDED', 'Report Export Failed': 'FAILED' }[type];
  if (status === undefined) return [];
  const { execution, account, name, export: failed, start_date, end_date, error } = Object(detail);
  const summary = {
    execution,
    outcome: outcomeFor(status),
    account,
    export: name ?? failed,
    start_date,
    end_date,
    ended_at: time,
    error,
  };
  const end = { name: execution, status, output: detail, error, cause: JSON.stringify(detail) };
  return [{ summary, end, windows: [] }];
}
