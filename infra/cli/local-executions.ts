import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJson } from '../../functions/workflow/json.ts';
import type { ExportRequest } from '../../functions/workflow/request/request.ts';
import type { Window } from '../../functions/workflow/state-parts.ts';
import type { BusEvent } from '../local/events.ts';
import type { ExecutionHistory, HistoryEvent } from '../local/history.ts';
import { UsageError } from './errors.ts';
import {
  describeInput,
  describeRequest,
  type ExecutionDetails,
  type ExecutionOutcome,
  type ExecutionSummary,
  outcomeFor,
  readSteps,
  secondsBetween,
  type WindowRun,
  withResult,
} from './executions.ts';
import { isRunning } from './out-lock.ts';

/**
 * The executions of a local run's folder, newest first. history.json has those of the last run; of earlier ones,
 * events.jsonl has the end.
 *
 * @throws UsageError if the folder has neither file
 */
export async function listLocal(out: string): Promise<ExecutionSummary[]> {
  return (await readAll(out)).map(({ summary }) => summary);
}

/** @param execution default: the newest. @throws UsageError if there is none */
export async function readLocal(out: string, execution: string | undefined): Promise<ExecutionDetails> {
  const all = await readAll(out);
  const found = execution === undefined ? all[0] : all.find(({ summary }) => summary.execution === execution);
  if (found) return found;
  throw new UsageError([`--out ${out} has no execution ${execution ?? ''}`.trimEnd()]);
}

async function readAll(out: string): Promise<ExecutionDetails[]> {
  const [history, events] = await Promise.all(
    ['history.json', 'events.jsonl'].map((name) => readFile(join(out, name), 'utf8').catch(() => undefined)),
  );
  if (history === undefined && events === undefined)
    throw new UsageError([`--out ${out} has no history.json; run 'npm start' first, or name another folder`]);
  const { executions = [] } = Object(parseJson(history ?? '')) as { executions?: ExecutionHistory[] };
  const withoutEnd = (await isRunning(out)) ? 'running' : 'unfinished';
  const recorded = executions.map((history) => readRecorded(history, withoutEnd));
  const names = new Set(recorded.map(({ summary }) => summary.execution));
  const announced = (events ?? '')
    .split('\n')
    .flatMap((line) => readAnnounced(parseJson(line)))
    .filter(({ summary }) => !names.has(summary.execution));
  // Not by time: the clock of a run with --speed may be ahead of the next run's.
  return [...announced, ...recorded].reverse();
}

/** @param withoutEnd the outcome of an execution that has not ended */
function readRecorded(
  { execution, result, events }: ExecutionHistory,
  withoutEnd: ExecutionOutcome,
): ExecutionDetails {
  const outcome = result ? outcomeFor(result.status) : withoutEnd;
  const [first, last] = [events[0], events.at(-1)];
  const { time: started = '' } = first ?? {};
  const { time: ended = '' } = last ?? {};
  return {
    summary: {
      execution,
      outcome,
      ...(first && describeInput(first.input, new Date(started))),
      ...(first && { started_at: started }),
      ...(result && last && { ended_at: ended }),
      ...(first && { seconds: secondsBetween(started, ended) }),
      ...(result?.error !== undefined && { error: result.error }),
    },
    end: { name: execution, ...result },
    steps: readSteps(
      events.filter(({ window }) => window === undefined),
      ended,
    ),
    windows: readWindows(events, outcome, ended),
  };
}

function readWindows(
  events: readonly HistoryEvent[],
  outcome: ExecutionSummary['outcome'],
  ended: string,
): WindowRun[] {
  const plan = events.find(({ type, state }) => type === 'StateExited' && state === 'PlanExport');
  const { windows = [] } = Object(plan?.output) as { windows?: readonly Window[] };
  const map = events.find(({ type, stateType }) => type === 'StateEntered' && stateType === 'Map');
  const byWindow = Map.groupBy(events, ({ window }) => window);
  return windows.map((window, index) => {
    const own = byWindow.get(index) ?? [];
    const begun = own[0]?.time;
    if (begun === undefined) return { window, outcome: 'waiting', steps: [] };
    const end = own.find(({ type }) => /^MapIteration(Succeeded|Failed)$/.test(type));
    return withResult(end?.output, {
      window,
      outcome: end ? 'failed' : outcome,
      waited_seconds: secondsBetween(map?.time ?? begun, begun),
      seconds: secondsBetween(begun, end?.time ?? ended),
      ...(end?.error !== undefined && { error: end.error }),
      steps: readSteps(own, end?.time ?? ended),
    });
  });
}

/** Neither the time of the start nor those of the states are in the event. */
function readAnnounced(event: unknown): ExecutionDetails[] {
  const { 'detail-type': type, detail, time } = Object(event) as BusEvent;
  const isDelivered = type === 'Report Exported';
  if (!isDelivered && type !== 'Report Export Failed') return [];
  const {
    execution,
    error,
    windows = [],
    ...fields
  } = Object(detail) as {
    execution: string;
    error?: string;
    windows?: readonly { window: Window }[];
  } & Partial<ExportRequest> & { export?: string; window?: Window };
  return [
    {
      summary: {
        execution,
        outcome: isDelivered ? 'delivered' : 'failed',
        ...(isDelivered
          ? describeRequest(fields as ExportRequest)
          : {
              ...(fields.account && { account: fields.account }),
              ...(fields.export && { export: fields.export }),
            }),
        ended_at: time,
        ...(error !== undefined && { error }),
      },
      end: isDelivered
        ? { name: execution, status: 'SUCCEEDED', output: detail }
        : { name: execution, status: 'FAILED', error, cause: JSON.stringify(detail) },
      steps: [],
      windows: windows.map((result) =>
        withResult(
          { outcome: 'delivered', ...result },
          { window: result.window, outcome: 'delivered', steps: [] },
        ),
      ),
    },
  ];
}
