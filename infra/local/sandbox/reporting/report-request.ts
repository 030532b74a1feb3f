import type { Violation } from '../envelope.ts';
import { type Grant, reaches } from '../oauth/tokens.ts';
import type { World } from '../world.ts';

/** Contract 2.2, once it is known to be valid. Options whose names the contract omits are kept as they came. */
export type ReportRequest = {
  start_date: string;
  end_date: string;
  advertiser_ids: readonly string[];
  metrics: readonly string[];
  dimensions: readonly string[];
  [option: string]: unknown;
};

/** The contract's, and some more: its list is not complete. */
export const METRICS = [
  'spend',
  'impressions',
  'number_of_purchases',
  'clicks',
  'installs',
  'purchase_value',
] as const;

export const DIMENSIONS = [
  'campaign_id',
  'campaign_name',
  'event_source_id',
  'event_source_platform',
  'creative_id',
  'country',
] as const;

/** Contract 9.5. */
const RENAMED: Readonly<Record<string, string>> = {
  conv_integration_id: 'event_source_id',
  conv_integration_os: 'event_source_platform',
};

const MAX_DAYS = 45;
const DAY_MS = 86_400_000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

type Body = Readonly<Record<string, unknown>>;

/** Everything that is wrong with the body of POST /reports, at once (contract 2.2). */
export function reportViolations(world: World, grant: Grant, body: Body): Violation[] {
  return [
    ...dateViolations(body, MAX_DAYS),
    ...listViolations(body, 'advertiser_ids', (id) => advertiserViolation(world, grant, id)),
    ...listViolations(body, 'metrics', (name) => unknownName(name, METRICS)),
    ...(body.dimensions === undefined ? [] : listViolations(body, 'dimensions', dimensionViolation)),
    ...oneOf(body, 'granularity', ['DAY']),
    ...oneOf(body, 'format', ['JSON']),
  ];
}

/** Everything that is wrong with the body of POST /reports/purchases (contract 2.4): it has no limit of days. */
export function purchaseViolations(world: World, grant: Grant, body: Body): Violation[] {
  const fault = advertiserViolation(world, grant, body.advertiser_id);
  return [
    ...dateViolations(body, Infinity),
    ...(fault ? [{ field: 'advertiser_id', message: `${String(body.advertiser_id)}: ${fault}` }] : []),
  ];
}

/** Call only with a body in which {@link reportViolations} found nothing. */
export function reportRequest(body: Body): ReportRequest {
  const strings = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);
  return {
    ...body,
    start_date: String(body.start_date),
    end_date: String(body.end_date),
    advertiser_ids: strings(body.advertiser_ids),
    metrics: strings(body.metrics),
    dimensions: strings(body.dimensions),
  };
}

/** Days from start (inclusive) to end (exclusive). */
export function daysBetween(start: string, end: string): number {
  return (Date.parse(end) - Date.parse(start)) / DAY_MS;
}

export function addDays(date: string, days: number): string {
  return new Date(Date.parse(date) + days * DAY_MS).toISOString().slice(0, 10);
}

function dateViolations(body: Body, maxDays: number): Violation[] {
  const { start_date: start, end_date: end } = body;
  const malformed = ['start_date', 'end_date'].filter((field) => !isDate(body[field]));
  if (malformed.length > 0) {
    return malformed.map((field) => ({ field, message: 'must be a date, YYYY-MM-DD' }));
  }
  const days = daysBetween(String(start), String(end));
  if (days <= 0) return [{ field: 'end_date', message: 'must be after start_date' }];
  if (days > maxDays) return [{ field: 'end_date', message: `range is ${days} days; at most ${maxDays}` }];
  return [];
}

/** A day that exists: Date.parse alone takes 30 February for 2 March. */
function isDate(value: unknown): boolean {
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(value)) return false;
  const time = Date.parse(value);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(value);
}

function listViolations(
  body: Body,
  field: string,
  faultOf: (value: unknown) => string | undefined,
): Violation[] {
  const values = body[field];
  if (!Array.isArray(values)) return [{ field, message: 'must be an array of strings' }];
  if (values.length === 0 && field !== 'dimensions') return [{ field, message: 'must not be empty' }];
  return values.flatMap((value: unknown, index) => {
    const fault = faultOf(value) ?? (values.indexOf(value) < index ? 'is given twice' : undefined);
    return fault ? [{ field: `${field}[${index}]`, message: `${String(value)}: ${fault}` }] : [];
  });
}

function advertiserViolation(world: World, grant: Grant, id: unknown): string | undefined {
  if (typeof id !== 'string' || !UUID.test(id)) return 'must be a UUID';
  return reaches(world, grant, id) ? undefined : 'is outside the advertiser scope of this credential';
}

function dimensionViolation(name: unknown): string | undefined {
  const renamed = typeof name === 'string' ? RENAMED[name] : undefined;
  return renamed ? `is now ${renamed}` : unknownName(name, DIMENSIONS);
}

function unknownName(name: unknown, known: readonly string[]): string | undefined {
  return typeof name === 'string' && known.includes(name) ? undefined : 'is not known';
}

function oneOf(body: Body, field: string, known: readonly string[]): Violation[] {
  const value = body[field];
  if (value === undefined || known.includes(String(value))) return [];
  return [{ field, message: `${String(value)}: must be one of ${known.join(', ')}` }];
}
