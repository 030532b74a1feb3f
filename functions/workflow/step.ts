import * as z from 'zod/mini';
import { createLogger, logOtherOutput, redact } from '../aws/logger.ts';
import { createMeter, type Meter } from '../aws/metrics.ts';
import { addFact, ExportError } from './errors.ts';
import { measureError, measureStep } from './measure.ts';
import { readSettings, type Settings } from './settings.ts';
import type { Caught, WindowState } from './states.ts';
import { append, entriesOf, entry, type Timeline } from './timeline.ts';

export type LogFields = Readonly<Record<string, unknown>>;

/** One JSON line per entry. Fields are ids, numbers and names. */
export interface Log {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Adds fields to every later line of this call. */
  keep(fields: LogFields): void;
}

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

/** What a state hands to its function. */
const Invocation = z.object({
  state: z.unknown(),
  /** How often this state was tried before, by its Retry. */
  retry_count: z.number(),
});
export type Invocation = z.infer<typeof Invocation>;

type Handler<O> = (event: unknown, context: LambdaContext) => Promise<O>;

/** What is built on the first call, and kept for as long as the container is warm. */
type Wired<D> = D &
  Omit<Common, 'millisecondsLeft'> & { log: ReturnType<typeof createLogger>; meter: Meter; name: string };

/**
 * A Lambda handler from a step: parses the input, builds the dependencies on the first call, runs the step, and notes in
 * the window's timeline what it came to. Importing a step's file therefore touches neither the environment nor AWS.
 *
 * @param wire builds what the step needs beyond the common things
 */
export function step<S extends z.ZodMiniType, D, O>(
  schema: S,
  run: (input: z.output<S>, dependencies: D & Common) => Promise<O>,
  wire: (settings: Settings, log: Log) => D,
): Handler<O> {
  let wired: Wired<D> | undefined;
  return async (event, context) => {
    wired ??= openStep(wire);
    const { log, meter, name, now } = wired;
    const { state, retry_count } = Invocation.parse(event);
    const about = { ...subject(state), attempt: retry_count + 1 };
    log.setKeys({ step: name, invocation: context.awsRequestId, ...about });
    const caught = entriesOf(caughtIn(state), now());
    try {
      const millisecondsLeft = () => context.getRemainingTimeInMillis();
      const output = await run(schema.parse(state), { ...wired, millisecondsLeft });
      log.info('done', outcome(output));
      for (const measurement of measureStep(state, output, now())) meter(measurement, about);
      if (!isWindow(output)) return output;
      const came = entry(name, cameTo(output, state), now(), { tries: retry_count + 1 });
      return { ...output, timeline: append(timelineIn(state), [...caught, came]) };
    } catch (error) {
      for (const measurement of measureError(state, error, now())) meter(measurement, about);
      const failure = report(error, log);
      const requestId = error instanceof ExportError ? error.facts.request_id : undefined;
      const came = entry(name, failure.name, now(), { requestId, tries: retry_count + 1 });
      addFact(failure, 'timeline', [...caught, came]);
      throw failure;
    }
  };
}

function openStep<D>(wire: (settings: Settings, log: Log) => D): Wired<D> {
  const settings = readSettings();
  const log = createLogger();
  logOtherOutput(log);
  return {
    ...wire(settings, log),
    log,
    meter: createMeter(),
    now: () => new Date(),
    name: settings.STEP,
  };
}

function caughtIn(state: unknown): Caught | undefined {
  return (state as { caught?: Caught } | null)?.caught;
}

/** The state of a window that goes on; how one ended has no status. */
function isWindow(output: unknown): output is WindowState {
  return typeof output === 'object' && output !== null && 'status' in output && 'reports' in output;
}

function timelineIn(state: unknown): Timeline {
  return (state as WindowState).timeline ?? [];
}

function cameTo(window: WindowState, state: unknown): string {
  const before = state as WindowState;
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
function subject(state: unknown): Record<string, unknown> {
  const about = (state ?? {}) as Record<string, Record<string, unknown> | undefined>;
  const { execution, window, request } = about;
  return {
    execution,
    account: request?.account,
    export: request?.name,
    window: window && `${window.start_date}/${window.end_date}`,
    report_id: reportOf(state as Partial<WindowState> | null),
  };
}

/** The one to be saved, or the only one; each request to the platform names its own. */
function reportOf(state: Partial<WindowState> | null): string | undefined {
  const { ready_id, reports: [first, second] = [] } = state ?? {};
  return ready_id ?? (second ? undefined : first?.id);
}

function outcome(output: unknown): Record<string, unknown> {
  const { status, outcome, wait_seconds, reports, ready_id } = (output ?? {}) as Record<string, unknown>;
  const ids = Array.isArray(reports) ? reports.map((report: { id: string }) => report.id) : undefined;
  return { status: status ?? outcome, wait_seconds, report_ids: ids, ready_id };
}
