import { describeOutcome, type Outcome } from './outcome.ts';
import { BAD_USAGE, CommandFailed, DELIVERED, FAILED, UsageError } from './usage.ts';

interface Shown {
  /** One JSON document on stdout, and all else on stderr. */
  readonly json: true | undefined;
  /** Where the buckets are, with a slash at the end. */
  readonly root: string;
}

/**
 * Ends the command as the export ended: says so, and sets the exit status.
 *
 * @param run gives undefined where the command ended before the export did, and has set a status of its own
 */
export async function endWith({ json, root }: Shown, run: () => Promise<Outcome | undefined>): Promise<void> {
  try {
    const outcome = await run();
    if (!outcome) return;
    const delivered = outcome.outcome === 'delivered';
    if (json) process.stdout.write(`${JSON.stringify(outcome)}\n`);
    else (delivered ? process.stdout : process.stderr).write(`${describeOutcome(outcome, root)}\n`);
    process.exitCode = delivered ? DELIVERED : FAILED;
  } catch (error) {
    if (!json || !(error instanceof UsageError || error instanceof CommandFailed)) throw error;
    // Whoever reads JSON gets it as JSON too.
    process.stderr.write(`${error.message}\n`);
    process.stdout.write(`${JSON.stringify({ outcome: 'failed', ...describe(error) })}\n`);
    process.exitCode = error instanceof UsageError ? BAD_USAGE : FAILED;
  }
}

function describe(error: UsageError | CommandFailed): Readonly<Record<string, unknown>> {
  if (error instanceof UsageError) return { error: 'InvalidInput', faults: error.faults };
  return { error: error.name, happened: error.happened, todo: error.todo };
}
