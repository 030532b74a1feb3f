import { format } from 'node:util';
import { Logger } from '@aws-lambda-powertools/logger';
import type { Log, LogFields } from '../workflow/step.ts';

/** Field names that hold secrets. No code logs such a field; if one slips in, its value is replaced. */
const SECRET_FIELD = /token$|secret|api_?key|authorization|password|download_?url|^code$/i;

/** A `code` that is an error code (ECONNRESET, UND_ERR_SOCKET) and not an authorization code. */
const SYSTEM_CODE = /^[A-Z][A-Z0-9_]*$/;

/** The query of a pre-signed URL holds its signature. */
const URL_QUERY = /(\bhttps?:\/\/[^\s?"'<>]+)\?[^\s"'<>]*/g;

/** No message of ours is longer. The search for URLs takes quadratic time: 20 ms for this many characters. */
const MAX_CHARACTERS = 10_000;

const CONSOLE_LEVELS = { debug: 'info', log: 'info', info: 'info', warn: 'warn', error: 'error' } as const;

/** Removes URL queries and credentials from text that this project did not write. */
export function redact(text: string): string {
  const short = text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS - 1)}…`;
  return short.replaceAll(URL_QUERY, '$1?…').replaceAll(/\b(Bearer|Basic)\s+[\w.~+/=-]+/gi, '$1 …');
}

function redactField(key: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const isSecret = SECRET_FIELD.test(key) && !(key === 'code' && SYSTEM_CODE.test(value));
  return isSecret ? '…' : redact(value);
}

interface StepLogger extends Log {
  /** Replaces the fields of all later lines, so that a line can be found by execution, window and attempt. */
  setKeys(keys: LogFields): void;
}

/** Writes one JSON line per entry. */
export function createLogger(): StepLogger {
  const logger = new Logger({ jsonReplacerFn: redactField });
  return {
    info: (message, fields = {}) => logger.info(message, fields),
    warn: (message, fields = {}) => logger.warn(message, fields),
    error: (message, fields = {}) => logger.error(message, fields),
    keep: (fields) => logger.appendKeys(fields),
    setKeys(keys) {
      logger.resetKeys();
      logger.appendKeys(keys);
    },
  };
}

/** Sends the console, Node's warnings and uncaught errors to the log: as JSON lines with ids, without secrets. */
export function logOtherOutput(log: Log): void {
  for (const [method, level] of Object.entries(CONSOLE_LEVELS))
    console[method as keyof typeof CONSOLE_LEVELS] = (...values: unknown[]) => log[level](format(...values));
  process.removeAllListeners('warning'); // Node's own listener prints to stderr.
  process.on('warning', ({ name, message }) => log.warn('Node warning', { error: name, happened: message }));
  const logUncaught = (event: 'uncaughtException' | 'unhandledRejection') => (error: unknown) => {
    log.error('uncaught error', { happened: format(error) });
    // Another listener, such as the Lambda runtime's, may print the error.
    if (error instanceof Error)
      Object.assign(error, { message: redact(error.message), stack: redact(error.stack ?? '') });
    // Without other listeners Node would have ended the process, and this listener stops it from doing so. The runtime
    // for Node 24 has none; the call would hang until its timeout.
    if (process.listenerCount(event) === 1) process.exit(1);
  };
  process.prependListener('uncaughtException', logUncaught('uncaughtException'));
  process.prependListener('unhandledRejection', logUncaught('unhandledRejection'));
}
