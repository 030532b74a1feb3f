import type { ObjectStore } from '../aws/objects.ts';
import { runKey } from '../workflow/keys.ts';
import { type Manner, type ParsedRequest, splitRequest } from '../workflow/request/request.ts';
import type { Window } from '../workflow/state-parts.ts';
import { type DayStore, type JudgedExport, readDays, type StoredDay } from './read-days.ts';
import { readRecords } from './records.ts';
import { daysIn, daysToRenew, parseRun, type Run, readRuns } from './runs.ts';

/** An execution of one account that begins, or will be started. */
export interface Beginning {
  readonly parsed: ParsedRequest;
  readonly execution: string;
  /** The execution of several accounts that will start this one. Absent if this one has begun. */
  readonly parent?: string;
  readonly started_at: string;
}

/** The facts that decide which windows are exported. */
export interface Judging extends JudgedExport {
  /** The reason why it is not known whether the export has a table. */
  readonly unread?: string | undefined;
}

type BeginStore = DayStore & Pick<ObjectStore, 'putJson' | 'remove'>;

interface Chosen {
  readonly windows: Window[];
  readonly already_delivered?: number;
  readonly warnings: readonly string[];
}

/** The run that an execution finishes, and the executions whose objects it replaces. */
interface Finished {
  readonly run: Pick<Run, 'run' | 'began_at' | 'windows'>;
  readonly executions: readonly string[];
}

/**
 * Chooses the windows that an execution exports, and writes its run. The execution of several accounts does
 * the same for each of them before the first one starts, so an account that cannot be started leaves a trace.
 *
 * @throws AccessRefused, ServiceUnavailable
 */
export async function beginRun(
  { parsed: { request, manner }, execution, parent, started_at }: Beginning,
  judged: Judging,
  store: BeginStore,
  now: Date,
): Promise<Chosen> {
  const key = runKey(request, execution);
  // The execution of several accounts wrote it, or an earlier try of this one.
  const announced = parseRun(await store.getText(key), key, request, now);
  const finished = manner.resumes && (await findFinished(judged, manner.resumes, announced, store, now));
  const chosen = finished
    ? await chooseUnfinished(judged, finished.run, store, now)
    : await chooseAsked(judged, manner, store, now);
  const ofParent = parent ?? announced?.parent;
  const ofConfig = finished ? finished.run.run : manner.run;
  const run: Run = {
    version: '1',
    execution,
    ...(ofParent !== undefined && { parent: ofParent }),
    ...(ofConfig !== undefined && { run: ofConfig }),
    began_at: finished?.run.began_at ?? manner.scheduledAt ?? started_at,
    request,
    windows: finished ? [...finished.run.windows] : chosen.windows,
  };
  // EventBridge Scheduler may start the parent twice. The run stays with the first one.
  const replaces = parent === undefined ? undefined : 'absent';
  if (run.windows.length > 0) await store.putJson(key, run, replaces);
  for (const earlier of finished?.executions ?? []) await store.remove(runKey(request, earlier));
  return chosen;
}

/** All windows of the request, or with `only_missing` those with a day to mend. */
async function chooseAsked(judged: Judging, { onlyMissing }: Manner, store: DayStore, now: Date) {
  if (onlyMissing) return chooseMissing(judged, store, now);
  return { windows: splitRequest(judged.request), warnings: [] };
}

/**
 * Chooses the windows that have a day which is missing, or of an older request. If the table cannot be read,
 * manifests alone decide, with a warning.
 *
 * @throws AccessRefused, ServiceUnavailable
 */
export async function chooseMissing(judged: Judging, store: DayStore, now: Date): Promise<Chosen> {
  const windows = splitRequest(judged.request);
  const { days, unread = judged.unread } = await readDays(
    store,
    judged,
    windows.flatMap(daysIn).toSorted(),
    now,
  );
  const isIn = (...states: readonly StoredDay['state'][]) =>
    days.filter(({ state }) => states.includes(state));
  const older = isIn('older').length;
  const warnings = [
    ...(unread === undefined
      ? []
      : [`the table cannot be read, so only manifests tell what is missing: ${unread}`]),
    ...(older === 0
      ? []
      : [
          `days that the request delivered as it was before the config changed, and that are exported again: ${older}`,
        ]),
  ];
  return { ...keepWindows(windows, new Set(isIn('missing', 'older').map(({ day }) => day))), warnings };
}

/** Finds the run that is finished. Its object, if it is still there, has the windows that it asked for. */
async function findFinished(
  { request }: Judging,
  resumes: NonNullable<Manner['resumes']>,
  announced: Run | undefined,
  store: DayStore,
  now: Date,
): Promise<Finished> {
  const { records } = await readRuns(store, request, now);
  const earlier = records.filter(
    ({ execution, parent }) => execution === resumes.execution || parent === resumes.execution,
  );
  const { began_at } = resumes;
  return {
    run: announced ?? earlier[0] ?? { began_at, windows: splitRequest(request) },
    executions: earlier.map(({ execution }) => execution),
  };
}

/** The windows with a day that was not delivered since the run began. */
async function chooseUnfinished(
  { request }: Judging,
  { began_at, windows: asked }: Finished['run'],
  store: DayStore,
  now: Date,
): Promise<Chosen> {
  const windows = splitRequest(request);
  // A list is a snapshot of today, even if the earlier execution should have brought another day.
  const isList = request.kind === 'list';
  const { deliveries } = await readRecords(store, request, now, isList ? undefined : request);
  const open = daysToRenew({ began_at, request, windows: asked }, deliveries);
  const wanted = new Set(isList && open.length > 0 ? windows.flatMap(daysIn) : open);
  return { ...keepWindows(windows, wanted), warnings: [] };
}

function keepWindows(windows: Window[], wanted: ReadonlySet<string>) {
  const chosen = windows.filter((window) => daysIn(window).some((day) => wanted.has(day)));
  return { windows: chosen, already_delivered: windows.length - chosen.length };
}
