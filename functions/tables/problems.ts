import { AccessRefused, readMessage } from '../workflow/errors.ts';
import { CurateLimit } from './report.ts';

/** By what ran out: the limit to raise. */
const LIMITS: Readonly<Record<CurateLimit['which'], string>> = {
  storage:
    "the file needs more than CurateReport's ephemeral storage; raise max_curate_bytes, which sets its size, or export shorter ranges",
  memory:
    "the file needs more than CurateReport's memory; raise it in infra/config/cost.ts, or export shorter ranges",
  time: "the file takes longer than CurateReport's timeout; raise its memory in infra/config/cost.ts, which brings CPU, or export shorter ranges",
};

export function describeLimit({ which }: CurateLimit): string {
  return LIMITS[which];
}

/** True if a person has to act, and another try would end the same. */
export function isFinal(error: unknown): error is AccessRefused | CurateLimit {
  return error instanceof AccessRefused || error instanceof CurateLimit;
}

/** Without a full stop, because a warning goes on after it. */
export function reasonOf(error: AccessRefused | CurateLimit): string {
  if (error instanceof CurateLimit) return describeLimit(error);
  return readMessage(error.message).happened.replace(/\.$/, '');
}

/**
 * Runs a call whose failure must not keep the file from being delivered.
 *
 * @param describe makes the problem from the reason
 * @returns the problem if a person has to act
 * @throws any other error of the call
 */
export async function problemOf(
  call: () => Promise<unknown>,
  describe: (reason: string) => string,
): Promise<string | undefined> {
  try {
    await call();
    return undefined;
  } catch (error) {
    if (!isFinal(error)) throw error;
    return describe(reasonOf(error));
  }
}

/** The raw file is delivered all the same. */
const NEXT = 'see TableProblems in infra/RUNBOOK.md';

export function notWritten(table: string, reason: string): string {
  return `table ${table} is not written: ${reason}; ${NEXT}`;
}

/** @param days those that are not written. The others are, and the catalog has them. */
export function partlyWritten(table: string, days: readonly string[], of: number, reason: string): string {
  return `${days.length} of ${of} days of table ${table} are not written, the first is ${days[0]}: ${reason}; ${NEXT}`;
}

/** The objects are there, and DuckDB or Spark see them. Athena sees them once `curate` has registered them. */
export function notRegistered(table: string, reason: string): string {
  return `table ${table} is written, but its days are not in the catalog: ${reason}; ${NEXT}`;
}
