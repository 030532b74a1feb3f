import type * as z from 'zod/mini';
import { type Log, openLogger, redact } from '../aws/logger.ts';
import { ExportError } from './errors.ts';
import { readSettings, type Settings } from './settings.ts';

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

/**
 * A Lambda handler from a step: parses the input, builds the dependencies on the first call, and runs the step.
 * Importing a step's file therefore touches neither the environment nor AWS.
 *
 * @param wire builds what the step needs beyond the common things
 */
export function step<S extends z.ZodMiniType, D, O>(
  schema: S,
  run: (input: z.output<S>, dependencies: D & Common) => Promise<O>,
  wire: (settings: Settings) => D,
): Handler<O> {
  let wired: (D & Omit<Common, 'millisecondsLeft'> & { log: ReturnType<typeof openLogger> }) | undefined;
  return async (event, context) => {
    wired ??= { ...wire(readSettings()), log: openLogger(), now: () => new Date() };
    const { log } = wired;
    log.setKeys({ step: context.functionName, request: context.awsRequestId, ...subject(event) });
    try {
      const millisecondsLeft = () => context.getRemainingTimeInMillis();
      const output = await run(schema.parse(event), { ...wired, millisecondsLeft });
      log.info('done', outcome(output));
      return output;
    } catch (error) {
      throw report(error, log);
    }
  };
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
