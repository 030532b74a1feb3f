import * as z from 'zod/mini';
import {
  type DateRange,
  dateIn,
  daysBetween,
  isCalendarDate,
  isPeriod,
  MAX_WINDOW_DAYS,
  resolvePeriod,
} from './dates.ts';
import { InvalidInput } from './errors.ts';

/**
 * Windows in one export, 4,500 days or more than twelve years. The parent's state holds 256 KB, and in the worst case
 * 100 cards of failed windows (2,000 bytes each, see failure.ts), their dates (8 KB) and the request: 238 KB.
 */
export const MAX_WINDOWS = 100;
export const MAX_REQUEST_BYTES = 30_000;

/** Metrics or dimensions of one report. */
const MAX_NAMES = 100;

/** Names that a warning shows; the rest are counted. */
const MAX_NAMES_SHOWN = 10;

const DEFAULT_PARALLEL = 4;

/** What the contract's samples show (2.2). Its lists are not complete, so others are passed on with a warning. */
const KNOWN = {
  metrics: ['spend', 'impressions', 'number_of_purchases'],
  dimensions: ['campaign_id', 'campaign_name', 'event_source_id', 'event_source_platform'],
} as const;

/** Renamed on the current platform (contract 9.5). */
const RENAMED_DIMENSIONS: Readonly<Record<string, string>> = {
  conv_integration_id: 'event_source_id',
  conv_integration_os: 'event_source_platform',
};

const name = z
  .string()
  .check(
    z.regex(
      /^[a-z0-9][a-z0-9_-]{0,63}$/,
      'must be 1 to 64 characters of a-z, 0-9, _ and -, the first a letter or digit',
    ),
  );
const date = z.string().check(z.refine(isCalendarDate, 'must be a date that exists, written YYYY-MM-DD'));
const word = z
  .string()
  .check(z.regex(/^[A-Za-z0-9_.:-]{1,100}$/, 'must be a word of letters, digits and _.:-'));
const uuid = z.string().check(z.guid('must be a UUID'));

const names = z
  .array(word)
  .check(z.minLength(1, 'must not be empty'), z.maxLength(MAX_NAMES, `must not have more than ${MAX_NAMES}`));

/** What a person or a schedule writes. Field names are the platform's where it has them (contract 2.2). */
const ReportInput = z.strictObject({
  name,
  account: name,
  kind: z.optional(z.literal('report', 'must be "report"')),
  start_date: z.optional(date),
  end_date: z.optional(date),
  period: z.optional(
    z.string().check(z.refine(isPeriod, 'must be yesterday, last_N_days, month_to_date or previous_month')),
  ),
  scheduled_at: z.optional(z.iso.datetime({ offset: true, error: 'must be an ISO 8601 instant' })),
  time_zone: z.optional(
    z.string().check(z.refine(isTimeZone, 'must be an IANA time zone, such as Europe/Berlin')),
  ),
  advertiser_ids: z.array(uuid).check(z.minLength(1, 'must not be empty')),
  metrics: names,
  dimensions: z.optional(names),
  upgrade_dimensions: z.optional(z.boolean()),
  granularity: z.optional(word),
  format: z.optional(z.string().check(z.regex(/^[A-Za-z0-9]{1,16}$/, 'must be 1 to 16 letters or digits'))),
  options: z.optional(z.record(z.string(), z.json())),
  max_parallel: z.optional(z.int().check(z.minimum(1), z.maximum(40))),
  revision: z.optional(date),
});
type ReportInput = z.infer<typeof ReportInput>;

/** A request with nothing left to decide: defaults filled in, periods turned into dates. */
export const ReportRequest = z.object({
  name: z.string(),
  account: z.string(),
  kind: z.literal('report'),
  start_date: z.string(),
  end_date: z.string(),
  advertiser_ids: z.array(z.string()),
  metrics: z.array(z.string()),
  dimensions: z.optional(z.array(z.string())),
  granularity: z.string(),
  format: z.string(),
  options: z.record(z.string(), z.json()),
  max_parallel: z.number(),
  revision: z.optional(z.string()),
});
export type ReportRequest = z.infer<typeof ReportRequest>;

/**
 * Checks an execution's whole input and names every fault at once.
 *
 * @param now the moment that a `period` is counted from, unless the input says when it was scheduled
 * @returns the request, and warnings about what only the platform can decide
 * @throws InvalidInput, whose facts list the faults
 */
export function parseRequest(input: unknown, now: Date): { request: ReportRequest; warnings: string[] } {
  const { data, faults } = check(input);
  if (data && faults.length === 0) return normalize(data, now);
  const count = faults.length === 1 ? 'a fault' : `${faults.length} faults`;
  throw new InvalidInput(`The request has ${count}, and nothing was exported.`, { faults });
}

function check(input: unknown): { data?: ReportInput | undefined; faults: string[] } {
  try {
    const { data, error } = ReportInput.safeParse(input, { error: wordFault });
    const faults = error?.issues.flatMap(describeIssue) ?? [];
    return { data, faults: isObject(input) ? [...faults, ...faultsBetween(input)] : faults };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { faults: ['options: is nested too deeply'] };
  }
}

function normalize(input: ReportInput, now: Date): { request: ReportRequest; warnings: string[] } {
  const renamed = input.upgrade_dimensions
    ? (input.dimensions ?? []).filter((name) => RENAMED_DIMENSIONS[name])
    : [];
  const dimensions = input.dimensions && [
    ...new Set(input.dimensions.map((name) => RENAMED_DIMENSIONS[name] ?? name)),
  ];
  const request: ReportRequest = {
    name: input.name,
    account: input.account,
    kind: 'report',
    ...rangeOf(input, now),
    advertiser_ids: input.advertiser_ids,
    metrics: input.metrics,
    ...(dimensions && { dimensions }),
    granularity: input.granularity ?? 'DAY',
    format: input.format ?? 'JSON',
    options: input.options ?? {},
    max_parallel: input.max_parallel ?? DEFAULT_PARALLEL,
    ...(input.revision && { revision: input.revision }),
  };
  const warnings = [
    ...renamed.map((name) => `dimensions: ${name} was sent as ${RENAMED_DIMENSIONS[name]}, its name today`),
    ...unlisted('metrics', request.metrics),
    ...unlisted('dimensions', request.dimensions ?? []),
  ];
  return { request, warnings };
}

function unlisted(field: keyof typeof KNOWN, names: readonly string[]): string[] {
  const known: readonly string[] = KNOWN[field];
  const others = names.filter((name) => !known.includes(name));
  if (others.length === 0) return [];
  const shown = others.slice(0, MAX_NAMES_SHOWN).join(', ');
  const more = others.length > MAX_NAMES_SHOWN ? ` and ${others.length - MAX_NAMES_SHOWN} more` : '';
  return [`${field}: not among the documented ones, so that the platform decides: ${shown}${more}`];
}

function rangeOf(
  input: Pick<ReportInput, 'start_date' | 'end_date' | 'period' | 'scheduled_at' | 'time_zone'>,
  now: Date,
): DateRange {
  if (input.period === undefined)
    return { start_date: input.start_date ?? '', end_date: input.end_date ?? '' };
  const instant = input.scheduled_at === undefined ? now : new Date(input.scheduled_at);
  return resolvePeriod(input.period, dateIn(input.time_zone ?? 'UTC', instant));
}

type Fields = Readonly<Record<string, unknown>>;

/** What a schema does not see. Looked at on the raw input, so that a fault elsewhere does not hide it. */
function faultsBetween(fields: Fields): string[] {
  return [
    ...rangeFaults(fields),
    ...['advertiser_ids', 'metrics', 'dimensions'].flatMap((field) => repetitionFaults(field, fields[field])),
    ...dimensionFaults(fields),
    ...optionFaults(fields),
    ...sizeFaults(fields),
  ];
}

function repetitionFaults(field: string, list: unknown): string[] {
  if (!Array.isArray(list)) return [];
  const texts = list.filter((item) => typeof item === 'string').map((text) => text.toLowerCase());
  const repeated = [...new Set(texts.filter((text, at) => texts.indexOf(text) !== at))];
  return repeated.length > 0
    ? [`${field}: must not repeat ${repeated.slice(0, MAX_NAMES_SHOWN).join(', ')}`]
    : [];
}

const MAX_DAYS = MAX_WINDOWS * MAX_WINDOW_DAYS;

function rangeFaults(fields: Fields): string[] {
  const { start_date, end_date, period } = fields;
  if (period !== undefined) {
    const both = ['start_date', 'end_date'].filter((field) => fields[field] !== undefined);
    return [...both.map((field) => `${field}: must not be given beside period`), ...periodFaults(period)];
  }
  const missing = ['start_date', 'end_date'].filter((field) => fields[field] === undefined);
  if (missing.length > 0) return missing.map((field) => `${field}: is missing (or give a period)`);
  if (typeof start_date !== 'string' || typeof end_date !== 'string') return [];
  if (!isCalendarDate(start_date) || !isCalendarDate(end_date)) return [];
  const days = daysBetween(start_date, end_date);
  if (days === 0) return [`end_date: is exclusive, so ${start_date} to ${end_date} has 0 days`];
  if (days < 0) return [`end_date: ${end_date} is before start_date ${start_date}`];
  return days > MAX_DAYS ? [`end_date: ${tooLong(days)}`] : [];
}

function periodFaults(period: unknown): string[] {
  if (typeof period !== 'string' || !isPeriod(period)) return [];
  const { start_date, end_date } = resolvePeriod(period, '2100-01-01');
  const days = daysBetween(start_date, end_date);
  return days > MAX_DAYS ? [`period: ${tooLong(days)}`] : [];
}

function tooLong(days: number): string {
  return `${days} days are more than the ${MAX_DAYS} that one export may span; split it`;
}

function dimensionFaults({ dimensions, upgrade_dimensions }: Fields): string[] {
  if (!Array.isArray(dimensions) || upgrade_dimensions === true) return [];
  return dimensions.flatMap((name, at) => {
    const today =
      typeof name === 'string' && Object.hasOwn(RENAMED_DIMENSIONS, name) && RENAMED_DIMENSIONS[name];
    return today
      ? [`dimensions[${at}]: ${name} is now called ${today} (or set upgrade_dimensions to true)`]
      : [];
  });
}

/** Fields of the POST body that the request names itself (contract 2.2); in `options` they would be said twice. */
const BODY_FIELDS = [
  'start_date',
  'end_date',
  'advertiser_ids',
  'metrics',
  'dimensions',
  'granularity',
  'format',
];

function optionFaults({ options }: Fields): string[] {
  if (!isObject(options)) return [];
  const owned = Object.keys(options).filter((key) => BODY_FIELDS.includes(key));
  return owned.map((key) => `options.${key}: belongs at the top level of the request`);
}

function sizeFaults(fields: Fields): string[] {
  const bytes = Buffer.byteLength(JSON.stringify(fields));
  return bytes > MAX_REQUEST_BYTES
    ? [
        `the request has ${bytes} bytes, more than the ${MAX_REQUEST_BYTES} that the workflow's state can carry; split it by advertiser`,
      ]
    : [];
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isTimeZone(text: string): boolean {
  try {
    return Boolean(new Intl.DateTimeFormat('en', { timeZone: text }));
  } catch {
    return false;
  }
}

/** zod/mini brings no sentences of its own. */
function wordFault(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type')
    return issue.input === undefined ? 'is missing' : `must be of type ${issue.expected}`;
  if (issue.code === 'too_small') return `must be at least ${issue.minimum}`;
  if (issue.code === 'too_big') return `must be at most ${issue.maximum}`;
  return undefined;
}

function describeIssue(issue: z.core.$ZodIssue): string[] {
  const path = issue.path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('');
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => `${path}.${key}: is not a field of a request`.slice(1));
  return [path === '' ? `the request ${issue.message}` : `${path.slice(1)}: ${issue.message}`];
}
