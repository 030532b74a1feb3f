import * as z from 'zod/mini';
import { InvalidInput } from '../errors.ts';
import { isObject } from '../json.ts';
import { type Fields, type Moment, today } from './fields.ts';
import { describeIssue, wordIssue } from './issues.ts';
import { ListInput, ListRequest, listFaults, normalizeList } from './list.ts';
import { normalizePurchases, PurchasesInput, PurchasesRequest, purchasesFaults } from './purchases.ts';
import { MAX_WINDOWS, normalizeReport, ReportInput, ReportRequest, reportFaults } from './report.ts';

export { ListRequest, MAX_WINDOWS, PurchasesRequest, ReportRequest };

/** The parent's state carries it beside the windows; see MAX_WINDOWS. */
export const MAX_REQUEST_BYTES = 30_000;

/** A request with nothing left to decide, of any kind. */
export const ExportRequest = z.discriminatedUnion('kind', [ReportRequest, PurchasesRequest, ListRequest]);
export type ExportRequest = z.infer<typeof ExportRequest>;

interface Parsed {
  readonly request: ExportRequest;
  readonly warnings: string[];
}

/** It says of this execution, and not of what is exported, that windows which are there already are left out. */
export interface ParsedRequest extends Parsed {
  /** What was delivered before that is missing as well; absent: nothing is left out. */
  readonly onlyMissingSince?: Date;
  /** Where no instant is named: the time zone in which days must have been over when what is there was made. */
  readonly timeZone?: string;
}

/**
 * Checks an execution's whole input and names every fault at once.
 *
 * @param now the moment that a `period` is counted from, unless the input says when it was scheduled
 * @returns the request, and warnings about what only the platform can decide
 * @throws InvalidInput, whose facts list the faults
 */
export function parseRequest(input: unknown, now: Date): ParsedRequest {
  const { normalize, faults } = check(input, now);
  if (normalize && faults.length === 0) {
    const { request, warnings } = normalize();
    const unfinished = describeUnfinished(request, today(input as Moment, now));
    return { request, warnings: [...warnings, ...unfinished], ...readOnlyMissing(input) };
  }
  const count = faults.length === 1 ? 'a fault' : `${faults.length} faults`;
  throw new InvalidInput(`The request has ${count}, and nothing was exported.`, { faults });
}

/** Nothing in the rows would show that more of them are to come. A list is a snapshot, and its day is today. */
function describeUnfinished({ kind, end_date }: ExportRequest, day: string): string[] {
  if (kind === 'list' || end_date <= day) return [];
  return [`end_date: ${end_date} is still to come (it is ${day}), so the last days are not complete`];
}

function readOnlyMissing(input: unknown): Pick<ParsedRequest, 'onlyMissingSince' | 'timeZone'> {
  const { only_missing, time_zone = 'UTC' } = Object(input) as {
    only_missing?: boolean | string;
    time_zone?: string;
  };
  if (!only_missing) return {};
  if (only_missing === true) return { onlyMissingSince: new Date(0), timeZone: time_zone };
  return { onlyMissingSince: new Date(only_missing) };
}

interface Checked {
  /** Absent where the input does not have the form of a request. */
  readonly normalize?: () => Parsed;
  readonly faults: readonly string[];
}

function check(input: unknown, now: Date): Checked {
  try {
    if (!isObject(input)) return checkWith(ReportInput, input, [], (valid) => normalizeReport(valid, now));
    const checked = checkKind(input, now);
    return { ...checked, faults: [...checked.faults, ...sizeFaults(input)] };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { faults: ['options: is nested too deeply'] };
  }
}

function checkKind(input: Fields, now: Date): Checked {
  const { kind = 'report', ...rest } = input;
  if (kind === 'purchases') {
    const normalize = (valid: z.infer<typeof PurchasesInput>) => normalizePurchases(valid, now);
    return checkWith(PurchasesInput, input, purchasesFaults(input), withoutWarnings(normalize));
  }
  if (kind === 'list') {
    const normalize = (valid: z.infer<typeof ListInput>) => normalizeList(valid, now);
    return checkWith(ListInput, input, listFaults(input), withoutWarnings(normalize));
  }
  const faults = kind === 'report' ? [] : ['kind: must be "report", "purchases" or "list"'];
  return checkWith(ReportInput, rest, [...faults, ...reportFaults(input)], (valid) =>
    normalizeReport(valid, now),
  );
}

function withoutWarnings<T>(normalize: (valid: T) => ExportRequest): (valid: T) => Parsed {
  return (valid) => ({ request: normalize(valid), warnings: [] });
}

/** @param between what a schema does not see */
function checkWith<S extends z.ZodMiniType>(
  schema: S,
  input: unknown,
  between: readonly string[],
  normalize: (valid: z.output<S>) => Parsed,
): Checked {
  const { data, error } = schema.safeParse(input, { error: wordIssue });
  if (error) return { faults: [...error.issues.flatMap(describe), ...between] };
  return { normalize: () => normalize(data), faults: between };
}

function describe(issue: z.core.$ZodIssue): string[] {
  return describeIssue(issue, 'the request', 'is not a field of a request');
}

function sizeFaults(fields: Fields): string[] {
  const bytes = Buffer.byteLength(JSON.stringify(fields));
  return bytes > MAX_REQUEST_BYTES
    ? [
        `the request has ${bytes} bytes, more than the ${MAX_REQUEST_BYTES} that the workflow's state can carry; split it by advertiser`,
      ]
    : [];
}
