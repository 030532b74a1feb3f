import { format } from 'node:util';
import { type Log, redact } from './logger.ts';

/** Where a library writes. */
const LEVELS = { debug: 'info', log: 'info', info: 'info', warn: 'warn', error: 'error' } as const;

/**
 * Whatever else writes in this process becomes a line of the log, with its ids and without secrets: a library on the
 * console, a warning of Node's, and an error that nobody caught before the runtime prints it.
 */
export function logAllElse(log: Log): void {
  for (const [method, level] of Object.entries(LEVELS))
    console[method as keyof typeof LEVELS] = (...written: unknown[]) => log[level](format(...written));
  process.removeAllListeners('warning'); // Node's own, which prints it
  process.on('warning', ({ name, message }) => log.warn('Node warns', { error: name, happened: message }));
  const uncaught = (event: 'uncaughtException' | 'unhandledRejection') => (error: unknown) => {
    log.error('nobody caught', { happened: format(error) });
    // A runtime that listens as well prints it.
    if (error instanceof Error)
      Object.assign(error, { message: redact(error.message), stack: redact(error.stack ?? '') });
    // The one for Node 24 does not, and leaves it to Node to end the process; with a listener Node would not, and the call
    // might hang until its time is up.
    if (process.listenerCount(event) === 1) process.exit(1);
  };
  process.prependListener('uncaughtException', uncaught('uncaughtException'));
  process.prependListener('unhandledRejection', uncaught('unhandledRejection'));
}
