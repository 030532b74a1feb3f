import * as z from 'zod/mini';
import { ADVERTISER_ID } from '../../contract.ts';
import { isObject, type JsonObject } from '../json.ts';
import {
  type DateRange,
  dateIn,
  daysBetween,
  isCalendarDate,
  isPeriod,
  isTimeZone,
  resolvePeriod,
} from './dates.ts';

/** Fields that requests of several kinds have, and faults that their schemas cannot find. */

/** The table of what every report said about every day, whose objects are under `tables/ledger/`. */
export const LEDGER = 'ledger';

export interface Normalized<R> {
  readonly request: R;
  readonly warnings: string[];
}

export const name = z
  .string()
  .check(
    z.regex(
      /^[a-z0-9][a-z0-9_-]{0,63}$/,
      'must be 1 to 64 of a-z, 0-9, _ and -, and start with a letter or digit',
    ),
  );
export const date = z
  .string()
  .check(z.refine(isCalendarDate, 'must be a date that exists, written YYYY-MM-DD'));
export const word = z
  .string()
  .check(z.regex(/^[A-Za-z0-9_.:-]{1,100}$/, 'must be a word of letters, digits and _.:-'));
const instant = (error = 'must be an ISO 8601 instant') => z.string(error).check(z.refine(isInstant, error));
export const advertiserId = z
  .string()
  .check(
    z.regex(
      new RegExp(`^(${ADVERTISER_ID.form.source})$`, ADVERTISER_ID.form.flags),
      `must be a ${ADVERTISER_ID.name}`,
    ),
  );

/** No export and no table may have the name of the ledger. */
const exportName = name.check(
  z.refine((text) => text !== LEDGER, `must not be ${LEDGER}, which is a table of its own`),
);

export const commonFields = {
  name: exportName,
  account: name,
  scheduled_at: z.optional(instant()),
  time_zone: z.optional(
    z.string().check(z.refine(isTimeZone, 'must be an IANA time zone, such as Europe/Berlin')),
  ),
  revision: z.optional(date),
  /** Exports only windows with a day that is missing, or of an older form of the request. */
  only_missing: z.optional(z.boolean('must be true or false')),
  /** The run of the config that a schedule starts, such as `daily-campaigns#2`. */
  run: z.optional(z.string()),
  /** Exports only the windows of an execution that have a day which was not delivered since it began. */
  resumes: z.optional(z.strictObject({ execution: z.string(), began_at: instant() })),
};

/** Fields of the input that say how a request is exported. Requests are compared without them. */
export const MANNER = ['scheduled_at', 'only_missing', 'run', 'resumes'] as const;
type MannerField = (typeof MANNER)[number];

/** The input with defaults filled in, and with dates in place of the fields that decide them. */
export type Dated<Input, DayField extends keyof Input> = Omit<Input, DayField | MannerField> &
  DateRange & { max_parallel: number };

/** The schema of a normalized request. States, runs and manifests hold it, and nothing checks it again. */
export function ofKind<R extends { readonly kind: string }>(kind: R['kind']) {
  return z.custom<R>((value) => Object(value).kind === kind);
}

export const rangeFields = {
  start_date: z.optional(date),
  end_date: z.optional(date),
  period: z.optional(
    z.string().check(z.refine(isPeriod, 'must be yesterday, last_N_days, month_to_date or previous_month')),
  ),
};

/** The rows go to the table of the export's name. Default: true. */
export const table = z.optional(z.boolean());

/** Lets days without rows, or an empty list, replace rows in the table. Default: false, which holds them. */
export const accept_empty = z.optional(z.boolean());

/** The place of an array in a JSON object, such as `data.items`. */
export const path = z.string().check(z.regex(/^[^.]+(\.[^.]+)*$/, 'must be a path, such as data.items'));

/**
 * Fields that a request adds for its platform.
 *
 * @param fields that the request has itself
 */
export function optionsBeside(fields: readonly string[]) {
  const key = z
    .string()
    .check(z.refine((name) => !fields.includes(name), 'belongs at the top level of the request'));
  return z._default(z.record(key, z.json()), {});
}

/** The fields of a request that decide which day it is. */
export interface Moment {
  readonly scheduled_at?: string | undefined;
  readonly time_zone?: string | undefined;
}

type RangeInput = Moment & Partial<Record<'start_date' | 'end_date' | 'period', string | undefined>>;

/** The day of the schedule, or else of now. */
export function today({ scheduled_at, time_zone }: Moment, now: Date): string {
  return dateIn(time_zone ?? 'UTC', scheduled_at === undefined ? now : new Date(scheduled_at));
}

export function resolveRange(input: RangeInput, now: Date): DateRange {
  const { start_date, end_date, period } = input;
  if (period !== undefined) return resolvePeriod(period, today(input, now));
  if (start_date !== undefined && end_date !== undefined) return { start_date, end_date };
  throw new TypeError('rangeFaults refuses a request without a range');
}

/**
 * Checks the raw input, so that a fault in another field does not hide a fault here.
 *
 * @param minDays of the range
 */
export function rangeFaults(fields: JsonObject, minDays: number, maxDays: number): string[] {
  const { start_date, end_date, period } = fields;
  const dates = ['start_date', 'end_date'].filter((field) => fields[field] !== undefined);
  if (period !== undefined) {
    return dates.map((field) => `${field}: must not be given with period`);
  }
  const missing = ['start_date', 'end_date'].filter((field) => !dates.includes(field));
  if (missing.length > 0) return missing.map((field) => `${field}: is missing (or give a period)`);
  if (typeof start_date !== 'string' || typeof end_date !== 'string') return [];
  if (!isCalendarDate(start_date) || !isCalendarDate(end_date)) return [];
  const days = daysBetween(start_date, end_date);
  if (days === 0 && minDays > 0)
    return [`end_date: is exclusive, so ${start_date} to ${end_date} has 0 days`];
  if (days < 0) return [`end_date: ${end_date} is before start_date ${start_date}`];
  if (days <= maxDays) return [];
  return [`end_date: ${days} days are more than the ${maxDays} that one export may span; split it`];
}

/** JSON.parse rounds a number of 19 digits, so an id written as a number becomes another id. */
export function roundedFaults(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => roundedFaults(item, `${path}[${index}]`));
  if (isObject(value))
    return Object.entries(value).flatMap(([key, inner]) => roundedFaults(inner, `${path}.${key}`));
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return [];
  return [`${path.slice(1)}: has more digits than a number can hold; write it as a string`];
}

/** The date must be a calendar date too, because a period is counted from it. */
export function isInstant(text: string): boolean {
  const form = z.iso.datetime({ offset: true });
  return form.safeParse(text).success && isCalendarDate(text.slice(0, 'YYYY-MM-DD'.length));
}
