import { format } from 'node:util';
import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics } from '@aws-lambda-powertools/metrics';
import type * as z from 'zod/mini';
import { ExportError } from '../workflow/errors.ts';
import { readSettings, type SettingName, type Settings } from '../workflow/settings.ts';
import { removeSignatures } from '../workflow/signatures.ts';
import {
  type Common,
  fieldsOfOutput,
  fieldsOfState,
  Invocation,
  type LambdaContext,
  type Log,
} from '../workflow/step.ts';
import { type Measurement, measureStep, NAMESPACE } from './measure.ts';

/** Field names that hold secrets. No code logs such a field; if one slips in, its value is replaced. */
const SECRET_FIELD = /token$|secret|api_?key|authorization|password|download_?url|^code$/i;

/** A `code` that is an error code (ECONNRESET, UND_ERR_SOCKET) and not an authorization code. */
const SYSTEM_CODE = /^[A-Z][A-Z0-9_]*$/;

/** No message of ours is longer. The search for signatures takes 20 ms for this many characters. */
const MAX_CHARACTERS = 10_000;

const CONSOLE_LEVELS = { debug: 'info', log: 'info', info: 'info', warn: 'warn', error: 'error' } as const;

/**
 * Makes a Lambda handler from a step. The handler parses the state, and logs and measures the call. It reads
 * the environment and creates clients on the first call and keeps them while the container is warm, so
 * importing a step's file touches neither the environment nor AWS.
 *
 * @param names the settings that the step reads, from READS
 * @param wire creates the dependencies that the step needs besides {@link Common}
 */
export function createHandler<N extends SettingName, S extends z.ZodMiniType, D, O>(
  names: readonly N[],
  schema: S,
  run: (state: z.output<S>, dependencies: D & Common) => Promise<O>,
  wire: (settings: Pick<Settings, N>, log: Log) => D,
) {
  let container: ReturnType<typeof startContainer<N, D>> | undefined;
  return async (event: unknown, context: LambdaContext): Promise<O> => {
    container ??= startContainer(names, wire);
    const { dependencies, logger, log, meter, step, now } = container;
    const { state, retry_count, redrive_count: redriveCount = 0 } = Invocation.parse(event);
    const about = { ...fieldsOfState(state), attempt: retry_count + 1 };
    // A line can be found by execution, window and attempt.
    logger.resetKeys();
    logger.appendKeys({ step, invocation: context.awsRequestId, ...about });
    try {
      const millisecondsLeft = () => context.getRemainingTimeInMillis();
      const common: Common = { log, now, millisecondsLeft, redriveCount };
      const output = await run(schema.parse(state), { ...dependencies, ...common });
      log.info('done', fieldsOfOutput(output));
      meter(measureStep(output), about);
      return output;
    } catch (thrown) {
      throw logFailure(thrown, log);
    }
  };
}

function startContainer<N extends SettingName, D>(
  names: readonly N[],
  wire: (settings: Pick<Settings, N>, log: Log) => D,
) {
  const settings = readSettings(names);
  // Writes one JSON line per entry.
  const logger = new Logger({ jsonReplacerFn: redactField });
  const log: Log = {
    info: (message, fields = {}) => logger.info(message, fields),
    warn: (message, fields = {}) => logger.warn(message, fields),
    error: (message, fields = {}) => logger.error(message, fields),
    keep: (fields) => logger.appendKeys(fields),
  };
  logOtherOutput(log);
  const dependencies = wire(settings, log);
  return { dependencies, logger, log, meter: createMeter(), step: settings.STEP, now: () => new Date() };
}

/** Logs the failure and returns an error without secrets. */
function logFailure(thrown: unknown, log: Log): Error {
  if (thrown instanceof ExportError) {
    log.warn('failed', { error: thrown.name, happened: thrown.happened, ...thrown.facts });
    // Lambda also sends the stack, which begins with the message and would fill the Cause with it.
    thrown.stack = thrown.name;
    // Lambda's runtime prints the error whole, and an error of AWS may quote its request.
    delete thrown.cause;
    return thrown;
  }
  const { name, message, stack } = thrown instanceof Error ? thrown : new Error(String(thrown));
  const error = Object.assign(new Error(redact(message)), { name, stack: redact(stack ?? '') });
  log.error('failed unexpectedly', { error: name, happened: error.message, stack: error.stack });
  return error;
}

/** Removes signatures and credentials from text that this project did not write. */
function redact(text: string): string {
  const short = text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS - 1)}…`;
  return removeSignatures(short).replaceAll(/\b(Bearer|Basic)\s+[\w.~+/=-]+/gi, '$1 …');
}

function redactField(key: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const isSecret = SECRET_FIELD.test(key) && !(key === 'code' && SYSTEM_CODE.test(value));
  return isSecret ? '…' : redact(value);
}

/** Sends the console, Node's warnings and uncaught errors to the log, with ids and without secrets. */
function logOtherOutput(log: Log): void {
  for (const [method, level] of Object.entries(CONSOLE_LEVELS))
    console[method as keyof typeof CONSOLE_LEVELS] = (...values: unknown[]) => log[level](format(...values));
  process.removeAllListeners('warning'); // Node's own listener prints to stderr.
  process.on('warning', ({ name, message }) => log.warn('Node warning', { error: name, happened: message }));
  const logUncaught = (event: 'uncaughtException' | 'unhandledRejection') => (error: unknown) => {
    log.error('uncaught error', { happened: format(error) });
    // Another listener, such as the Lambda runtime's, may print the error.
    if (error instanceof Error)
      Object.assign(error, { message: redact(error.message), stack: redact(error.stack ?? '') });
    // Without other listeners Node would have ended the process, and this listener stops it from doing so.
    // The runtime for Node 24 has none; the call would hang until its timeout.
    if (process.listenerCount(event) === 1) process.exit(1);
  };
  process.prependListener('uncaughtException', logUncaught('uncaughtException'));
  process.prependListener('unhandledRejection', logUncaught('unhandledRejection'));
}

/**
 * Returns a function that writes a measurement as a line in CloudWatch's embedded metric format, which needs
 * no call and no permission. Its second parameter has ids and names that become properties of the line, not
 * dimensions. Powertools bypasses `console.log`: Lambda's runtime wraps those lines, and CloudWatch would
 * find no metric in them.
 */
function createMeter() {
  const metrics = new Metrics({ namespace: NAMESPACE });
  return (measurement: Measurement, about: Readonly<Record<string, unknown>>) => {
    const values = Object.entries(measurement);
    if (values.length === 0) return;
    for (const [name, value] of values) metrics.addMetric(name, 'Count', value);
    for (const [name, value] of Object.entries(about))
      if (value !== undefined) metrics.addMetadata(name, String(value));
    metrics.publishStoredMetrics();
  };
}
