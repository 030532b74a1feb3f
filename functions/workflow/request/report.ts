import * as z from 'zod/mini';
import { MAX_WINDOW_DAYS } from './dates.ts';
import {
  common,
  type Fields,
  optionFaults,
  options,
  range,
  rangeFaults,
  rangeOf,
  uuid,
  word,
} from './fields.ts';

/**
 * Windows in one export, 4,500 days or more than twelve years. The parent's state holds 256 KB, and in the worst case
 * 100 cards of failed windows (2,000 bytes each, see failure.ts), their dates (8 KB) and the request: 238 KB.
 */
export const MAX_WINDOWS = 100;

/** Metrics or dimensions of one report. */
const MAX_NAMES = 100;

/** Names that a warning shows; the rest are counted. */
const MAX_NAMES_SHOWN = 10;

const DEFAULT_PARALLEL = 8;

/** What the contract's samples show (2.2). Its lists are not complete, so others are passed on with a warning. */
const KNOWN = {
  metrics: ['spend', 'impressions', 'number_of_purchases'],
  dimensions: ['campaign_id', 'campaign_name', 'event_source_id', 'event_source_platform'],
} as const;

/** Renamed on the current platform (contract 9.5). */
const RENAMED_DIMENSIONS: ReadonlyMap<unknown, string> = new Map([
  ['conv_integration_id', 'event_source_id'],
  ['conv_integration_os', 'event_source_platform'],
]);

const names = z
  .array(word)
  .check(z.minLength(1, 'must not be empty'), z.maxLength(MAX_NAMES, `must not have more than ${MAX_NAMES}`));

/** What a person or a schedule writes. Field names are the platform's where it has them (contract 2.2). */
export const ReportInput = z.strictObject({
  ...common,
  kind: z.optional(z.literal('report')),
  ...range,
  advertiser_ids: z.array(uuid).check(z.minLength(1, 'must not be empty')),
  metrics: names,
  dimensions: z.optional(names),
  upgrade_dimensions: z.optional(z.boolean()),
  granularity: z.optional(word),
  format: z.optional(z.string().check(z.regex(/^[A-Za-z0-9]{1,16}$/, 'must be 1 to 16 letters or digits'))),
  options,
  max_parallel: z.optional(z.int().check(z.minimum(1), z.maximum(40))),
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

export function normalizeReport(
  input: ReportInput,
  now: Date,
): { request: ReportRequest; warnings: string[] } {
  const renamed = input.upgrade_dimensions
    ? (input.dimensions ?? []).filter((name) => RENAMED_DIMENSIONS.has(name))
    : [];
  const dimensions = input.dimensions && [
    ...new Set(input.dimensions.map((name) => RENAMED_DIMENSIONS.get(name) ?? name)),
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
    ...renamed.map(
      (name) => `dimensions: ${name} was sent as ${RENAMED_DIMENSIONS.get(name)}, its name today`,
    ),
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

/** Fields of the POST body that the request names itself (contract 2.2). */
const BODY_FIELDS = [
  'start_date',
  'end_date',
  'advertiser_ids',
  'metrics',
  'dimensions',
  'granularity',
  'format',
];

/** What a schema does not see. Looked at on the raw input, so that a fault elsewhere does not hide it. */
export function reportFaults(fields: Fields): string[] {
  return [
    ...rangeFaults(fields, { least: 1, most: MAX_WINDOWS * MAX_WINDOW_DAYS }),
    ...['advertiser_ids', 'metrics', 'dimensions'].flatMap((field) => repetitionFaults(field, fields[field])),
    ...dimensionFaults(fields),
    ...optionFaults(fields, BODY_FIELDS),
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

function dimensionFaults({ dimensions, upgrade_dimensions }: Fields): string[] {
  if (!Array.isArray(dimensions) || upgrade_dimensions === true) return [];
  return dimensions.flatMap((name, at) => {
    const today = RENAMED_DIMENSIONS.get(name);
    return today
      ? [`dimensions[${at}]: ${name} is now called ${today} (or set upgrade_dimensions to true)`]
      : [];
  });
}
