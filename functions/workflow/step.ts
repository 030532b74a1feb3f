import type * as z from 'zod/mini';
import { type Log, openLogger, redact } from '../aws/logger.ts';
import { type Meter, openMeter } from '../aws/metrics.ts';
import { addFact, ExportError } from './errors.ts';
import { measureError, measureStep } from './measure.ts';
import { readSettings, type Settings } from './settings.ts';
import type { Caught, WindowState } from './states.ts';
import { append, entriesOf, entry, type Timeline } from './timeline.ts';

/** What Lambda hands over beside the event; only what is used. */
export interface LambdaContext {
  readonly functionName: string;
  readonly awsRequestId: string;
  getRemainingTimeInMillis(): number;
}

/** What every step is given beside its input. */
export interface Common {
  readonly log: Log;
  readonly now: () => Date;
  /** Until Lambda ends this call. */
  readonly millisecondsLeft: () => number;
}

type Handler<O> = (event: unknown, context: LambdaContext) => Promise<O>;

/** What is built on the first call, and kept for as long as the container is warm. */
type Wired<D> = D &
  Omit<Common, 'millisecondsLeft'> & { log: ReturnType<typeof openLogger>; meter: Meter; name: string };

/**
 * A Lambda handler from a step: parses the input, builds the dependencies on the first call, runs the step, and notes in
 * the window's timeline what it came to. Importing a step's file therefore touches neither the environment nor AWS.
 *
 * @param wire builds what the step needs beyond the common things
 */
export function step<S extends z.ZodMiniType, D, O>(
  schema: S,
  run: (input: z.output<S>, dependencies: D & Common) => Promise<O>,
  wire: (settings: Settings) => D,
): Handler<O> {
  let wired: Wired<D> | undefined;
  return async (event, context) => {
    wired ??= openStep(wire);
    const { log, meter, name, now } = wired;
    const about = subject(event);
    log.setKeys({ step: name, request: context.awsRequestId, ...about });
    const caught = entriesOf(caughtIn(event), now());
    try {
      const millisecondsLeft = () => context.getRemainingTimeInMillis();
      const output = await run(schema.parse(event), { ...wired, millisecondsLeft });
      log.info('done', outcome(output));
      for (const measurement of measureStep(event, output, now())) meter(measurement, about);
      return isWindow(output) ? noteIn(output, event, name, caught, now()) : output;
    } catch (error) {
      for (const measurement of measureError(error)) meter(measurement, about);
      const failure = report(error, log);
      const requestId = error instanceof ExportError ? error.facts.request_id : undefined;
      addFact(failure, 'timeline', [...caught, entry(name, failure.name, now(), requestId)]);
      throw failure;
    }
  };
}

function openStep<D>(wire: (settings: Settings) => D): Wired<D> {
  const settings = readSettings();
  return {
    ...wire(settings),
    log: openLogger(),
    meter: openMeter(),
    now: () => new Date(),
    name: settings.STEP,
  };
}

function caughtIn(event: unknown): Caught | undefined {
  return (event as { caught?: Caught } | null)?.caught;
}

/** The state of a window that goes on; how one ended has no status. */
function isWindow(output: unknown): output is WindowState {
  return typeof output === 'object' && output !== null && 'status' in output && 'reports' in output;
}

/** The window's state, with what was caught before the step and what the step came to. */
function noteIn<W extends WindowState>(
  window: W,
  event: unknown,
  name: string,
  caught: Timeline,
  now: Date,
): W {
  const before = event as WindowState;
  const timeline = append(before.timeline ?? [], [...caught, entry(name, cameTo(window, before), now)]);
  return { ...window, timeline };
}

function cameTo(window: WindowState, before: WindowState): string {
  if (window.throttled > before.throttled) return 'throttled';
  return window.lost_answers === before.lost_answers ? window.status : 'AnswerLost';
}

/** Logs the failure, and gives it on in a form that holds nothing it should not. */
function report(error: unknown, log: Log): Error {
  if (error instanceof ExportError) {
    log.warn('failed', { error: error.name, happened: error.message.split('\n', 1)[0], ...error.facts });
    // Lambda sends the stack as well; it begins with the message and would fill the Cause with it.
    error.stack = error.name;
    return error;
  }
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  const unexpected = Object.assign(new Error(redact(message)), { name, stack: redact(stack ?? '') });
  log.error('failed unexpectedly', { error: name, happened: unexpected.message, stack: unexpected.stack });
  return unexpected;
}

/** What the line is about: ids and dates of the state, where it has them. */
function subject(event: unknown): Record<string, unknown> {
  const { execution, window, request } = (event ?? {}) as Record<string, Record<string, unknown> | undefined>;
  return {
    execution,
    account: request?.account,
    export: request?.name,
    window: window && `${window.start_date}/${window.end_date}`,
  };
}

function outcome(output: unknown): Record<string, unknown> {
  const { status, outcome, wait_seconds, reports, ready_id } = (output ?? {}) as Record<string, unknown>;
  const ids = Array.isArray(reports) ? reports.map((report: { id: string }) => report.id) : undefined;
  return { status: status ?? outcome, wait_seconds, report_ids: ids, ready_id };
}
