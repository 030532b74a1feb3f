import * as z from 'zod/mini';
import { isObject } from '../json.ts';
import {
  type DateRange,
  dateIn,
  daysBetween,
  isCalendarDate,
  isPeriod,
  isTimeZone,
  resolvePeriod,
} from './dates.ts';

/** Fields that requests of several kinds have, and what can be wrong between them. */

export type Fields = Readonly<Record<string, unknown>>;

export const name = z
  .string()
  .check(
    z.regex(
      /^[a-z0-9][a-z0-9_-]{0,63}$/,
      'must be 1 to 64 characters of a-z, 0-9, _ and -, the first a letter or digit',
    ),
  );
export const date = z
  .string()
  .check(z.refine(isCalendarDate, 'must be a date that exists, written YYYY-MM-DD'));
export const word = z
  .string()
  .check(z.regex(/^[A-Za-z0-9_.:-]{1,100}$/, 'must be a word of letters, digits and _.:-'));
const instant = (error = 'must be an ISO 8601 instant') => z.string(error).check(z.refine(isInstant, error));
export const uuid = z.string().check(z.guid('must be a UUID'));

const BOOLEAN_OR_INSTANT = 'must be true, false or an ISO 8601 instant';

/** What every request has. */
export const common = {
  name,
  account: name,
  scheduled_at: z.optional(instant()),
  time_zone: z.optional(
    z.string().check(z.refine(isTimeZone, 'must be an IANA time zone, such as Europe/Berlin')),
  ),
  revision: z.optional(date),
  /** Leaves out the windows that were delivered before; with an instant, those that were delivered since. */
  only_missing: z.optional(z.union([z.boolean(), instant(BOOLEAN_OR_INSTANT)], BOOLEAN_OR_INSTANT)),
};

/** A range of dates, or a period that means one on the day of the export. */
export const range = {
  start_date: z.optional(date),
  end_date: z.optional(date),
  period: z.optional(
    z.string().check(z.refine(isPeriod, 'must be yesterday, last_N_days, month_to_date or previous_month')),
  ),
};

/** What the platform's contract does not name, as JSON. */
export const options = z.optional(z.record(z.string(), z.json()));

/** What says which day it is. */
export interface Moment {
  readonly scheduled_at?: string | undefined;
  readonly time_zone?: string | undefined;
}

interface RangeInput extends Moment {
  readonly start_date?: string | undefined;
  readonly end_date?: string | undefined;
  readonly period?: string | undefined;
}

/** The day of the export: of the schedule's moment, or of now. */
export function today({ scheduled_at, time_zone }: Moment, now: Date): string {
  return dateIn(time_zone ?? 'UTC', scheduled_at === undefined ? now : new Date(scheduled_at));
}

export function rangeOf(input: RangeInput, now: Date): DateRange {
  if (input.period === undefined)
    return { start_date: input.start_date ?? '', end_date: input.end_date ?? '' };
  return resolvePeriod(input.period, today(input, now));
}

/** Days that a range must have, and may have. */
interface Span {
  readonly least: number;
  readonly most: number;
}

/** Looked at on the raw input, so that a fault elsewhere does not hide it. */
export function rangeFaults(fields: Fields, { least, most }: Span): string[] {
  const { start_date, end_date, period } = fields;
  if (period !== undefined) {
    const both = ['start_date', 'end_date'].filter((field) => fields[field] !== undefined);
    return [
      ...both.map((field) => `${field}: must not be given beside period`),
      ...periodFaults(period, most),
    ];
  }
  const missing = ['start_date', 'end_date'].filter((field) => fields[field] === undefined);
  if (missing.length > 0) return missing.map((field) => `${field}: is missing (or give a period)`);
  if (typeof start_date !== 'string' || typeof end_date !== 'string') return [];
  if (!isCalendarDate(start_date) || !isCalendarDate(end_date)) return [];
  const days = daysBetween(start_date, end_date);
  if (days === 0 && least > 0) return [`end_date: is exclusive, so ${start_date} to ${end_date} has 0 days`];
  if (days < 0) return [`end_date: ${end_date} is before start_date ${start_date}`];
  return days > most ? [`end_date: ${tooLong(days, most)}`] : [];
}

function periodFaults(period: unknown, most: number): string[] {
  if (typeof period !== 'string' || !isPeriod(period)) return [];
  const { start_date, end_date } = resolvePeriod(period, '2100-01-01');
  const days = daysBetween(start_date, end_date);
  return days > most ? [`period: ${tooLong(days, most)}`] : [];
}

function tooLong(days: number, most: number): string {
  return `${days} days are more than the ${most} that one export may span; split it`;
}

/** @param owned fields of the POST body that the request names itself; in `options` they would be said twice */
export function optionFaults({ options }: Fields, owned: readonly string[]): string[] {
  if (!isObject(options)) return [];
  const repeated = Object.keys(options).filter((key) => owned.includes(key));
  return [
    ...repeated.map((key) => `options.${key}: belongs at the top level of the request`),
    ...roundedFaults(options, 'options'),
  ];
}

/** An id of 19 digits that is written as a number is the id of another campaign by the time that JSON is read. */
export function roundedFaults(value: unknown, path: string): string[] {
  if (Array.isArray(value)) return value.flatMap((item, at) => roundedFaults(item, `${path}[${at}]`));
  if (isObject(value))
    return Object.entries(value).flatMap(([key, inner]) => roundedFaults(inner, `${path}.${key}`));
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return [];
  return [`${path}: has more digits than a number can hold; write it as a string`];
}

/** A period's dates are counted from its date, which has to be one of the calendar. */
function isInstant(text: string): boolean {
  const form = z.iso.datetime({ offset: true });
  return form.safeParse(text).success && isCalendarDate(text.slice(0, 'YYYY-MM-DD'.length));
}
