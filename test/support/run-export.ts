import { globSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { isOfTotal } from '../../functions/workflow/keys.ts';
import type { FailureReport } from '../../functions/workflow/state-parts.ts';
import type { BusEvent } from '../../infra/lab/local/events.ts';
import type { HistoryEvent } from '../../infra/lab/local/step-functions/history.ts';
import type { Call, Endpoint } from '../../infra/lab/sandbox/exchange.ts';
import { type Fault, parseFault } from '../../infra/lab/sandbox/faults.ts';
import type { ReportInMemory } from '../../infra/lab/sandbox/reporting/report-memory.ts';
import type { SandboxOptions } from '../../infra/lab/sandbox/sandbox-options.ts';
import type { JsonCall, S3Call, Fault as ServiceFault } from './faulty-services.ts';
import { type DocumentName, expectToMatchSchema } from './schemas.ts';
import { expectNoSecretIn, expectNoSecretWritten } from './secrecy.ts';
import { type Ended, startWorkflow, type Workflow, type WorkflowOptions } from './workflow.ts';

/** The faults of one export, and its fields that differ from {@link Workflow.request}. Default: two days. */
export interface Conditions {
  /** Faults of the platform and its storage host. */
  readonly faults?: readonly (string | Fault)[];
  /** Options of the sandbox for this export only. */
  readonly sandbox?: Omit<SandboxOptions, 'faults' | 'credentials'>;
  readonly s3?: readonly ServiceFault[];
  readonly secrets?: readonly ServiceFault[];
  readonly glue?: readonly ServiceFault[];
  /** The number of events that the event bus refuses. */
  readonly events?: number;
  readonly request?: Readonly<Record<string, unknown>>;
  /** Runs at the same time as the export. */
  readonly meanwhile?: () => Promise<unknown>;
}

/** The end of one export, and what every journal recorded of it. */
export interface Outcome extends Ended, Journals {
  readonly request: Record<string, unknown>;
  /** The execution's Cause. Undefined if the export was delivered. */
  readonly failure: FailureReport | undefined;
  /** The object and the manifest of the export's only window. */
  readonly object: Buffer | undefined;
  readonly manifest: Record<string, unknown> | undefined;
}

export interface Journals {
  readonly calls: readonly Call[];
  readonly reports: readonly ReportInMemory[];
  readonly s3: readonly S3Call[];
  readonly secrets: readonly JsonCall[];
  readonly announced: readonly BusEvent[];
  /** Lines that the functions wrote. */
  readonly logged: readonly string[];
  callsTo(endpoint: Endpoint): Call[];
}

/**
 * Starts a workflow that waits as little as possible. It runs 1000 times faster than real time, tokens last a
 * day, and reports are READY at once: the first GET of a report is CheckReport's, the second SaveReport's.
 */
export function startFastWorkflow(options: WorkflowOptions = {}): Promise<Workflow> {
  const report = { secondsToReady: 0 };
  const sandbox = { tokenSeconds: 86_400, report, ...options.sandbox };
  return startWorkflow({ speed: 1000, ...options, sandbox });
}

/** Starts a fast workflow for all tests of a file. At the end it searches all that was written (P6). */
export async function shareWorkflow(options: WorkflowOptions = {}): Promise<Workflow> {
  const workflow = await startFastWorkflow(options);
  afterAll(async () => {
    await expectNoSecretWritten(workflow);
    await workflow[Symbol.asyncDispose]();
  });
  return workflow;
}

let common: Promise<Workflow> | undefined;

/**
 * Returns a fast workflow that the files of a worker share: starting one and closing it takes as much CPU as
 * ten exports. A file may change it only for the time of a test. At the end of each file it searches
 * everything that was written for secrets (P6).
 */
export async function commonWorkflow(): Promise<Workflow> {
  common ??= startFastWorkflow().then((workflow) => globalThis.closedWithWorker.use(workflow));
  const workflow = await common;
  afterAll(async () => {
    setFaults(workflow, {});
    await expectNoSecretWritten(workflow);
  });
  return workflow;
}

/** The window of an export without a request of its own: each day takes 10 ms of CPU. */
const TWO_DAYS = { start_date: '2026-10-01', end_date: '2026-10-03' };

let runs = 0;

/**
 * Runs one export under these conditions, and checks the promises: two GETs of a report are 10 s apart (P3),
 * no manifest and no event without the whole object (P2), one event (P4), no secret in anything that was
 * written (P6).
 */
export async function runExport(workflow: Workflow, conditions: Conditions = {}): Promise<Outcome> {
  const request = workflow.request({ name: `run-${++runs}`, ...(conditions.request ?? TWO_DAYS) });
  const journals = recordJournals(workflow);
  const restore = changeOptions(workflow.sandbox.options, conditions.sandbox ?? {});
  setFaults(workflow, conditions);
  const [ended] = await Promise.all([workflow.run(request), conditions.meanwhile?.()]);
  setFaults(workflow, {});
  restore();
  const outcome: Outcome = {
    ...ended,
    ...journals(),
    ...(await readObjects(workflow, String(request.name))),
    request,
    failure: ended.cause === undefined ? undefined : parseFailure(ended.cause),
  };
  expectPromisesKept(outcome);
  expectDocumentsMatch(outcome);
  const { kind = 'report' } = request;
  if (outcome.status === 'SUCCEEDED' && kind === 'report' && !replacesBody(conditions)) {
    expectBytesOfSource(workflow, outcome);
  }
  expectNoSecretIn(await writtenBy(workflow, outcome), workflow);
  return outcome;
}

/** {@link runExport}, of an export that has to be delivered. */
export async function deliver(workflow: Workflow, conditions: Conditions = {}): Promise<Outcome> {
  const outcome = await runExport(workflow, conditions);
  expect(outcome.status).toBe('SUCCEEDED');
  return outcome;
}

const EVENTS: Readonly<Record<string, DocumentName>> = {
  'Report Exported': 'report-exported',
  'Report Export Failed': 'failure-report',
};

function expectDocumentsMatch({ manifest, failure, announced }: Outcome): void {
  if (manifest) expectToMatchSchema('manifest', manifest);
  if (failure) expectToMatchSchema('failure-report', failure);
  for (const { 'detail-type': type, detail } of announced) {
    const name = EVENTS[type];
    if (name) expectToMatchSchema(name, detail);
  }
}

/** Remembers where every journal ends now. The returned function gives what came after. */
export function recordJournals({ sandbox, s3, secrets, bus, logs }: Workflow): () => Journals {
  const sources = [sandbox.journal, sandbox.reports(), s3.journal, secrets.journal, bus.events, logs];
  const before = sources.map(({ length }) => length);
  const since = <T>(source: readonly T[], at: number) => source.slice(before[at]);
  return () => {
    const calls = since(sandbox.journal, 0);
    return {
      calls,
      reports: since(sandbox.reports(), 1),
      s3: since(s3.journal, 2),
      secrets: since(secrets.journal, 3),
      announced: since(bus.events, 4),
      logged: since(logs, 5),
      callsTo: (endpoint) => calls.filter((call) => call.endpoint === endpoint),
    };
  };
}

/** Checks that the export ended with this error and that nothing is visible. */
export function expectFailed(
  outcome: Outcome,
  error: string,
): asserts outcome is Outcome & { readonly failure: FailureReport } {
  expect({ status: outcome.status, error: outcome.error }).toEqual({ status: 'FAILED', error });
  const { object, manifest } = outcome;
  expect({ object, manifest }).toEqual({ object: undefined, manifest: undefined });
}

/** Seconds from the POST to the first GET of each report, and from each GET to the next. */
export function gapsIn({ callsTo, reports }: Pick<Outcome, 'callsTo' | 'reports'>): number[] {
  return reports.flatMap(({ id, createdAt }) => {
    const times = callsTo('report').flatMap(({ reportId, at }) => (reportId === id ? [at] : []));
    return times.map((at, index) => (at - (times[index - 1] ?? createdAt)) / 1000);
  });
}

/** The most windows that an execution had under way at the same time. */
export function mostAtOnce(events: readonly HistoryEvent[]): number {
  let now = 0;
  let most = 0;
  for (const { type } of events) {
    if (type === 'MapIterationStarted') most = Math.max(most, ++now);
    if (type === 'MapIterationSucceeded' || type === 'MapIterationFailed') now -= 1;
  }
  return most;
}

/** Keys of the objects of the export with this name, sorted. */
export async function keysOf({ out, bucket, keys }: Workflow, name: string): Promise<string[]> {
  const folders = globSync('exports/account=*/export=*', { cwd: join(out, bucket) });
  const ofName = folders.filter((folder) => folder.endsWith(`/export=${name}`)).sort();
  return (await Promise.all(ofName.map((folder) => keys(folder)))).flat();
}

/** Changes options, and returns a function that restores them. */
function changeOptions(options: SandboxOptions, { report, ...changes }: SandboxOptions): () => void {
  const before = { ...options };
  Object.assign(options, changes, report && { report: { ...options.report, ...report } });
  return () => {
    for (const name of Object.keys(changes)) delete options[name as keyof SandboxOptions];
    Object.assign(options, before);
  };
}

/** Replaces all faults of the workflow. */
export function setFaults({ sandbox, s3, secrets, glue, bus }: Workflow, conditions: Conditions): void {
  sandbox.faults.clear();
  for (const fault of conditions.faults ?? []) sandbox.faults.add(fault);
  s3.faults.splice(0, Infinity, ...(conditions.s3 ?? []).map((fault) => ({ ...fault })));
  secrets.faults.splice(0, Infinity, ...(conditions.secrets ?? []).map((fault) => ({ ...fault })));
  glue.faults.splice(0, Infinity, ...(conditions.glue ?? []).map((fault) => ({ ...fault })));
  bus.failNext(conditions.events ?? 0);
}

/** Everything that the export wrote, except its report. */
async function writtenBy(workflow: Workflow, outcome: Outcome): Promise<string> {
  const { events, cause, output, s3, secrets, announced, logged, request } = outcome;
  const keys = await keysOf(workflow, String(request.name));
  const small = keys.filter((key) => key.endsWith('.json') && !key.endsWith('/report.json'));
  const texts = await Promise.all(small.map((key) => workflow.object(key)));
  return [...texts, JSON.stringify([events, cause, output, s3, secrets, announced, logged])].join('\n');
}

async function readObjects(workflow: Workflow, name: string): Promise<Pick<Outcome, 'object' | 'manifest'>> {
  const keys = (await keysOf(workflow, name)).filter(
    (key) => !/\/_(runs|advertisers)\//.test(key) && !isOfTotal(key),
  );
  const read = async (file: RegExp, version?: string) => {
    const key = keys.find((candidate) => file.test(candidate));
    return key === undefined ? undefined : workflow.object(key, version);
  };
  const text = await read(/\/_manifest\.json$/);
  const manifest = text && (JSON.parse(String(text)) as Record<string, unknown>);
  const { version_id } = manifest ?? {};
  return { object: await read(/\/[^_/][^/]*$/, version_id as string | undefined), manifest };
}

function expectPromisesKept(outcome: Outcome): void {
  const { status, manifest, object, announced, s3, output } = outcome;
  expect(Math.min(...gapsIn(outcome), Infinity)).toBeGreaterThanOrEqual(10);
  expect(announced.map((event) => event['detail-type'])).toEqual([
    status === 'SUCCEEDED' ? 'Report Exported' : 'Report Export Failed',
  ]);
  expect(announced[0]?.detail).toEqual(status === 'SUCCEEDED' ? output : outcome.failure);
  if (status !== 'SUCCEEDED') {
    expect(manifest).toBeUndefined();
    return;
  }
  const isOfRows = (key: string) => key.startsWith('exports/') && !isOfTotal(key);
  const puts = s3.filter((entry) => entry.method === 'PUT' && entry.status === 200 && isOfRows(entry.key));
  expect(puts.at(-1)?.key).toMatch(/\/_manifest\.json$/);
  expect(manifest).toMatchObject({ bytes: object?.length });
}

/** True if a fault serves another body than the report's. */
function replacesBody({ faults = [] }: Conditions): boolean {
  const parsed = faults.map((fault) => (typeof fault === 'string' ? parseFault(fault) : fault));
  return parsed.some(({ on, body, gzip }) => on === 'storage' && (body ?? gzip) !== undefined);
}

function expectBytesOfSource({ sandbox }: Workflow, { object, manifest }: Outcome): void {
  const source = sandbox.reports().find(({ id }) => id === manifest?.report_id);
  expect(object?.equals(Buffer.concat([...(source?.file.read() ?? [])]))).toBe(true);
}

function parseFailure(cause: string): FailureReport {
  try {
    return JSON.parse(cause) as FailureReport;
  } catch {
    throw new Error(`The execution ended without a failure report: ${cause}`);
  }
}
