import type { Caught } from '../../functions/workflow/state-parts.ts';
import { keepLog, stoppedClock } from './steps.ts';

/** The error that Step Functions catches if a handler throws this one. */
export function caughtFrom({ name, message }: Error): Caught & { Cause: string } {
  return { Error: name, Cause: JSON.stringify({ errorType: name, errorMessage: message, trace: [] }) };
}

/** The dependencies of DescribeFailure, with what it wrote and logged. */
export function createFailureDependencies() {
  const written = new Map<string, unknown>();
  const { log, lines } = keepLog();
  const putJson = async (key: string, value: unknown) =>
    written.set(key, JSON.parse(JSON.stringify(value))).size > 0;
  const store = { putJson, bucket: 'test-bucket' };
  return {
    written,
    lines,
    dependencies: {
      store,
      log,
      now: stoppedClock().now,
      runbookUrl: undefined,
      program: 'npm run export --',
    },
  };
}
