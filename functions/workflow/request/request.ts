import * as z from 'zod/mini';
import { LISTS, PURCHASES } from '../../contract.ts';
import { count } from '../count.ts';
import { InvalidInput } from '../errors.ts';
import { isObject, type JsonObject } from '../json.ts';
import { type DateRange, splitIntoWindows } from './dates.ts';
import { type Moment, type Normalized, rangeFaults, roundedFaults, today } from './fields.ts';
import { nameFaults, wordIssue } from './issues.ts';
import { ListInput, ListRequest, normalizeList } from './list.ts';
import { MAX_PURCHASE_DAYS, normalizePurchases, PurchasesInput, PurchasesRequest } from './purchases.ts';
import { MAX_WINDOWS, normalizeReport, ReportInput, ReportRequest, reportFaults } from './report.ts';

export { ListRequest, MAX_WINDOWS, PurchasesRequest, ReportRequest };

/** The export's state holds the request and its windows; see MAX_WINDOWS. */
export const MAX_REQUEST_BYTES = 30_000;

export const ExportRequest = z.union([ReportRequest, PurchasesRequest, ListRequest]);
export type ExportRequest = z.infer<typeof ExportRequest>;

/** The fields of an execution's input that say how its request is exported: see commonFields. */
export interface Manner {
  readonly onlyMissing: boolean;
  readonly resumes?: { readonly execution: string; readonly began_at: string };
  readonly run?: string;
  readonly scheduledAt?: string;
}

export interface ParsedRequest extends Normalized<ExportRequest> {
  /** Kept apart from the request, because requests are compared. */
  readonly manner: Manner;
}

/**
 * Checks an execution's input and names every fault at once.
 *
 * @param now a `period` is counted from here, unless the input has `scheduled_at`
 * @returns the request, and warnings about things that only the platform can decide
 * @throws InvalidInput, whose facts list the faults
 */
export function parseRequest(input: unknown, now: Date): ParsedRequest {
  const { normalize, faults } = checkInput(input, now);
  if (normalize && faults.length === 0) {
    const { request, warnings } = normalize();
    const unfinished = warnOfUnfinishedDays(request, today(input as Moment, now));
    return { request, warnings: [...warnings, ...unfinished], manner: readManner(input) };
  }
  throw new InvalidInput(`The request has ${count(faults.length, 'fault')}, and nothing was exported.`, {
    faults,
  });
}

/** The windows of an export, newest first. Only a report's range has a limit: the others have one window. */
export function splitRequest(request: ExportRequest): DateRange[] {
  if (request.kind === 'report') return splitIntoWindows(request);
  return [{ start_date: request.start_date, end_date: request.end_date }];
}

/** The rows would not show that the day is not over. A list is a snapshot of its day. */
function warnOfUnfinishedDays({ kind, end_date }: ExportRequest, day: string): string[] {
  if (kind === 'list' || end_date <= day) return [];
  return [`end_date: ${end_date} is still to come (it is ${day}), so the last days are not complete`];
}

function readManner(input: unknown): Manner {
  const { only_missing = false, resumes, run, scheduled_at } = Object(input);
  return {
    onlyMissing: only_missing,
    ...(resumes && { resumes }),
    ...(run !== undefined && { run }),
    ...(scheduled_at !== undefined && { scheduledAt: scheduled_at }),
  };
}

interface Checked {
  /** Absent if the input does not match the schema. */
  readonly normalize?: () => Normalized<ExportRequest>;
  readonly faults: readonly string[];
}

function checkInput(input: unknown, now: Date): Checked {
  if (!isObject(input)) return checkWith(ReportInput, input, [], normalizeReport, now);
  const checked = checkKind(input, now);
  return { ...checked, faults: [...checked.faults, ...roundedFaults(input), ...sizeFaults(input)] };
}

function checkKind(input: JsonObject, now: Date): Checked {
  const { kind = 'report', ...rest } = input;
  if (kind === 'purchases' && PURCHASES) {
    // The contract does not say whether the end of a query is exclusive, so a range may have 0 days.
    const faults = rangeFaults(input, 0, MAX_PURCHASE_DAYS);
    return checkWith(PurchasesInput, input, faults, normalizePurchases, now);
  }
  if (kind === 'list' && LISTS) return checkWith(ListInput, input, [], normalizeList, now);
  // An unknown kind is checked as a report, to name its other faults too.
  const kindFaults = kind === 'report' ? [] : [`kind: must be ${KINDS}`];
  return checkWith(ReportInput, rest, [...kindFaults, ...reportFaults(input)], normalizeReport, now);
}

/** The kinds of exports that the platform has. */
const KINDS = ['"report"', ...(PURCHASES ? ['"purchases"'] : []), ...(LISTS ? ['"list"'] : [])]
  .join(', ')
  .replace(/, (?=[^,]*$)/, ' or ');

/** @param faults that the schema cannot find */
function checkWith<S extends z.ZodMiniObject>(
  schema: S,
  input: unknown,
  faults: readonly string[],
  normalize: (valid: z.output<S>, now: Date) => Normalized<ExportRequest>,
  now: Date,
): Checked {
  const { data, error } = schema.safeParse(input, { error: wordIssue });
  if (!error) return { faults, normalize: () => normalize(data, now) };
  const fields = Object.keys(schema.shape);
  const issues = error.issues.flatMap((issue) =>
    nameFaults(issue, 'the request', 'is not a field of a request', fields),
  );
  return { faults: [...issues, ...faults] };
}

function sizeFaults(fields: JsonObject): string[] {
  const bytes = Buffer.byteLength(JSON.stringify(fields));
  if (bytes <= MAX_REQUEST_BYTES) return [];
  return [
    `the request has ${bytes} bytes, more than the ${MAX_REQUEST_BYTES} that the workflow's state can carry; split it by advertiser`,
  ];
}
