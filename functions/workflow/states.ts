import * as z from 'zod/mini';
import { Copying } from './copying.ts';
import { ExportRequest, ListRequest, PurchasesRequest, ReportRequest } from './request/request.ts';

/**
 * What passes between the states. Each schema is what the step of that name receives; what a step returns is what
 * the next state gets. Only names, ids, dates and numbers travel here: the token stays in Secrets Manager and is
 * named by its version, the download URL never leaves the step that uses it.
 */

export const Window = z.object({ start_date: z.string(), end_date: z.string() });
export type Window = z.infer<typeof Window>;

/** What the state machine puts beside a failure that it caught. */
export const Caught = z.object({ Error: z.string(), Cause: z.optional(z.string()) });
export type Caught = z.infer<typeof Caught>;

/** One event of a window's history, or several equal ones in a row. */
export const TimelineEntry = z.object({
  /** Absent if a function was killed before it could name itself, and for the entry that replaces omitted ones. */
  step: z.optional(z.string()),
  /** A window's status, `throttled`, the name of an error, or `left out`. */
  outcome: z.string(),
  from: z.string(),
  to: z.string(),
  times: z.number(),
  /** All tries, if the state's Retry repeated the step. */
  tries: z.optional(z.number()),
  /** The platform's id of its last answer. */
  request_id: z.optional(z.string()),
});
export type TimelineEntry = z.infer<typeof TimelineEntry>;

export const PlanExportInput = z.object({
  /** The execution's input, not yet looked at. */
  request: z.unknown(),
  execution: z.string(),
  started_at: z.string(),
});
export type PlanExportInput = z.infer<typeof PlanExportInput>;

export const ExportPlan = z.object({
  execution: z.string(),
  started_at: z.string(),
  request: ExportRequest,
  warnings: z.array(z.string()),
  /** Those to export. */
  windows: z.array(Window),
  /** Of `only_missing`: the windows that are not among them, because they were delivered before. */
  already_delivered: z.optional(z.number()),
});
export type ExportPlan = z.infer<typeof ExportPlan>;

/** A token by reference: `version` is the one of the account's token secret that holds it, `scope` its name in there. */
export const TokenRef = z.object({
  version: z.string(),
  scope: z.string(),
  expires_at: z.string(),
  /** Renewed after a refusal and not accepted by the platform since: a second refusal in a row is final. */
  unproven: z.boolean(),
});
export type TokenRef = z.infer<typeof TokenRef>;

/** A report that is watched, or was. */
export const ReportRef = z.object({
  id: z.string(),
  created_at: z.string(),
  /** Answers that were of no use: 404, READY without a URL, no longer READY. With the second one it is given up. */
  useless_answers: z.number(),
  /** Not watched any more: useless twice, or its URL was refused twice. One that is only slow is watched on. */
  given_up: z.boolean(),
});
export type ReportRef = z.infer<typeof ReportRef>;

/** An object that is complete and verified. */
export const StoredObject = z.object({
  key: z.string(),
  bytes: z.number(),
  /** Base64 of the big-endian CRC32 of the whole object, as S3 states it for checksum type FULL_OBJECT. */
  crc32: z.string(),
  content_type: z.string(),
  content_encoding: z.optional(z.string()),
  /** Absent where the format has no rows that can be counted. */
  rows: z.optional(z.number()),
  /** Of a list: items that came again on a later page, and were left out. */
  repeated_items: z.optional(z.number()),
  version_id: z.optional(z.string()),
  copied_at: z.string(),
});
export type StoredObject = z.infer<typeof StoredObject>;

/** One window on its way through the child execution. */
export const WindowState = z.object({
  execution: z.string(),
  request: ExportRequest,
  warnings: z.array(z.string()),
  window: Window,
  /**
   * Where it stands, for the Choice states:
   * `planned` a report is to be created, the first one or a replacement · `pending` being generated ·
   * `ready` can be saved, or its copy resumed · `saved` the object is complete
   */
  status: z.enum(['planned', 'pending', 'ready', 'saved']),
  /** Seconds that the next Wait takes; at least 10 (contract 4.4). */
  wait_seconds: z.number(),
  /** Answers 429 in a row. */
  throttled: z.number(),
  /** The same since the window began. */
  throttled_in_all: z.optional(z.number()),
  /** Oldest first. */
  reports: z.array(ReportRef),
  /** The one of `reports` that is READY. */
  ready_id: z.optional(z.string()),
  token: z.optional(TokenRef),
  object: z.optional(StoredObject),
  /** Of a file that one call did not bring. */
  copying: z.optional(Copying),
  caught: z.optional(Caught),
  /** When the window began. */
  begun_at: z.optional(z.string()),
  /** Tokens that were refused so far. */
  renewals: z.optional(z.number()),
  /** Answers to POST /reports that were lost or could not be read: each may have left a report behind. */
  lost_answers: z.optional(z.number()),
  /** What each step came to so far; step.ts keeps it. */
  timeline: z.optional(z.array(TimelineEntry)),
});
export type WindowState = z.infer<typeof WindowState>;

/**
 * What a token is asked for: a plan, before any of its windows starts, or a window, where one may be hours old or
 * refused. The rest of either goes through unchanged.
 */
export const TokenRequest = z.looseObject({
  request: ExportRequest,
  warnings: z.array(z.string()),
  token: z.optional(TokenRef),
  caught: z.optional(Caught),
  /** The rest is a window's. */
  reports: z.optional(z.array(ReportRef)),
  begun_at: z.optional(z.string()),
  renewals: z.optional(z.number()),
});
export type TokenRequest = z.infer<typeof TokenRequest>;

/** From GetWindowToken on. */
export const AuthorizedWindow = z.extend(WindowState, { token: TokenRef, begun_at: z.string() });
export type AuthorizedWindow = z.infer<typeof AuthorizedWindow>;

/** What the steps of a report get, of a purchase query, of a list. */
export const ReportWindow = z.extend(AuthorizedWindow, { request: ReportRequest });
export type ReportWindow = z.infer<typeof ReportWindow>;
export const PurchasesWindow = z.extend(AuthorizedWindow, { request: PurchasesRequest });
export type PurchasesWindow = z.infer<typeof PurchasesWindow>;
export const ListWindow = z.extend(AuthorizedWindow, { request: ListRequest });
export type ListWindow = z.infer<typeof ListWindow>;

/** A report is READY. */
export const ReadyWindow = z.extend(ReportWindow, { ready_id: z.string() });
export type ReadyWindow = z.infer<typeof ReadyWindow>;

/** The object is in place; its manifest is not. */
export const SavedWindow = z.extend(AuthorizedWindow, { object: StoredObject });
export type SavedWindow = z.infer<typeof SavedWindow>;

/** The failure of a window. The same facts go into the state, the event, the bucket and the CLI's output. */
const WindowFailureReport = z.object({
  version: z.literal('1'),
  /** A name of errors.ts, or the error that Step Functions or Lambda reported. */
  error: z.string(),
  happened: z.string(),
  todo: z.string(),
  execution: z.string(),
  account: z.optional(z.string()),
  export: z.optional(z.string()),
  window: z.optional(Window),
  /** An export's report has the timeline of the first window that failed. */
  timeline: z.array(TimelineEntry),
  /** A link to the section about this error. */
  runbook: z.string(),
  report_ids: z.array(z.string()),
  request_ids: z.array(z.string()),
  faults: z.optional(z.array(z.string())),
});

/** A failed export's report also counts its windows and shows the first ten that failed. */
export const FailureReport = z.extend(WindowFailureReport, {
  windows_delivered: z.optional(z.number()),
  windows_failed: z.optional(z.number()),
  failed_windows: z.optional(z.array(WindowFailureReport)),
});
export type FailureReport = z.infer<typeof FailureReport>;

/** DescribeFailure gets the state of a window, or of the export, and the error that the state machine caught. */
export const WindowFailure = z.extend(WindowState, { caught: Caught });
export type WindowFailure = z.infer<typeof WindowFailure>;

/** An export may fail at any point, so the rest of its state is not known; even its request may be the fault. */
export const ExportFailure = z.looseObject({ execution: z.string(), caught: Caught });
export type ExportFailure = z.infer<typeof ExportFailure>;

export const DescribeFailureInput = z.union([WindowFailure, ExportFailure]);
export type DescribeFailureInput = z.infer<typeof DescribeFailureInput>;

/** The state in which a failed export is announced and ends. */
export interface ExportFailed {
  readonly failure: FailureReport;
  /** `failure` as JSON, because a Fail state takes its Cause from a string. */
  readonly cause: string;
}

export const DeliveredWindow = z.object({
  outcome: z.literal('delivered'),
  window: Window,
  key: z.string(),
  manifest_key: z.string(),
  /** Of a report. */
  report_id: z.optional(z.string()),
  bytes: z.number(),
  rows: z.optional(z.number()),
});
export type DeliveredWindow = z.infer<typeof DeliveredWindow>;

export const FailedWindow = z.object({
  outcome: z.literal('failed'),
  window: Window,
  failure: FailureReport,
});
export type FailedWindow = z.infer<typeof FailedWindow>;

export const WindowResult = z.discriminatedUnion('outcome', [DeliveredWindow, FailedWindow]);
export type WindowResult = z.infer<typeof WindowResult>;

export const PublishExportInput = z.extend(ExportPlan, {
  /** Each a WindowResult, or what Step Functions put in its place. Absent where there was no window to export. */
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
  windows: z.array(z.omit(DeliveredWindow, { outcome: true })),
  /** Of `only_missing`: windows that were delivered by an earlier execution; none of them is in `windows`. */
  already_delivered: z.optional(z.number()),
  bytes: z.number(),
  rows: z.optional(z.number()),
  /** Whether the platform had no rows at all; absent where that is not known. */
  empty: z.optional(z.boolean()),
  warnings: z.array(z.string()),
});
export type ExportResult = z.infer<typeof ExportResult>;
