import type { DayState } from '../../functions/deliveries/judge.ts';
import type { StoredFailure } from '../../functions/deliveries/records.ts';
import type { DateRange } from '../../functions/workflow/request/dates.ts';
import type { DocumentedTable } from '../config/table-words.ts';
import type { ExecutionSummary } from '../knowledge/executions/executions.ts';

/**
 * The contents of the page: `read-page.ts` reads them, and `render.ts` draws them. Texts are those of the platform,
 * the config and the manifests, unchanged: only the drawing escapes them.
 */
export interface PageContents {
  /** ISO 8601, UTC. */
  readonly made_at: string;
  /** The folder of local runs, or the stack with its Region and AWS account. */
  readonly place: string;
  /** Worst first: failed, then missing, then held days, then the others by name. */
  readonly exports: readonly PageExport[];
}

export interface PageExport {
  readonly account: string;
  readonly name: string;
  readonly kind: 'report' | 'list' | 'purchases';
  /** Absent for purchases, which have no days, or if the request is not known. The days that `missing` judges, by date. */
  readonly days?: readonly PageDay[] | undefined;
  /** As `missing` prints them, with the commands that mend them. */
  readonly ranges: readonly PageRange[];
  /** Absent if the table has no rows, or no metric that adds up. */
  readonly sums?: PageSums | undefined;
  /** Newest first. */
  readonly restatements: readonly Restatement[];
  /** Restatements that `restatements` leaves out. */
  readonly older_restatements: number;
  readonly freshness: Freshness;
  /** The last deliveries and failures, newest first. */
  readonly executions: readonly ExecutionSummary[];
  readonly failure?:
    | (Omit<StoredFailure, keyof DateRange | 'failed'> & { readonly command: string })
    | undefined;
  /** The reason why its table is left out. Its days are those that were delivered then. */
  readonly problem?: string | undefined;
  /** The dictionary of its table. */
  readonly table?: DocumentedTable | undefined;
  /** SQL of each figure, to copy: for `query`, on this machine or in Athena. */
  readonly queries: {
    readonly days?: string | undefined;
    readonly sums?: string | undefined;
    readonly restatements?: string | undefined;
  };
}

/** A day of the calendar. `running`: it is missing, and an execution that runs exports it now. `empty`: delivered, and it has no rows. */
export interface PageDay {
  /** YYYY-MM-DD */
  readonly date: string;
  readonly state: Exclude<DayState, 'present'> | 'rows' | 'empty' | 'running';
  /** Of the table. Absent if the table does not have the day. */
  readonly rows?: number | undefined;
  /** The number of newer reports that changed the day in the table. */
  readonly restated: number;
}

/** Days in the same state, which need the same command. `end_date` is exclusive. */
export interface PageRange extends DateRange {
  readonly days: number;
  /** In words, such as "not exported". */
  readonly reason: string;
  readonly command: string;
}

/** Sums of the table over time. */
export interface PageSums {
  /** A point is a day, a week from Monday, or a month, so that there are at most about 100 points. */
  readonly unit: 'day' | 'week' | 'month';
  readonly points: readonly PagePoint[];
  /** `spend` first, if there is one, and at most two others. */
  readonly metrics: readonly PageMetric[];
}

export interface PagePoint {
  /** The first day. */
  readonly start: string;
  /** The days that the table has, and the days of the calendar. */
  readonly known: number;
  readonly all: number;
}

export interface PageMetric {
  readonly name: string;
  /** One for each point; null where the table has no day. Decimal text, as `query` prints it. */
  readonly values: readonly (string | null)[];
  /** Decimal text: the same as `SELECT sum(metric)`. */
  readonly total: string;
}

/** The corrections of a metric of a day. Values are decimal text, absent if no row of the day had one. */
export interface Restatement {
  readonly date: string;
  readonly metric: string;
  /** Before the first correction. */
  readonly first?: string | undefined;
  readonly now?: string | undefined;
  readonly corrections: number;
  /** When the file of the last one arrived: `changed_at` of the query. ISO 8601, UTC. */
  readonly at: string;
}

export interface Freshness {
  /** The last day that a manifest covers. */
  readonly newest_day?: string | undefined;
  /** When the newest manifest was written, ISO 8601, UTC. */
  readonly delivered_at?: string | undefined;
  /** Whole days from the end of the newest day to `made_at`, in the export's time zone. */
  readonly days_behind?: number | undefined;
}
