import * as z from 'zod/mini';
import { Days } from './state-parts.ts';

/** A run of an export whose windows must be there at a time of day, for each of its accounts. */
export const ReadyCheck = z.object({
  export: z.string(),
  /** HH:MM, in `time_zone`. */
  ready_by: z.string(),
  time_zone: z.string(),
  /** A message is sent when all is well, too. */
  tell: z.boolean(),
  /** The cron of the run's schedule, which tells when the run was due. */
  expression: z.string(),
  /** When the first check was due, in ISO 8601. */
  checked_at: z.string(),
  /** The inputs of its executions, without `scheduled_at`, from which a period is counted. */
  requests: z.array(z.record(z.string(), z.unknown())),
  /** The last check. Absent before the first one. */
  checked: z.optional(z.object({ checks: z.number(), told: z.optional(z.enum(['late', 'unknown'])) })),
});
export type ReadyCheck = z.infer<typeof ReadyCheck>;

/** Days of an account that are not there. `end_date` is exclusive. */
const LateAccount = z.object({
  account: z.string(),
  missing: z.array(Days),
  /** The command that exports them. */
  command: z.string(),
});

/** An account whose table cannot be read, and why. */
const UnknownAccount = z.object({ account: z.string(), not_known: z.string() });

/** An account whose days are there. */
const ReadyAccount = z.object({ account: z.string() });

/** The detail of the events Report Late and Report Ready. */
export const Readiness = z.object({
  version: z.literal('1'),
  export: z.string(),
  ready_by: z.string(),
  time_zone: z.string(),
  /** The day of the run, in its time zone. */
  date: z.string(),
  accounts: z.array(z.union([LateAccount, UnknownAccount, ReadyAccount])),
  /** All of this for a person, and its first words, of at most 100 characters. The topic gets both. */
  subject: z.string(),
  message: z.string(),
});
export type Readiness = z.infer<typeof Readiness>;

/**
 * - `late`: late or not known, for the first time · `waiting`: still
 * - `ready`: now, or a person wants to know · `done`: ready, or late for too long to say it again
 */
export interface CheckedRun {
  readonly checks: number;
  readonly status: 'late' | 'waiting' | 'ready' | 'done';
  /** The word that people were told. Absent if nothing was late. */
  readonly told?: 'late' | 'unknown';
  /** Accounts, also those whose table cannot be read. */
  readonly late: number;
  readonly readiness: Readiness;
  /** JSON of SNS, with the message in a form for each protocol. */
  readonly notification: string;
}
