import { createHash } from 'node:crypto';
import {
  DeleteObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { PutSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { afterAll, expect } from 'vitest';
import type { FailureReport } from '../../functions/workflow/states.ts';
import type { BusEvent } from '../../infra/local/events.ts';
import type { Fault as S3Fault } from '../../infra/local/s3/faults.ts';
import { ACCOUNT, CREDENTIALS, type JournalEntry } from '../../infra/local/s3/server.ts';
import type { Call, Endpoint } from '../../infra/local/sandbox/exchange.ts';
import type { Fault } from '../../infra/local/sandbox/faults/fault.ts';
import { parseFault } from '../../infra/local/sandbox/faults/parse-fault.ts';
import type { SandboxOptions } from '../../infra/local/sandbox/settings.ts';
import type { Report } from '../../infra/local/sandbox/state.ts';
import type { SecretsCall, SecretsFault } from '../../infra/local/secrets-manager.ts';
import { secretsOf } from './log-in.ts';
import { expectNoSecretIn, expectNoSecretWritten } from './secrecy.ts';
import { type Ended, startWorkflow, type Workflow, type WorkflowOptions } from './workflow.ts';

/** What goes wrong on that day, and what is asked for. */
export interface Conditions {
  /** Of the platform and its storage host. */
  readonly faults?: readonly (string | Fault)[];
  /** What the sandbox does otherwise on that day. */
  readonly sandbox?: Omit<SandboxOptions, 'faults' | 'credentials' | 'revisions'>;
  readonly s3?: readonly S3Fault[];
  readonly secrets?: readonly SecretsFault[];
  /** How many announcements fail. */
  readonly events?: number;
  /** Fields of the request that differ from {@link Workflow.request}'s. */
  readonly request?: Readonly<Record<string, unknown>>;
  /** What must not be written anywhere, beside the sandbox's own secrets. */
  readonly canaries?: readonly string[];
  /** Done while it runs. */
  readonly meanwhile?: () => Promise<unknown>;
}

/** How an export went through a bad day: the part of every journal that is about it. */
export interface Outcome extends Ended {
  readonly request: Record<string, unknown>;
  /** The Cause; undefined for what was delivered. */
  readonly failure: FailureReport | undefined;
  readonly calls: readonly Call[];
  readonly reports: readonly Report[];
  readonly s3: readonly JournalEntry[];
  readonly secrets: readonly SecretsCall[];
  readonly announced: readonly BusEvent[];
  /** Lines that the functions wrote. */
  readonly logged: readonly string[];
  /** What stands at the only window's keys, if anything. */
  readonly object: Buffer | undefined;
  readonly manifest: Record<string, unknown> | undefined;
  to(endpoint: Endpoint): Call[];
}

/** A workflow for all tests of a file, on whose bad days nothing may have been left of a secret in the end. */
export async function shareWorkflow(options: WorkflowOptions): Promise<Workflow> {
  const workflow = await startWorkflow(options);
  afterAll(async () => {
    await expectNoSecretWritten(workflow);
    await workflow.close();
  });
  return workflow;
}

let days = 0;

/**
 * Runs one export of a name of its own on a bad day, in a workflow that many of them may share, and holds it to what must
 * be kept whatever happens: 10 s between two GETs of a report (P3), no manifest and no event without the whole object (P2),
 * one announcement (P4), and no secret written anywhere (P6).
 */
export async function runExport(workflow: Workflow, day: Conditions = {}): Promise<Outcome> {
  const request = workflow.request({ name: `day-${++days}`, ...day.request });
  const journals = recordJournals(workflow);
  const restore = change(workflow.sandbox.options, day.sandbox ?? {});
  plant(workflow, day);
  const [ended] = await Promise.all([workflow.run(request), day.meanwhile?.()]);
  plant(workflow, {});
  restore();
  const outcome: Outcome = {
    ...ended,
    ...journals(),
    ...(await visible(workflow, String(request.name))),
    request,
    failure: ended.cause === undefined ? undefined : readFailure(ended.cause),
  };
  expectPromisesKept(outcome);
  if (outcome.status === 'SUCCEEDED' && isReport(request) && !givesBody(day))
    expectSourcesBytes(workflow, outcome);
  expectNoSecretIn(await writtenOf(workflow, outcome), workflow, day.canaries);
  return outcome;
}

export type Journals = Pick<Outcome, 'calls' | 'reports' | 's3' | 'secrets' | 'announced' | 'logged' | 'to'>;

/** What comes into the journals from now on. */
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
      logged: since(logs, 5).map(({ text }) => text),
      to: (endpoint) => calls.filter((call) => call.endpoint === endpoint),
    };
  };
}

/** Ended with this error, and nothing is visible. */
export function expectFailed(
  outcome: Outcome,
  error: string,
): asserts outcome is Outcome & { readonly failure: FailureReport } {
  expect([outcome.status, outcome.error]).toEqual(['FAILED', error]);
  expect([outcome.object, outcome.manifest]).toEqual([undefined, undefined]);
}

/** Seconds between POST and the first GET, and between every two GETs, of each report. */
export function gapsIn({ calls, reports }: Pick<Outcome, 'calls' | 'reports'>): number[] {
  return reports.flatMap(({ id, createdAt }) => {
    const times = calls.flatMap(({ endpoint, reportId, at }) =>
      endpoint === 'report' && reportId === id ? [at] : [],
    );
    return times.map((at, index) => (at - (times[index - 1] ?? createdAt)) / 1000);
  });
}

/** Uploads that are neither completed nor aborted. */
export async function openUploads(workflow: Workflow): Promise<number> {
  const { Uploads = [] } = await s3Of(workflow).send(new ListMultipartUploadsCommand(bucketOf(workflow)));
  return Uploads.length;
}

/** The Content-Encoding with which S3 serves the object that the manifest names. */
export async function servedEncoding(workflow: Workflow, { manifest }: Outcome): Promise<string | undefined> {
  const command = new HeadObjectCommand({ ...bucketOf(workflow), Key: String(manifest?.key) });
  return (await s3Of(workflow).send(command)).ContentEncoding;
}

/** As somebody who tidies the bucket up. */
export async function removeObject(workflow: Workflow, key: string): Promise<void> {
  await s3Of(workflow).send(new DeleteObjectCommand({ ...bucketOf(workflow), Key: key }));
}

function s3Of({ s3: { endpoint } }: Workflow): S3Client {
  return new S3Client({ endpoint, region: 'us-east-1', credentials: CREDENTIALS, forcePathStyle: true });
}

function bucketOf({ bucket }: Workflow) {
  return { Bucket: bucket, ExpectedBucketOwner: ACCOUNT };
}

/** Takes the cached tokens away, so that the next export has to ask for one. */
export async function forgetTokens(workflow: Workflow, account = 'sandbox'): Promise<void> {
  const SecretId = `ad-report-export/${account}/token`;
  await secretsOf(workflow).send(new PutSecretValueCommand({ SecretId, SecretString: '{}' }));
}

/** Changes some options, and returns what changes them back. */
function change(options: SandboxOptions, changes: SandboxOptions): () => void {
  const names = Object.keys(changes) as (keyof SandboxOptions)[];
  const before = Object.fromEntries(names.map((name) => [name, options[name]]));
  Object.assign(options, changes);
  return () => void Object.assign(options, before);
}

function plant({ sandbox, s3, secrets, bus }: Workflow, day: Conditions): void {
  sandbox.faults.clear();
  for (const fault of day.faults ?? []) sandbox.faults.add(fault);
  s3.faults.splice(0, Infinity, ...(day.s3 ?? []).map((fault) => ({ ...fault })));
  secrets.faults.splice(0, Infinity, ...(day.secrets ?? []).map((fault) => ({ ...fault })));
  bus.failNext(day.events ?? 0);
}

/** Keys of the objects that an export of this name has left. */
export async function keysOf(workflow: Workflow, name: string): Promise<string[]> {
  return (await workflow.keys()).filter((key) => key.includes(`/export=${name}/`));
}

/** All that one export has written but its report. */
async function writtenOf(workflow: Workflow, outcome: Outcome): Promise<string> {
  const { events, cause, output, s3, secrets, announced, logged, request } = outcome;
  const keys = await keysOf(workflow, String(request.name));
  const small = keys.filter((key) => key.endsWith('.json') && !key.endsWith('/report.json'));
  const texts = await Promise.all(small.map((key) => workflow.object(key)));
  return [...texts, JSON.stringify([events, cause, output, s3, secrets, announced, logged])].join('\n');
}

async function visible(workflow: Workflow, name: string): Promise<Pick<Outcome, 'object' | 'manifest'>> {
  const keys = await keysOf(workflow, name);
  const read = async (file: RegExp) => {
    const key = keys.find((one) => file.test(one));
    return key === undefined ? undefined : workflow.object(key);
  };
  const manifest = await read(/\/_manifest\.json$/);
  return {
    object: await read(/\/[^_/][^/]*$/),
    manifest: manifest && (JSON.parse(String(manifest)) as Record<string, unknown>),
  };
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
  const puts = s3.filter((entry) => entry.method === 'PUT' && entry.status === 200);
  expect(puts.at(-1)?.key).toMatch(/\/_manifest\.json$/);
  expect(manifest).toMatchObject({ bytes: object?.length });
}

function isReport({ kind = 'report' }: Readonly<Record<string, unknown>>): boolean {
  return kind === 'report';
}

/** Whether a fault gives the file, so that it is not the report's. */
function givesBody({ faults = [] }: Conditions): boolean {
  const parsed = faults.map((fault) => (typeof fault === 'string' ? parseFault(fault) : fault));
  return parsed.some(({ on, body, gzip }) => on === 'storage' && (body ?? gzip) !== undefined);
}

function expectSourcesBytes({ sandbox }: Workflow, { object, manifest }: Outcome): void {
  const source = sandbox.expected(String(manifest?.report_id));
  expect([object?.length, sha256(object)]).toEqual([source.length, source.sha256()]);
}

function sha256(bytes: Buffer = Buffer.alloc(0)): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function readFailure(cause: string): FailureReport {
  try {
    return JSON.parse(cause) as FailureReport;
  } catch {
    throw new Error(`The execution ended without a failure: ${cause}`);
  }
}
