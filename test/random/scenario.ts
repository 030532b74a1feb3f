import fc from 'fast-check';
import type { Fault } from '../support/faulty-services.ts';
import { platformFault } from './platform-faults.ts';

/** The exports of one run, and the faults meanwhile. Plain data, the same for the same seed and index. */
export interface Scenario {
  /** Started at the same time. Two of one name are the same request. */
  readonly exports: readonly RequestedExport[];
  readonly report: {
    readonly secondsToReady: number;
    /** Default: a few rows a day. With 80,000 rows, most files take a multipart upload. */
    readonly rows?: number;
    readonly urlSeconds: number;
    /** Seconds by which the reports are READY later, in order of creation: they finish out of order. */
    readonly delays?: readonly number[];
    /** Days are restated, late, and empty for a while. */
    readonly changing?: true;
  };
  /** The export has a second account, and perhaps one that is not there. It may start twice at once. */
  readonly accounts?: { readonly hasUnknown: boolean; readonly isTwice: boolean } | undefined;
  /** An advertiser is added, so many seconds after the start, and perhaps refused in the run with faults. */
  readonly newcomer?: { readonly after: number; readonly isRefused: boolean } | undefined;
  /**
   * At last, an export has one metric more. The other days stay as they are. Then the metric may leave, or
   * get another name, while one day is exported, and come back with another day.
   */
  readonly addsMetric: boolean;
  readonly metricLeaves?: 'dropped' | 'renamed' | undefined;
  /** Revokes every token that was issued before. */
  readonly revoked: boolean;
  /** In the words of parseFault. */
  readonly platform: readonly string[];
  readonly s3: readonly Fault[];
  readonly secrets: readonly Fault[];
  /** The number of events that the bus refuses. */
  readonly bus: number;
  /** Kills every busy function after the nth call of the platform, S3, Secrets Manager and Glue together. */
  readonly kills: readonly number[];
  /** Kills CurateReport after the nth of its calls about the table: its schema, months and the ledger. */
  readonly tableKills: readonly number[];
  readonly glue: readonly Fault[];
}

export interface NumberedScenario {
  readonly index: number;
  readonly scenario: Scenario;
}

export interface RequestedExport {
  readonly name: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** The request is refused before any call of the platform. */
  readonly invalid?: true;
  /** The range instead of dates in `fields`: days from the day on which the scenario starts. */
  readonly days?: { readonly from: number; readonly to: number };
  /** Seconds after the start of the scenario. Default: 0. */
  readonly startAfter?: number;
}

/** The first scenarios of a seed. */
export function scenariosOf(seed: number, runs: number): NumberedScenario[] {
  return fc.sample(scenario, { seed, numRuns: runs }).map((scenario, index) => ({ index, scenario }));
}

/** Two and three windows: a window has 45 days at most. */
const TWO_WINDOWS = '2026-02-17';
export const THREE_WINDOWS = '2026-04-03';

const weeks = { kind: 'report', start_date: '2026-01-01', metrics: ['spend'] };
/** Default: two of the sandbox's advertisers. */
const advertisers = fc.constantFrom({}, {}, { advertiser_ids: 'all' });

/** Most exports have one window, because a day of a table costs as much as a poll. */
const reports = fc.constantFrom(
  ...[false, true, true].flatMap((reconcile) => [
    { ...weeks, end_date: '2026-01-08' },
    { ...weeks, end_date: '2026-01-08', dimensions: ['campaign_id'], reconcile },
  ]),
  { ...weeks, end_date: TWO_WINDOWS, max_parallel: 2 },
  { ...weeks, end_date: THREE_WINDOWS, max_parallel: 1 },
);
const purchases = fc.constant({ kind: 'purchases', start_date: '2026-01-01', end_date: '2026-01-15' });
const lists = fc.constant({ kind: 'list', resource: 'campaigns', limit: 20, snapshot_date: '2026-01-01' });
const valid = fc.oneof(
  { weight: 5, arbitrary: fc.tuple(reports, advertisers).map(([fields, ids]) => ({ ...fields, ...ids })) },
  { weight: 1, arbitrary: purchases },
  { weight: 1, arbitrary: lists },
);
const invalid = fc.constantFrom(
  { ...weeks, end_date: '2025-12-31' },
  { ...weeks, end_date: '2026-02-30' },
  { ...weeks, end_date: '2026-01-08', metrics: [] },
  { ...weeks, end_date: '2026-01-08', dimensions: ['conv_integration_os'] },
  { kind: 'purchases', start_date: '2026-01-01' },
  { kind: 'list', resource: '../reports' },
);

const METRICS = ['spend', 'impressions', 'conversions'];

/** Exports of one request whose windows overlap. Conversions come in, so each report has other values. */
const overlapping = fc
  .tuple(
    fc.constantFrom(
      {},
      { dimensions: ['campaign_id'] },
      { dimensions: ['campaign_id'], reconcile: true, reconcile_tolerance: { conversions: 0.001 } },
    ),
    advertisers,
    fc.array(fc.record({ from: fc.integer({ min: -9, max: 0 }), days: fc.integer({ min: 1, max: 8 }) }), {
      minLength: 2,
      maxLength: 4,
    }),
    fc.array(fc.constantFrom(0, 0, 15, 60, 200), { minLength: 4, maxLength: 4 }),
  )
  .map(([shape, ids, windows, starts]): RequestedExport[] =>
    windows.map(({ from, days }, index) => ({
      name: 'a',
      fields: { kind: 'report', metrics: METRICS, ...shape, ...ids },
      days: { from, to: from + days },
      startAfter: starts[index] ?? 0,
    })),
  );

const requested = fc.oneof(
  { weight: 4, arbitrary: overlapping },
  { weight: 8, arbitrary: valid.map((a): RequestedExport[] => [{ name: 'a', fields: a }]) },
  { weight: 1, arbitrary: valid.map((a): RequestedExport[] => [1, 2].map(() => ({ name: 'a', fields: a }))) },
  {
    weight: 1,
    arbitrary: fc.tuple(valid, valid).map(([a, b]): RequestedExport[] => [
      { name: 'a', fields: a },
      { name: 'b', fields: b },
    ]),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(invalid, valid).map(([a, b]): RequestedExport[] => [
      { name: 'a', fields: a, invalid: true },
      { name: 'b', fields: b },
    ]),
  },
);

const report = fc.record(
  {
    secondsToReady: fc.oneof(
      { weight: 20, arbitrary: fc.constantFrom(0, 5, 25, 60, 300) },
      { weight: 1, arbitrary: fc.constantFrom(2_000, 1e9) },
    ),
    rows: fc.oneof(
      { weight: 12, arbitrary: fc.integer({ min: 0, max: 30 }) },
      { weight: 1, arbitrary: fc.integer({ min: 80_000, max: 200_000 }) },
    ),
    urlSeconds: fc.oneof(
      { weight: 12, arbitrary: fc.constant(86_400) },
      { weight: 1, arbitrary: fc.constantFrom(1, 20) },
    ),
  },
  { requiredKeys: ['secondsToReady', 'urlSeconds'] },
);

const s3Fault: fc.Arbitrary<Fault> = fc.oneof(
  fc.record({
    operation: fc.constantFrom('PutObject', 'PutObject', 'CreateMultipartUpload', 'CompleteMultipartUpload'),
    answer: fc.constantFrom(
      ...['InternalError', 'SlowDown', 'AccessDenied', 'reset', 'lost answer', 'wrong checksum'],
      ...['KMS.DisabledException', 'NoSuchBucket', 'error inside 200'],
    ),
    times: fc.constantFrom(1, 1, 2, 5, 20),
  }),
  fc.record({
    operation: fc.constantFrom('UploadPart'),
    part: fc.integer({ min: 1, max: 3 }),
    answer: fc.constantFrom(
      ...['SlowDown', 'InternalError', 'reset', 'lost answer', 'wrong checksum', 'stall'],
    ),
    times: fc.constantFrom(1, 2),
  }),
  fc.record({
    operation: fc.constantFrom('PutObject', 'GetObject', 'HeadObject', 'AbortMultipartUpload', 'ListParts'),
    key: fc.constantFrom('_manifest.json', '_failure.json', 'report.json'),
    answer: fc.constantFrom('InternalError', 'SlowDown', 'AccessDenied', 'reset', 'lost answer'),
    times: fc.constantFrom(1, 2, 20),
  }),
);

const secretsFault: fc.Arbitrary<Fault> = fc.record({
  operation: fc.constantFrom('GetSecretValue', 'PutSecretValue'),
  answer: fc.constantFrom(
    ...['ThrottlingException', 'InternalServiceError', 'reset', 'lost answer'],
    ...['AccessDeniedException', 'DecryptionFailure', 'ResourceNotFoundException'],
  ),
  times: fc.constantFrom(1, 1, 2, 5),
});

const changingReport: fc.Arbitrary<Scenario['report']> = fc.record({
  secondsToReady: fc.constantFrom(0, 5, 25),
  urlSeconds: fc.constant(86_400),
  delays: fc.array(fc.constantFrom(0, 0, 20, 100, 300), { minLength: 5, maxLength: 5 }),
  changing: fc.constant(true),
});

/** The answers of an object that another run writes at the same time, and of a busy S3. */
const monthFault: fc.Arbitrary<Fault> = fc.record({
  operation: fc.constantFrom('PutObject', 'GetObject'),
  key: fc.constantFrom('.parquet', 'tables/ledger/'),
  answer: fc.constantFrom(
    ...['PreconditionFailed', 'ConditionalRequestConflict', 'SlowDown', 'InternalError', 'AccessDenied'],
    ...['reset', 'lost answer'],
  ),
  times: fc.constantFrom(1, 1, 2, 5),
});

const glueFault: fc.Arbitrary<Fault> = fc.record({
  operation: fc.constant('GetTable'),
  answer: fc.constantFrom(
    ...['ThrottlingException', 'InternalServiceException', 'ConcurrentModificationException'],
    ...['AccessDeniedException', 'reset', 'lost answer'],
  ),
  times: fc.constantFrom(1, 1, 3, 20),
});

const few = <T>(weight: number, item: fc.Arbitrary<T>, most: number): fc.Arbitrary<T[]> =>
  fc.oneof(
    { weight: 10 - weight, arbitrary: fc.constant<T[]>([]) },
    { weight, arbitrary: fc.array(item, { minLength: 1, maxLength: most }) },
  );

const scenario: fc.Arbitrary<Scenario> = requested.chain((exports) => {
  const changing = exports.some(({ days }) => days);
  return fc.record({
    exports: fc.constant(exports),
    report: changing ? changingReport : (report as fc.Arbitrary<Scenario['report']>),
    accounts:
      exports.length === 1 && exports[0]?.fields.kind === 'report'
        ? fc.option(fc.record({ hasUnknown: fc.boolean(), isTwice: fc.boolean() }), {
            nil: undefined,
            freq: 2,
          })
        : fc.constant(undefined),
    newcomer: exports.some(isForAll)
      ? fc.option(fc.record({ after: fc.constantFrom(0, 5, 30, 100), isRefused: fc.boolean() }), {
          nil: undefined,
        })
      : fc.constant(undefined),
    addsMetric: changing ? fc.boolean() : fc.constant(false),
    metricLeaves: fc.constantFrom(undefined, 'dropped', 'renamed'),
    revoked: fc.boolean(),
    platform: few(changing ? 3 : 9, platformFault(callsOf(exports)), changing ? 2 : 4),
    s3: few(3, changing ? monthFault : s3Fault, 2),
    secrets: few(2, secretsFault, 2),
    bus: fc.oneof(
      { weight: 9, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.constantFrom(1, 3, 7, 20) },
    ),
    kills: few(2, fc.integer({ min: 1, max: 60 }), 2),
    tableKills: few(changing ? 5 : 1, fc.integer({ min: 1, max: 20 }), 2),
    glue: few(2, glueFault, 2),
  });
});

/** True for a report of all advertisers. */
export function isForAll({ fields }: RequestedExport): boolean {
  return fields.advertiser_ids === 'all';
}

/** The endpoints that these exports call. */
function callsOf(exports: readonly RequestedExport[]): string[] {
  const asked = exports.filter(({ invalid }) => !invalid).map(({ fields }) => String(fields.kind));
  const listed = exports.some(isForAll) ? ['list'] : [];
  return ['token', 'any', ...new Set([...asked.flatMap((kind) => CALLS[kind] ?? []), ...listed])];
}

const CALLS: Readonly<Record<string, readonly string[]>> = {
  report: ['create', 'report', 'storage'],
  purchases: ['purchases'],
  list: ['list'],
};
