import * as z from 'zod/mini';
import { createHandler } from './aws/handler.ts';
import { createObjectStore, type ObjectStore } from './aws/objects.ts';
import { type Abandon, openAbandon } from './copy/abandon.ts';
import { describeFailure as describe, trimToCause, trimToState } from './decisions/failure-report.ts';
import { type LostWindow, outcomesOf } from './decisions/outcomes.ts';
import { ServiceUnavailable } from './workflow/errors.ts';
import { failureKey, objectKey } from './workflow/keys.ts';
import { ExportRequest } from './workflow/request/request.ts';
import { Caught, type FailedWindow, type Failure, Window, WindowState } from './workflow/states.ts';
import type { Common } from './workflow/step.ts';

/** A failed window's state, and the error that it ended with. */
const WindowFailure = z.extend(WindowState, { caught: Caught });
type WindowFailure = z.infer<typeof WindowFailure>;

/** Whatever the export had come to; of its request only what can be read is used, since it may be what failed. */
const ExportFailure = z.looseObject({ execution: z.string(), caught: Caught });
type ExportFailure = z.infer<typeof ExportFailure>;

/** Of an export, once PlanExport has checked the request; with results once its windows have ended. */
const Planned = z.object({
  windows: z.array(Window),
  request: ExportRequest,
  results: z.optional(z.array(z.unknown())),
});

const DescribeFailureInput = z.union([WindowFailure, ExportFailure]);
type DescribeFailureInput = z.infer<typeof DescribeFailureInput>;

/** Windows that an export's card shows; the rest are counted. */
const MAX_WINDOWS_SHOWN = 10;

interface Dependencies extends Pick<Common, 'log' | 'now'> {
  readonly store: Pick<ObjectStore, 'putJson'>;
  readonly abandon: Abandon;
  readonly runbookUrl: string | undefined;
}

/** The failed export's output: the execution ends with `cause` as its Cause. */
export interface ExportFailed {
  readonly failure: Failure;
  /** `failure` as JSON: a Fail state takes its Cause from a string. */
  readonly cause: string;
}

/**
 * Makes the card of a failure, of one window, whose export goes on, or of the export, and leaves it where the objects
 * would have been. Never throws for a reason of its own.
 */
export async function describeFailure(
  state: DescribeFailureInput,
  dependencies: Dependencies,
): Promise<FailedWindow | ExportFailed> {
  if (isWindow(state)) {
    const failure = describeWindow(state, dependencies);
    await giveUpUpload(state, dependencies);
    await leave(failure, failureKey(state.request, state.window), dependencies);
    return { outcome: 'failed', window: state.window, failure: trimToState(failure) };
  }
  const failure = await describeExport(state, dependencies);
  // An input that was refused names no place: a key is made of validated parts only.
  const key = keyOf(state);
  if (key !== undefined) await leave(failure, key, dependencies);
  return { failure, cause: JSON.stringify(failure) };
}

/** What was copied so far is of no use to the window's next run, whose report may be another one. */
async function giveUpUpload({ copying, request, window }: WindowFailure, { abandon }: Dependencies) {
  if (copying) await abandon(objectKey(request, window), copying.upload_id);
}

function isWindow(state: DescribeFailureInput): state is WindowFailure {
  return 'window' in state;
}

function describeWindow(state: WindowFailure, { now, runbookUrl }: Dependencies): Failure {
  const { caught, execution, request, window, reports, timeline } = state;
  const report_ids = reports.map(({ id }) => id);
  const names = { account: request.account, export: request.name };
  return describe(caught, { execution, ...names, window, report_ids, timeline, now: now(), runbookUrl });
}

/** The names stand in the request, and beside the windows once the export was summed up. */
async function describeExport(state: ExportFailure, dependencies: Dependencies): Promise<Failure> {
  const { caught, execution } = state;
  const { now, runbookUrl } = dependencies;
  const { account, name } = namesIn(state.request ?? state);
  const failure = describe(caught, { execution, account, export: name, now: now(), runbookUrl });
  const { windows, request, results } = Planned.safeParse(state).data ?? {};
  if (!windows || !request || !results) return failure;
  const outcomes = outcomesOf(windows, results).filter((one) => one.outcome !== 'delivered');
  const cards = await Promise.all(
    outcomes.map((one) =>
      one.outcome === 'lost' ? describeLost(one, { execution, request }, dependencies) : one.failure,
    ),
  );
  return cards.length > 0 ? sumUp(failure, cards, windows.length) : failure;
}

/** What DescribeWindowFailure would have done, which did not run. */
async function describeLost(
  { window, caught }: LostWindow,
  { execution, request }: Pick<WindowState, 'execution' | 'request'>,
  dependencies: Dependencies,
): Promise<Failure> {
  const { now, runbookUrl } = dependencies;
  const names = { account: request.account, export: request.name };
  const failure = describe(caught, { execution, ...names, window, now: now(), runbookUrl });
  await leave(failure, failureKey(request, window), dependencies);
  return trimToState(failure);
}

/** Where all windows failed alike, the export failed in that way; the sentence of one then stands for all. */
function sumUp(failure: Failure, cards: readonly Failure[], windows: number): Failure {
  const [first] = cards;
  const alike = first && cards.every(({ error }) => error === first.error);
  return trimToCause({
    ...failure,
    ...(alike && pick(first)),
    happened: `${cards.length} of ${windows} windows were not delivered. ${first?.happened}`,
    timeline: first?.timeline ?? [],
    report_ids: cards.flatMap(({ report_ids }) => report_ids).slice(0, 3 * MAX_WINDOWS_SHOWN),
    request_ids: [...new Set(cards.flatMap(({ request_ids }) => request_ids))].slice(0, MAX_WINDOWS_SHOWN),
    failed_windows: cards.slice(0, MAX_WINDOWS_SHOWN),
    windows_failed: cards.length,
    windows_delivered: windows - cards.length,
  });
}

function pick({ error, todo, runbook, faults }: Failure): Partial<Failure> {
  return { error, todo, runbook, ...(faults && { faults }) };
}

/** Of a request that was refused, a name may be anything; one that is right has no more characters than these. */
const Name = z.pipe(
  z.string(),
  z.transform((text) => text.slice(0, 64)),
);

/** Each by itself: what is wrong may be the other one. */
function namesIn(request: unknown): { account?: string | undefined; name?: string | undefined } {
  const { account, name } = Object(request) as { account?: unknown; name?: unknown };
  return { account: Name.safeParse(account).data, name: Name.safeParse(name).data };
}

/** Where the export's card belongs: the prefix of its whole range, once PlanExport has checked the request. */
function keyOf(state: ExportFailure): string | undefined {
  const range = { account: z.string(), name: z.string(), start_date: z.string(), end_date: z.string() };
  const planned = Planned.safeParse(state);
  // Of what could not be announced there is the result, made of the same request.
  const summedUp = z.object({ bucket: z.string(), ...range }).safeParse(state);
  const checked = planned.data?.request ?? summedUp.data;
  return checked && failureKey(checked, checked);
}

/**
 * The failure is announced whether or not this succeeds, so no state would repeat it: what may pass, such as a 503 of S3,
 * is met by a second try here.
 */
async function leave(card: Failure, key: string, { store, log }: Dependencies): Promise<void> {
  const put = () => store.putJson(key, card);
  try {
    await put().catch((error: unknown) => {
      if (error instanceof ServiceUnavailable) return put();
      throw error;
    });
  } catch (error) {
    const name = error instanceof Error ? error.name : 'unknown';
    log.warn('the card of the failure could not be written', { key, error: name });
  }
}

export const handler = createHandler(DescribeFailureInput, describeFailure, (settings) => ({
  store: createObjectStore(settings),
  abandon: openAbandon(settings),
  runbookUrl: settings.RUNBOOK_URL,
}));
