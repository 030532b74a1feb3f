import { daysBetween } from '../../../functions/workflow/request/dates.ts';
import { findDimension, findMetric } from '../../../functions/workflow/request/dictionary.ts';
import type { Violation } from '../envelope.ts';

/** The validated body of POST /reports (contract 2.2). It keeps options whose names the contract omits. */
export type ReportRequest = {
  start_date: string;
  end_date: string;
  advertiser_ids: readonly string[];
  metrics: readonly string[];
  dimensions: readonly string[];
  [option: string]: unknown;
};

/** The contract names JSON only, and its list of formats is not complete (contract 2.6). */
const FORMATS = ['JSON', 'CSV'];

/** Contract 9.5. */
const RENAMED: ReadonlyMap<unknown, string> = new Map([
  ['conv_integration_id', 'event_source_id'],
  ['conv_integration_os', 'event_source_platform'],
]);

const MAX_DAYS = 45;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

type Body = Readonly<Record<string, unknown>>;

/** All violations of contract 2.2 in the body of POST /reports. @param granted advertisers that the token may use */
export function reportViolations(body: Body, granted: readonly { id: string }[]): Violation[] {
  return [
    ...dateViolations(body, MAX_DAYS),
    ...listViolations(body, 'advertiser_ids', (id) => advertiserProblem(id, granted)),
    ...listViolations(body, 'metrics', (name) => nameProblem(name, findMetric)),
    ...(body.dimensions === undefined ? [] : listViolations(body, 'dimensions', dimensionProblem)),
    ...choiceViolations(body, 'granularity', ['DAY']),
    ...choiceViolations(body, 'format', FORMATS),
  ];
}

/** All violations of contract 2.4 in the body of POST /reports/purchases. The range may have any length. */
export function purchaseViolations(body: Body, granted: readonly { id: string }[]): Violation[] {
  const { advertiser_id: id } = body;
  const problem = advertiserProblem(id, granted);
  return [
    ...dateViolations(body, Infinity),
    ...(problem ? [{ field: 'advertiser_id', message: `${String(id)}: ${problem}` }] : []),
  ];
}

/** Types a body that {@link reportViolations} found nothing wrong with. */
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

/** The round trip refuses dates that do not exist: Date.parse reads 30 February as 2 March. */
function isDate(value: unknown): boolean {
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(value)) return false;
  const time = Date.parse(value);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(value);
}

function listViolations(
  body: Body,
  field: string,
  problemOf: (value: unknown) => string | undefined,
): Violation[] {
  const values = body[field];
  if (!Array.isArray(values)) return [{ field, message: 'must be an array of strings' }];
  if (values.length === 0 && field !== 'dimensions') return [{ field, message: 'must not be empty' }];
  return values.flatMap((value: unknown, index) => {
    const problem = problemOf(value) ?? (values.indexOf(value) < index ? 'is listed twice' : undefined);
    return problem ? [{ field: `${field}[${index}]`, message: `${String(value)}: ${problem}` }] : [];
  });
}

function advertiserProblem(id: unknown, granted: readonly { id: string }[]): string | undefined {
  if (typeof id !== 'string' || !UUID.test(id)) return 'must be a UUID';
  if (granted.some((advertiser) => advertiser.id === id.toLowerCase())) return undefined;
  return 'is outside the advertiser scope of this credential';
}

function dimensionProblem(name: unknown): string | undefined {
  const renamed = RENAMED.get(name);
  return renamed ? `is now ${renamed}` : nameProblem(name, findDimension);
}

/** Serves every name of the dictionary, because the contract's lists are not complete. Names are in lower case. */
function nameProblem(name: unknown, find: (name: string) => unknown): string | undefined {
  return typeof name === 'string' && name === name.toLowerCase() && find(name) ? undefined : 'is unknown';
}

function choiceViolations(body: Body, field: string, choices: readonly unknown[]): Violation[] {
  const value = body[field];
  if (value === undefined || choices.includes(value)) return [];
  return [{ field, message: `${String(value)}: must be ${choices.join(' or ')}` }];
}
