import { join } from 'node:path';
import type { DayState } from '../../functions/days/judge.ts';
import { addDays, type DateRange, daysOf } from '../../functions/workflow/request/dates.ts';
import type { ShownDays } from '../../functions/workflow/shown-days.ts';
import type { ExecutionHistory } from '../../infra/lab/local/step-functions/history.ts';
import { shownDays } from '../support/day-sums.ts';
import type { Workflow } from '../support/workflow.ts';
import type { Phase, StoredFile } from './phase.ts';
import type { RequestedExport } from './scenario.ts';
import { rowsOf } from './tables.ts';

/** An export of an account, and the request that was asked for last. */
export interface AskedExport {
  readonly account: string;
  /** With the prefix of the scenario. */
  readonly name: string;
  readonly requested: RequestedExport;
  /** The days of its requests: between two of them may be others. */
  readonly days: readonly string[];
  /** A fault may have replaced files by `[]`. */
  readonly emptied: boolean;
}

/** What happened, told by other code than the product's: it uses neither its judge nor its run objects. */
export interface ExpectedDays {
  stateOf(day: string): DayState;
  readonly runs: readonly ExpectedRun[];
  readonly unstarted: readonly UnstartedRun[];
}

/** A run that may have a line. */
export interface ExpectedRun {
  readonly execution: string;
  /** The days that it still has to bring. Without any, it has no line. */
  readonly open: readonly string[];
  /** The windows that `resume` exports. */
  readonly windows: readonly DateRange[];
  /** PlanExport failed or was killed, so nobody knows whether the run has begun. */
  readonly mayBeAbsent: boolean;
}

/**
 * A run that may have a line although it has no execution: the execution of several accounts failed after it
 * wrote this account's run, and before it started it.
 */
export interface UnstartedRun {
  /** Its name has a hash behind this, which only the product knows. */
  readonly prefix: string;
  /** The days that it still has to bring. */
  readonly open: readonly string[];
}

interface Delivered extends DateRange {
  readonly id: string;
  readonly created: number;
  readonly metrics: string;
}

/** @param objects of the bucket, after the executions have ended */
export async function expectDays(
  workflow: Workflow,
  { account, name, requested, emptied }: AskedExport,
  { objects, tables }: Pick<Phase, 'objects' | 'tables'>,
): Promise<ExpectedDays> {
  const { out, bucket, executions } = workflow;
  const delivered = [...objects].flatMap((object) => readDelivered(object, account, name));
  const shown = await shownDays(join(out, bucket, 'tables', name), account);
  const table = tables.find((candidate) => candidate.name === name);
  const { kind, metrics } = requested.fields;
  const stateOf = (day: string): DayState => {
    const newest = delivered
      .filter((delivery) => includes(delivery, day))
      .toSorted(byAge)
      .at(-1);
    const isReport = kind === 'report';
    // No scenario has another time zone than UTC.
    if (!newest || (isReport && newest.created < Date.parse(addDays(day, 1)))) return 'missing';
    const known = newestRead(shown, day);
    if (!known || byAge(newest, known) > 0) return 'behind';
    const entry = shown[day];
    const isShown = entry !== undefined && byAge(versionOf(entry), known) === 0;
    if (isShown && entry.lacks !== undefined && byAge(newest, known) === 0) return 'behind';
    const rows = isReport && table ? rowsOf(workflow.sandbox, known.id, day, table, emptied) : [];
    const hasNone = rows.length > 0 && rows.every((number) => number === 0);
    const hasSome = rows.length > 0 && rows.every((number) => number > 0);
    const keepsRows = (table?.days.get(day)?.rows ?? 0) > 0;
    // A file that may have been one or the other: only the table knows.
    const isHeld = hasNone ? keepsRows : !hasSome && !isShown;
    // Nobody could accept a report that no manifest names.
    if (isHeld && byAge(newest, known) === 0) return 'held';
    return newest.metrics === String(metrics) ? 'there' : 'older';
  };
  const ofExport = executions.filter(({ events }) => {
    const { account: of, name: named } = Object(events[0]?.input);
    return of === account && named === name;
  });
  const parents = executions.filter(({ events }) => {
    const { accounts = [], name: named } = Object(events[0]?.input);
    return named === name && accounts.some((facts: { account: string }) => facts.account === account);
  });
  return {
    stateOf,
    runs: expectRuns(ofExport, delivered, kind === 'list'),
    unstarted: expectUnstarted(parents, delivered, `${name}-${account}-`),
  };
}

function readDelivered([key, { bytes }]: readonly [string, StoredFile], account: string, name: string) {
  const place = `exports/account=${account}/export=${name}/`;
  if (!key.startsWith(place) || !key.endsWith('/_manifest.json') || key.includes('/total/')) return [];
  const manifest = JSON.parse(String(bytes));
  const { start_date, end_date, report_id, execution, report_created_at, copied_at, export_request } =
    manifest;
  const id: string = report_id ?? execution;
  const created = Date.parse(report_created_at ?? copied_at);
  return [{ start_date, end_date, id, created, metrics: String(export_request.metrics) }];
}

function versionOf({ report_id, created_at }: { readonly report_id: string; readonly created_at: string }) {
  return { id: report_id, created: Date.parse(created_at) };
}

/** The newest report whose rows of the day CurateReport has read. */
function newestRead(shown: ShownDays, day: string) {
  const entry = shown[day];
  if (!entry) return undefined;
  const read = [entry, ...(entry.held ? [entry.held] : [])].map(versionOf);
  return read.toSorted(byAge).at(-1);
}

type Version = Pick<Delivered, 'id' | 'created'>;

function byAge(first: Version, second: Version): number {
  if (first.created !== second.created) return first.created - second.created;
  return first.id === second.id ? 0 : first.id < second.id ? -1 : 1;
}

function includes({ start_date, end_date }: DateRange, day: string): boolean {
  return start_date === end_date ? day === start_date : start_date <= day && day < end_date;
}

/** The runs that did not succeed, as the executions' histories tell them. */
function expectRuns(
  executions: readonly ExecutionHistory[],
  delivered: readonly Delivered[],
  isList: boolean,
): ExpectedRun[] {
  const planned = executions.map((ended) => ({ ...ended, ...readPlan(ended) }));
  const resumed = new Set(planned.flatMap(({ plan, resumes }) => (plan ? [resumes?.execution] : [])));
  return planned.flatMap(({ execution, result, plan, asked, began, resumes }) => {
    if (result?.status === 'SUCCEEDED' || resumed.has(execution) || !result) return [];
    // A run that resumes another one has the windows of that one.
    const first = planned.find((run) => run.execution === resumes?.execution);
    const windows = first?.plan ?? plan ?? asked;
    const since = Date.parse(resumes?.began_at ?? began);
    const renewing = delivered.filter(({ created }) => created >= since);
    const isOpen = (day: string) =>
      isList ? renewing.length === 0 : !renewing.some((report) => includes(report, day));
    const open = windows.flatMap(daysIn).filter(isOpen).toSorted();
    const left = windows.filter((window) => daysIn(window).some(isOpen));
    return [{ execution, open, windows: left, mayBeAbsent: plan === undefined }];
  });
}

/** The runs whose execution of several accounts did not get past PlanExport. */
function expectUnstarted(
  parents: readonly ExecutionHistory[],
  delivered: readonly Delivered[],
  prefix: string,
): UnstartedRun[] {
  return parents.flatMap((parent) => {
    const { asked, began } = readPlan(parent);
    const isPlanned = parent.events.some(({ state }) => state === 'ExportAccounts');
    if (isPlanned) return [];
    const renewing = delivered.filter(({ created }) => created >= Date.parse(began));
    const isOpen = (day: string) => !renewing.some((report) => includes(report, day));
    return [{ prefix, open: asked.flatMap(daysIn).filter(isOpen).toSorted() }];
  });
}

/** A window without days is the snapshot of a list. */
function daysIn(window: DateRange): string[] {
  return window.start_date === window.end_date ? [window.start_date] : daysOf(window);
}

/** What an execution was asked for, and what its PlanExport said, unless that failed. */
function readPlan({ events }: ExecutionHistory) {
  const input = Object(events[0]?.input);
  const { start_date, end_date, resumes } = input;
  const exited = events.find(({ type, state }) => type === 'StateExited' && state === 'PlanExport');
  const output = Object(exited?.output);
  const plan = (output.windows as (DateRange & { readonly content?: string })[] | undefined)
    ?.filter(({ content }) => content === undefined)
    .map((window) => ({ start_date: window.start_date, end_date: window.end_date }));
  const began = String(input.scheduled_at ?? output.started_at ?? events[0]?.time);
  const asked: DateRange[] = start_date && end_date ? [{ start_date, end_date }] : [];
  return { plan, asked, began, resumes: resumes as { execution: string; began_at: string } | undefined };
}
