import { keepLog, stoppedClock } from './steps.ts';

/** What Step Functions is told of an error that a handler threw. */
export function caughtFrom(error: Error) {
  return {
    Error: error.name,
    Cause: JSON.stringify({ errorType: error.name, errorMessage: error.message, trace: [] }),
  };
}

/** What DescribeFailure needs: a bucket that keeps what it is given, as JSON, and the uploads that were given up. */
export function openBucket() {
  const written = new Map<string, unknown>();
  const { log, lines } = keepLog();
  const abandoned: string[][] = [];
  const abandon = async (...upload: string[]) => void abandoned.push(upload);
  const putJson = async (key: string, value: unknown) => {
    written.set(key, JSON.parse(JSON.stringify(value)));
  };
  return {
    written,
    lines,
    abandoned,
    dependencies: { store: { putJson }, abandon, log, now: stoppedClock().now, runbookUrl: undefined },
  };
}
