import * as z from 'zod/mini';
import { ExportRequest, ListRequest, PurchasesRequest, ReportRequest } from './request/request.ts';
import {
  Advertisers,
  Caught,
  Checkpoint,
  Comparison,
  Curated,
  Failure,
  type FailureReport,
  Newcomers,
  ReportRef,
  StoredObject,
  StoredPages,
  TableChanges,
  TokenRef,
  Window,
} from './state-parts.ts';

/**
 * The data that passes between the states, in the order of the workflow. A step returns the next input.
 *
 *     PlanExport       PlanExportInput       → ExportPlan, or the AccountsPlan of planAccounts
 *     GetToken         TokenRequest          → the same with `token`, for the export and for each window
 *     ListAdvertisers  PlanOfAll             → ExportPlan with `advertisers`, or PlanOfAll with a `listing`
 *     CreateReport     ReportWindow          → ReportWindow
 *     CheckReport      ReportWindow          → ReadyWindow once a report is ready, else ReportWindow
 *     SaveReport       ReadyWindow           → SavedWindow, ReadyWindow with a `checkpoint`, or ReportWindow
 *     QueryPurchases   PurchasesWindow       → SavedWindow
 *     ExportList       ListWindow            → SavedWindow, or ListWindow with a `list`
 *     CurateReport     SavedWindow           → SavedWindow with `curated`, or ReadyWindow to copy again
 *     PublishWindow    SavedWindow           → DeliveredWindow
 *     DescribeFailure  DescribeFailureInput  → FailedWindow for a window, ExportFailed for the export
 *     PublishExport    PublishExportInput    → ExportResult
 *
 * A state holds names, ids, dates and numbers. The token stays in Secrets Manager and is named by its
 * version; the download URL never leaves the step that uses it.
 */

export const PlanExportInput = z.object({
  /** The execution's input, not checked yet. */
  request: z.unknown(),
  execution: z.string(),
  started_at: z.string(),
});
export type PlanExportInput = z.infer<typeof PlanExportInput>;

/** A list of all advertisers that one call could not read to the end. */
export const Listing = z.object({
  /** When the first call began; limits how long the list may take. */
  begun_at: z.string(),
  /** As in a window. */
  wait_seconds: z.number(),
  throttled: z.number(),
  throttled_in_all: z.optional(z.number()),
  list: z.optional(StoredPages),
});
export type Listing = z.infer<typeof Listing>;

export const ExportPlan = z.object({
  execution: z.string(),
  started_at: z.string(),
  request: ExportRequest,
  warnings: z.array(z.string()),
  /** The windows to export: with `only_missing`, the missing ones. */
  windows: z.array(Window),
  /** Null until ListAdvertisers, and for a request that names its advertisers or has none. */
  advertisers: z.optional(z.nullable(Advertisers)),
  /** Absent before and after ListAdvertisers. */
  listing: z.optional(Listing),
  newcomers: z.optional(Newcomers),
  /** With `only_missing`: the number of windows that an earlier execution delivered. */
  already_delivered: z.optional(z.number()),
});
export type ExportPlan = z.infer<typeof ExportPlan>;

/** The execution of this name has ended, or has another input. The name of a running one starts nothing. */
export const ALREADY_STARTED = 'StepFunctions.ExecutionAlreadyExistsException';

/** The end of one of the accounts. `repeated`: the execution of this name has ended before. */
export interface AccountEnd {
  readonly account: string;
  readonly execution: string;
  readonly outcome: 'delivered' | 'repeated' | 'failed';
  /** AWS's name of the error, if it failed. `States.TaskFailed`: its execution was started, and failed. */
  readonly error?: string;
}

/** The output of an export of accounts. If one has failed, only the execution's history has it. */
export interface AccountsResult {
  readonly accounts: readonly AccountEnd[];
  readonly has_failed: boolean;
  readonly has_repeated: boolean;
}

/** An export's plan, or a window, whose token expired or was refused. All other fields pass through. */
export const TokenRequest = z.looseObject({
  request: ExportRequest,
  warnings: z.array(z.string()),
  token: z.optional(TokenRef),
  caught: z.optional(Caught),
  /** Refused tokens so far. */
  renewals: z.optional(z.number()),
  /** Only a window has these. */
  reports: z.optional(z.array(ReportRef)),
  begun_at: z.optional(z.string()),
  /** Only an export that lists its advertisers has it. */
  listing: z.optional(Listing),
});
export type TokenRequest = z.infer<typeof TokenRequest>;

export const PlanOfAll = z.extend(ExportPlan, { request: ReportRequest, token: TokenRef });
export type PlanOfAll = z.infer<typeof PlanOfAll>;

/** The state of one child execution, from its start on. */
export const WindowState = z.object({
  execution: z.string(),
  request: ExportRequest,
  /** The export's warnings, then the warnings of the window's steps. */
  warnings: z.array(z.string()),
  /** The number of `warnings` that are the export's. */
  export_warnings: z.optional(z.number()),
  window: Window,
  advertisers: z.optional(z.nullable(Advertisers)),
  /**
   * The Choice states read it: `planned` create a report (the first or a replacement) ·
   * `pending` poll · `ready` save, or resume the copy · `saved` curate · `curated` publish
   */
  status: z.enum(['planned', 'pending', 'ready', 'saved', 'curated']),
  /** Seconds that the next Wait takes; at least MIN_WAIT. */
  wait_seconds: z.number(),
  /** Answers in a row that asked to wait: 429, and 5xx with Retry-After. */
  throttled: z.number(),
  /** All such answers since the window began, and other answers that interrupted its list. */
  throttled_in_all: z.optional(z.number()),
  /** Oldest first. */
  reports: z.array(ReportRef),
  /** The one of `reports` that is ready. */
  ready_id: z.optional(z.string()),
  token: z.optional(TokenRef),
  object: z.optional(StoredObject),
  curated: z.optional(Curated),
  /** Copies that another run replaced before CurateReport could read them. */
  replaced_copies: z.optional(z.number()),
  /** Set if one call of ExportList was not enough. */
  list: z.optional(StoredPages),
  /** Set if one call of SaveReport was not enough. */
  checkpoint: z.optional(Checkpoint),
  caught: z.optional(Caught),
  /** When the window got its first token; limits how long it may take. */
  begun_at: z.optional(z.string()),
  /** Refused tokens so far. */
  renewals: z.optional(z.number()),
  /** Lost or unreadable answers to the creation of a report. Each may have left a report behind. */
  lost_answers: z.optional(z.number()),
  /** The execution's redrives when a step last compared them (see waitAfterRedrive). Absent: 0. */
  redrive_count: z.optional(z.number()),
});
export type WindowState = z.infer<typeof WindowState>;

/** GetWindowToken's output: the start of every step that calls the platform. */
export const AuthorizedWindow = z.extend(WindowState, { token: TokenRef, begun_at: z.string() });
export type AuthorizedWindow = z.infer<typeof AuthorizedWindow>;

export const ReportWindow = z.extend(AuthorizedWindow, { request: ReportRequest });
export type ReportWindow = z.infer<typeof ReportWindow>;

export const ReadyWindow = z.extend(ReportWindow, { ready_id: z.string() });
export type ReadyWindow = z.infer<typeof ReadyWindow>;

export const PurchasesWindow = z.extend(AuthorizedWindow, { request: PurchasesRequest });
export type PurchasesWindow = z.infer<typeof PurchasesWindow>;

export const ListWindow = z.extend(AuthorizedWindow, { request: ListRequest });
export type ListWindow = z.infer<typeof ListWindow>;

export const SavedWindow = z.extend(AuthorizedWindow, { object: StoredObject });
export type SavedWindow = z.infer<typeof SavedWindow>;

export const DeliveredWindow = z.object({
  outcome: z.literal('delivered'),
  window: Window,
  key: z.string(),
  manifest_key: z.string(),
  report_id: z.optional(z.string()),
  bytes: z.number(),
  rows: z.optional(z.number()),
  /** The warnings that this window added to the export's, shortened. */
  warnings: z.optional(z.array(z.string())),
  /** The reason why the export's table was not written, shortened. The file is delivered all the same. */
  table_problem: z.optional(z.string()),
  /** Absent if no table was written. */
  ...z.partial(TableChanges).shape,
});
export type DeliveredWindow = z.infer<typeof DeliveredWindow>;

/** DescribeFailure gets the state of a window, or of the export, and the error that was caught. */
export const WindowFailure = z.extend(WindowState, { caught: Caught });
export type WindowFailure = z.infer<typeof WindowFailure>;

/** An export may fail at any point, so the rest is not known; even its request may be the fault. */
const ExportFailure = z.looseObject({ execution: z.string(), caught: Caught });

export const DescribeFailureInput = z.union([WindowFailure, ExportFailure]);
export type DescribeFailureInput = z.infer<typeof DescribeFailureInput>;

/** DescribeWindowFailure's output. The export continues. */
export const FailedWindow = z.object({
  outcome: z.literal('failed'),
  window: Window,
  failure: Failure,
});
export type FailedWindow = z.infer<typeof FailedWindow>;

/** The state in which a failed export is announced and ends. */
export interface ExportFailed {
  readonly failure: FailureReport;
  /** `failure` as JSON, because a Fail state takes its Cause from a string. */
  readonly cause: string;
}

export const WindowResult = z.discriminatedUnion('outcome', [DeliveredWindow, FailedWindow]);
export type WindowResult = z.infer<typeof WindowResult>;

export const PublishExportInput = z.extend(ExportPlan, {
  /** WindowResults, or what Step Functions returns for a dead execution. Absent if no window was missing. */
  results: z.optional(z.array(z.unknown())),
});
export type PublishExportInput = z.infer<typeof PublishExportInput>;

/** The detail of the event `Report Exported`, and the execution's output. */
export const ExportResult = z.object({
  version: z.literal('1'),
  execution: z.string(),
  account: z.string(),
  name: z.string(),
  kind: z.enum(['report', 'purchases', 'list']),
  start_date: z.string(),
  end_date: z.string(),
  bucket: z.string(),
  windows: z.array(z.omit(DeliveredWindow, { outcome: true, warnings: true })),
  /** The windows that `only_missing` left out. */
  already_delivered: z.optional(z.number()),
  bytes: z.number(),
  rows: z.optional(z.number()),
  /** The platform had no rows at all. Absent if that is not known. */
  empty: z.optional(z.boolean()),
  /** The problem of the first window whose rows are not in the export's table. */
  table_problem: z.optional(z.string()),
  /** Adds up all windows that were compared. It has the metrics that each of them has. */
  reconciled: z.optional(Comparison),
  /** Absent if no table was written. */
  ...z.partial(TableChanges).shape,
  /** Only in a report of all advertisers, with the command that exports the days before. */
  newcomers: z.optional(z.extend(Newcomers, { command: z.optional(z.string()) })),
  /** The warnings of the request and of its windows, each once. */
  warnings: z.array(z.string()),
});
export type ExportResult = z.infer<typeof ExportResult>;
