import type * as z from 'zod/mini';
import { addFact, ExportError } from '../workflow/errors.ts';
import { type Measurement, measureError, measureStep } from '../workflow/measure.ts';
import { readSettings, type SettingName, type Settings } from '../workflow/settings.ts';
import type { Caught } from '../workflow/state-parts.ts';
import {
  type Common,
  describeOutput,
  describeState,
  Invocation,
  isWindowState,
  type LambdaContext,
  type Log,
} from '../workflow/step.ts';
import { appendEntries, createEntry, entriesOfCaught, windowOutcome } from '../workflow/timeline.ts';
import { createLogger, logOtherOutput, redact } from './logger.ts';
import { createMeter } from './metrics.ts';

type Handler<O> = (event: unknown, context: LambdaContext) => Promise<O>;

/**
 * Makes a Lambda handler from a step. The handler parses the state, logs and measures the call, and adds its outcome to
 * the window's timeline. It reads the environment and creates clients on the first call and keeps them while the
 * container is warm, so importing a step's file touches neither the environment nor AWS.
 *
 * @param names the settings that the step reads, from READS
 * @param wire creates the dependencies that the step needs besides {@link Common}
 */
export function createHandler<N extends SettingName, S extends z.ZodMiniType, D, O>(
  names: readonly N[],
  schema: S,
  run: (state: z.output<S>, dependencies: D & Common) => Promise<O>,
  wire: (settings: Pick<Settings, N>, log: Log) => D,
): Handler<O> {
  let container: ReturnType<typeof startContainer<N, D>> | undefined;
  return async (event, context) => {
    container ??= startContainer(names, wire);
    const { dependencies, log, meter, step, now } = container;
    const { state, retry_count, redrive_count: redriveCount = 0 } = Invocation.parse(event);
    const tries = retry_count + 1;
    const about = { ...describeState(state), attempt: tries };
    log.setKeys({ step, invocation: context.awsRequestId, ...about });
    const measure = (measurement: Measurement) => meter(measurement, about);
    const caught = entriesOfCaught(caughtIn(state), now());
    try {
      const millisecondsLeft = () => context.getRemainingTimeInMillis();
      const common: Common = { log, now, measure, millisecondsLeft, redriveCount };
      const output = await run(schema.parse(state), { ...dependencies, ...common });
      log.info('done', describeOutput(output));
      measureStep(state, output, now()).forEach(measure);
      if (!isWindowState(output) || !isWindowState(state)) return output;
      const entry = createEntry(windowOutcome(state, output), { step, now: now(), tries });
      // If the output keeps the caught error, the next step adds its entries.
      const entries = output.caught ? [entry] : [...caught, entry];
      return { ...output, timeline: appendEntries(state.timeline ?? [], entries) };
    } catch (thrown) {
      measureError(state, thrown, now()).forEach(measure);
      const error = logFailure(thrown, log);
      const requestId = thrown instanceof ExportError ? thrown.facts.request_id : undefined;
      const entry = createEntry(error.name, { step, now: now(), tries, requestId });
      addFact(error, 'timeline', [...caught, entry]);
      throw error;
    }
  };
}

function startContainer<N extends SettingName, D>(
  names: readonly N[],
  wire: (settings: Pick<Settings, N>, log: Log) => D,
) {
  const settings = readSettings(names);
  const log = createLogger();
  logOtherOutput(log);
  const dependencies = wire(settings, log);
  return { dependencies, log, meter: createMeter(), step: settings.STEP, now: () => new Date() };
}

function caughtIn(state: unknown): Caught | undefined {
  return (state as { caught?: Caught } | null)?.caught;
}

/** Logs the failure and returns an error without secrets. */
function logFailure(thrown: unknown, log: Log): Error {
  if (thrown instanceof ExportError) {
    log.warn('failed', { error: thrown.name, happened: thrown.message.split('\n', 1)[0], ...thrown.facts });
    // Lambda also sends the stack, which begins with the message and would fill the Cause with it.
    thrown.stack = thrown.name;
    return thrown;
  }
  const { name, message, stack } = thrown instanceof Error ? thrown : new Error(String(thrown));
  const error = Object.assign(new Error(redact(message)), { name, stack: redact(stack ?? '') });
  log.error('failed unexpectedly', { error: name, happened: error.message, stack: error.stack });
  return error;
}
