import * as z from 'zod/mini';
import { ADVERTISER_ID, LIMITS, LISTS, RENAMED_DIMENSIONS } from '../../contract.ts';
import { isObject, type JsonObject } from '../json.ts';
import { DICTIONARY, findDimension, findMetric } from './dictionary.ts';
import {
  accept_empty,
  advertiserId,
  commonFields,
  type Dated,
  type Normalized,
  ofKind,
  optionsBeside,
  path,
  rangeFaults,
  rangeFields,
  resolveRange,
  table,
  word,
} from './fields.ts';
import { hintAt } from './issues.ts';

/**
 * Windows of one export: 4,500 days, or more than twelve years. The export's state holds 256 KB. In the worst
 * case it has 100 failures of 2,200 bytes each (see failure-report.ts), their dates (8,000) and the request
 * (30,000): 258,000 of 262,144 bytes.
 */
export const MAX_WINDOWS = 100;

/** With the platform's total, a window of rows has one beside it: 2,250 days, or six years. */
function maxWindows({ reconcile }: JsonObject): number {
  return reconcile === true ? MAX_WINDOWS / 2 : MAX_WINDOWS;
}

/** Metrics or dimensions of one report. CurateReport has memory for 200 columns of short texts. */
const MAX_NAMES = 100;

/** Names that a warning shows; the rest are counted. */
const MAX_NAMES_SHOWN = 10;

const dimension = word.check(
  z.refine((name) => !Object.hasOwn(RENAMED_DIMENSIONS, name), {
    error: ({ input }) => `${input} is now called ${RENAMED_DIMENSIONS[String(input)]}`,
  }),
);

/** The word for all advertisers that the platform lists. */
export const ALL = 'all';

/** False if the platform has no list of advertisers, or if a report cannot have all that it lists. */
const HAS_ALL = LISTS !== undefined && LIMITS.advertisers === Number.POSITIVE_INFINITY;
const ID_LIST = `a list of ${ADVERTISER_ID.name}s`;

const advertiserIds = z.union(
  [
    z.literal(ALL).check(z.refine(() => HAS_ALL, `must be ${ID_LIST}`)),
    listOf(advertiserId, LIMITS.advertisers),
  ],
  {
    error: ({ input }) => {
      if (input === undefined) return 'is missing';
      return HAS_ALL ? `must be "all" or ${ID_LIST}` : `must be ${ID_LIST}`;
    },
  },
);

/** A list without repetitions, whatever else is wrong with it. */
function listOf(item: z.ZodMiniType<string>, max = Number.POSITIVE_INFINITY) {
  return z.array(item).check(
    z.minLength(1, 'must not be empty'),
    // Not z.maxLength, whose fault a union replaces by its own.
    z.refine((list) => list.length <= max, `must not have more than ${max}`),
    z.refine((list) => repeated(list).length === 0, {
      error: ({ input }) =>
        `must not repeat ${repeated(input as unknown[])
          .slice(0, MAX_NAMES_SHOWN)
          .join(', ')}`,
      when: ({ value }) => Array.isArray(value),
    }),
  );
}

function repeated(list: readonly unknown[]): string[] {
  const texts = list.filter((item) => typeof item === 'string').map((text) => text.toLowerCase());
  return [...new Set(texts.filter((text, index) => texts.indexOf(text) !== index))];
}

/** Fields of a request that its options cannot replace. */
const BODY_FIELDS = [
  'start_date',
  'end_date',
  'advertiser_ids',
  'metrics',
  'dimensions',
  'granularity',
  'format',
];

const FORMAT = /^[A-Za-z0-9]{1,16}$/;

/** Formats of files whose rows can be read into a table. The platform may have others. */
export function canRead(format: string): boolean {
  return /^(csv|json|ndjson|jsonl)$/i.test(format);
}

const SHARE = 'must be more than 0 and less than 1';

/** The input of a person or a schedule. */
export const ReportInput = z.strictObject({
  ...commonFields,
  kind: z._default(z.literal('report'), 'report'),
  ...rangeFields,
  advertiser_ids: advertiserIds,
  metrics: listOf(word, MAX_NAMES),
  dimensions: z.optional(listOf(dimension, MAX_NAMES)),
  granularity: z._default(word, 'DAY'),
  format: z._default(z.string().check(z.regex(FORMAT, 'must be 1 to 16 letters or digits')), 'JSON'),
  table,
  /** The place of the rows, if the file is a JSON object. Default: its only array of objects. */
  rows: z.optional(path),
  accept_empty,
  /** Compares the rows of each day with the platform's own total. */
  reconcile: z.optional(z.boolean()),
  /** By metric: the share of a day's total above which a difference is a warning. */
  reconcile_tolerance: z.optional(z.record(word, z.number().check(z.minimum(0, 'must not be negative')))),
  /** The share of what a day showed before below which it is a warning. */
  warn_below: z.optional(z.number().check(z.gt(0, SHARE), z.lt(1, SHARE))),
  options: optionsBeside(BODY_FIELDS),
  max_parallel: z._default(z.int().check(z.minimum(1), z.maximum(40)), 8),
});
type ReportInput = z.infer<typeof ReportInput>;

/** Its time zone says when a day is over. Absent: UTC. */
export type ReportRequest = Dated<ReportInput, 'period' | 'start_date' | 'end_date'>;
export const ReportRequest = ofKind<ReportRequest>('report');

export function normalizeReport(input: ReportInput, now: Date): Normalized<ReportRequest> {
  const { scheduled_at, only_missing, run, resumes, period, ...fields } = input;
  const request = { ...fields, ...resolveRange(input, now) };
  const warnings = [
    ...warnOfUnknown('metrics', request.metrics, findMetric),
    ...warnOfUnknown('dimensions', request.dimensions ?? [], findDimension),
    ...warnOfFormat(request.format),
  ];
  return { request, warnings };
}

/** The contract does not list all names, so only the platform can refuse one. */
function warnOfUnknown(
  field: 'metrics' | 'dimensions',
  names: readonly string[],
  find: (name: string) => { readonly name: string } | undefined,
): string[] {
  // A form, such as *_value, is no name that a person may have meant.
  const known = DICTIONARY[field].map(({ name }) => name).filter((name) => !name.includes('*'));
  const unknown = names.flatMap((name) => {
    if (known.includes(name)) return [];
    const hint = hintAt(name, known);
    return hint === '' && find(name) ? [] : [`${name}${hint}`];
  });
  if (unknown.length === 0) return [];
  const shown = unknown.slice(0, MAX_NAMES_SHOWN).join(', ');
  const more = unknown.length > MAX_NAMES_SHOWN ? ` and ${unknown.length - MAX_NAMES_SHOWN} more` : '';
  return [`${field}: not documented, so the platform decides: ${shown}${more}`];
}

/** The platform may have other formats, and their files are delivered. */
function warnOfFormat(format: string): string[] {
  return canRead(format)
    ? []
    : [
        `format: nothing here reads ${format}: the files are delivered, but their rows are neither counted nor in a table; JSON and CSV are read`,
      ];
}

/** Checks the raw input, so that a fault in another field does not hide a fault here. */
export function reportFaults(fields: JsonObject): string[] {
  const isUnread = fields.table === false && fields.warn_below !== undefined;
  return [
    ...rangeFaults(fields, 1, maxWindows(fields) * LIMITS.days),
    ...reconcileFaults(fields),
    ...(isUnread ? ['warn_below: needs a table'] : []),
  ];
}

function reconcileFaults({ reconcile, dimensions, granularity = 'DAY', ...fields }: JsonObject): string[] {
  const metrics = Array.isArray(fields.metrics) ? fields.metrics.map(String) : [];
  const named = isObject(fields.reconcile_tolerance) ? Object.keys(fields.reconcile_tolerance) : [];
  if (reconcile !== true) return named.length > 0 ? ['reconcile_tolerance: needs reconcile: true'] : [];
  const others = named.filter((name) => !metrics.includes(name));
  const parts = named.filter((name) => findMetric(name)?.adds_up === false);
  return [
    ...(dimensions === undefined
      ? ['reconcile: needs dimensions; without them, the report is the total']
      : []),
    ...(String(granularity).toUpperCase() === 'DAY' ? [] : ['reconcile: needs granularity DAY']),
    ...(metrics.some((name) => isCompared(name, named)) ? [] : ['reconcile: no metric is known to add up']),
    ...others.map((name) => `reconcile_tolerance.${name}: is not one of the metrics`),
    ...parts.map((name) => `reconcile_tolerance.${name}: does not add up, so it is not compared`),
  ];
}

/** A metric that the dictionary does not know adds up if `reconcile_tolerance` names it. */
function isCompared(name: string, tolerated: readonly string[]): boolean {
  return findMetric(name)?.adds_up ?? tolerated.includes(name);
}

/** The metrics whose sums are compared with the platform's total. */
export function comparedMetrics({ metrics, reconcile_tolerance = {} }: ReportRequest): string[] {
  return metrics.filter((name) => isCompared(name, Object.keys(reconcile_tolerance)));
}
