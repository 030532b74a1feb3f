import { objectKey } from '../../functions/workflow/keys.ts';
import type { ExportRequest } from '../../functions/workflow/request/request.ts';
import type { Window } from '../../functions/workflow/states.ts';
import type { StepName } from '../constructs/retries.ts';
import type { HistoryEvent } from './history.ts';

/** The progress of one window. */
export interface WindowProgress {
  readonly window: Window;
  /** Of its object. */
  readonly key: string;
  readonly doing: string;
  /** When it began to do that, in epoch ms by the run's clock. */
  readonly since: number;
  readonly done: boolean;
  /** Of the file that was delivered. */
  readonly bytes?: number;
  /** The last failure, while the step is tried again. */
  readonly trouble?: string;
}

/** The words for the states of a window. Each step has an entry; those that no window waits for have no words. */
export const DOING: Readonly<Record<StepName | 'GetWindowToken' | 'WaitForReport', string | undefined>> = {
  PlanExport: undefined,
  GetToken: undefined,
  GetWindowToken: 'gets a token',
  CreateReport: 'creates the report',
  WaitForReport: 'waits for the report',
  CheckReport: 'waits for the report',
  SaveReport: 'copies the file',
  QueryPurchases: 'queries the purchases',
  ExportList: 'reads the list',
  CurateReport: 'reads the rows',
  PublishWindow: 'writes the manifest',
  PublishExport: undefined,
  DescribeFailure: undefined,
};

const WAITS_ITS_TURN = 'waits its turn';

/** By the window's place in the export. */
export type Progress = ReadonlyMap<number, WindowProgress>;

/** Returns the progress after one more event of the history, or the same object if the event changes nothing. */
export function advance(progress: Progress, event: HistoryEvent): Progress {
  if (event.type === 'StateExited' && event.state === 'PlanExport') return planned(event);
  const { window: place } = event;
  const before = place === undefined ? undefined : progress.get(place);
  if (place === undefined || !before) return progress;
  const after = step(before, event);
  return after === before ? progress : new Map(progress).set(place, after);
}

function planned({ output, time }: HistoryEvent): Progress {
  const { request, windows } = output as { request: ExportRequest; windows: readonly Window[] };
  const since = Date.parse(time);
  return new Map(
    windows.map((window, place) => [
      place,
      { window, key: objectKey(request, window), doing: WAITS_ITS_TURN, since, done: false },
    ]),
  );
}

function step(before: WindowProgress, event: HistoryEvent): WindowProgress {
  const { window, key } = before;
  const since = Date.parse(event.time);
  if (event.type === 'MapIterationSucceeded') {
    const { outcome = 'done', bytes } = event.output as { outcome?: string; bytes?: number };
    return { window, key, doing: outcome, since, done: true, ...(bytes !== undefined && { bytes }) };
  }
  if (event.type === 'MapIterationFailed') {
    return { window, key, doing: `failed: ${event.error}`, since, done: true };
  }
  if (event.type === 'StateFailed') return { ...before, trouble: `${event.error} in ${event.state}` };
  const doing = event.type === 'StateEntered' ? DOING[event.state as keyof typeof DOING] : undefined;
  return doing === undefined || doing === before.doing ? before : { window, key, doing, since, done: false };
}
