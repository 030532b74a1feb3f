import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdtempDisposable, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Assembly, loadAssembly, prepareAssembly } from '../../infra/lab/local/assembly/assembly.ts';
import { scaledClock } from '../../infra/lab/local/clock.ts';
import type { EventBus } from '../../infra/lab/local/events.ts';
import type { FunctionSpec } from '../../infra/lab/local/lambda/lambda.ts';
import { TaskError } from '../../infra/lab/local/lambda/task-error.ts';
import { type LocalRun, type SettingTexts, startLocal } from '../../infra/lab/local/local-run.ts';
import type { ExecutionResult, HistoryEvent } from '../../infra/lab/local/step-functions/history.ts';
import type { Execution } from '../../infra/lab/local/step-functions/step-functions.ts';
import type { SandboxOptions } from '../../infra/lab/sandbox/sandbox-options.ts';
import { type Sandbox, startSandbox } from '../../infra/lab/sandbox/start-sandbox.ts';
import { type Faulty, type JsonCall, type S3Call, startJsonProxy, startS3Proxy } from './faulty-services.ts';

const FAST_TIMERS = fileURLToPath(new URL('./fast-timers.ts', import.meta.url));

export interface WorkflowOptions {
  /** Times faster than real time. Default 100: a wait of 10 s takes 0.1 s. */
  readonly speed?: number;
  /** The time on the scaled clock at the start. Default: the real time. */
  readonly now?: string;
  readonly sandbox?: Omit<SandboxOptions, 'now'>;
  /** Seconds by which the platform's clock is ahead of the functions'. */
  readonly platformAhead?: number;
  /** The bucket keeps each version of an object. */
  readonly versioned?: boolean;
  /** Replace the functions' settings. */
  readonly settings?: SettingTexts;
  /** Default: the stack of cdk.json. */
  readonly assembly?: Assembly;
  /** Makes the functions' own time-outs and pauses, which are real time, 20 times shorter. */
  readonly shortTimeouts?: boolean;
}

/** The end of an execution, and its history. */
export interface Ended extends ExecutionResult {
  readonly name: string;
  readonly events: readonly HistoryEvent[];
}

/** The sandbox and the local stack, on one clock. Between the functions and each AWS service is a proxy. */
export interface Workflow extends LocalRun {
  readonly sandbox: Sandbox;
  readonly s3: Faulty<S3Call>;
  readonly secrets: Faulty<JsonCall>;
  readonly glue: LocalRun['glue'] & Faulty<JsonCall>;
  readonly bus: FaultyBus;
  readonly out: string;
  /** A request that the sandbox serves, with these fields. Default: a report of one week. */
  request(fields?: Record<string, unknown>): Record<string, unknown>;
  /** Runs a request to its end. */
  run(request?: unknown): Promise<Ended>;
  /** Reads an object of the bucket. @param version only of a bucket with versions */
  object(key: string, version?: string): Promise<Buffer>;
  /** Keys of all visible objects, or of those in a folder, sorted. */
  keys(folder?: string): Promise<string[]>;
  /** The text of all that was written but the reports: files, histories, logs, events, and journals. */
  everythingWritten(): Promise<string>;
}

/** Starts the sandbox and the local stack. Disposing of it stops both and removes their folder. */
export async function startWorkflow(options: WorkflowOptions = {}): Promise<Workflow> {
  await using started = new AsyncDisposableStack();
  const clock = scaledClock(options.speed ?? 100, Date.parse(options.now ?? new Date().toISOString()));
  const { path: out } = started.use(await mkdtempDisposable(join(tmpdir(), 'workflow-')));
  const ahead = 1000 * (options.platformAhead ?? 0);
  const sandbox = started.use(await startSandbox({ ...options.sandbox, now: () => clock.now() + ahead }));
  const assembly = options.assembly ?? loadAssembly(prepareAssembly());
  const { functions } = assembly;
  const services = await startProxies(started);
  const local = started.use(
    await startLocal({
      clock,
      out,
      baseUrl: sandbox.baseUrl,
      revision: sandbox.revision,
      credentials: credentialsOf(sandbox),
      assembly: { ...assembly, functions: options.shortTimeouts ? preload(functions, out) : functions },
      ...(options.settings && { settings: options.settings }),
      ...(options.versioned && { versioned: true }),
      changeFunction: services.connect,
    }),
  );
  const { s3, secrets } = services;
  const glue = { ...local.glue, ...services.glue };
  const bus = addFaults(local.bus);
  const running = started.move();
  const request = (fields = {}) => requestOf(sandbox, fields);
  return {
    ...local,
    sandbox,
    out,
    request,
    s3,
    secrets,
    glue,
    bus,
    run: (input = request()) => follow(local.export(input)),
    object: (key, version) =>
      readFile(join(out, local.bucket, version === undefined ? key : join('.versions', version))),
    keys: (folder) => keysUnder(join(out, local.bucket), folder),
    everythingWritten: () => readEverything({ ...local, s3, secrets, bus }, out),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

interface FaultyBus extends EventBus {
  /** Makes the next calls of putEvents fail, this many times. */
  failNext(times: number): void;
}

function addFaults(bus: EventBus): FaultyBus {
  const { putEvents } = bus;
  let failures = 0;
  bus.putEvents = async (input) => {
    if (failures <= 0) return putEvents(input);
    failures -= 1;
    throw new TaskError({ error: 'EventBridge.FailedEntry', cause: 'A fault was set.' });
  };
  const failNext = (times: number) => {
    failures = times;
  };
  return Object.assign(bus, { failNext });
}

/** Starts proxies in front of the services of a run that starts later. */
async function startProxies(started: AsyncDisposableStack) {
  const targets: Record<string, string | undefined> = {};
  const to = (name: string) => () => targets[name] ?? '';
  const s3 = started.use(await startS3Proxy(to('AWS_ENDPOINT_URL_S3')));
  const secrets = started.use(await startJsonProxy(to('AWS_ENDPOINT_URL_SECRETS_MANAGER')));
  const glue = started.use(await startJsonProxy(to('AWS_ENDPOINT_URL_GLUE')));
  const endpoints = {
    AWS_ENDPOINT_URL_S3: s3.endpoint,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.endpoint,
    AWS_ENDPOINT_URL_GLUE: glue.endpoint,
  };
  /** Puts the proxies between a function and the services. */
  const connect = (spec: FunctionSpec): FunctionSpec => {
    Object.assign(targets, spec.environment);
    return { ...spec, environment: { ...spec.environment, ...endpoints } };
  };
  return { s3, secrets, glue, connect };
}

type Functions = readonly FunctionSpec[];

/** Loads fast-timers.ts before the bundles of the functions. */
function preload(functions: Functions, out: string): Functions {
  const directory = join(out, '.code');
  mkdirSync(directory);
  return functions.map((spec) => {
    const file = join(directory, `${spec.name}.cjs`);
    writeFileSync(file, `require('${FAST_TIMERS}');\nmodule.exports = require('${spec.file}');\n`);
    return { ...spec, file };
  });
}

/** Credential secrets by account, as an operator would store them. */
function credentialsOf({ credentials }: Sandbox): Record<string, { readonly text: string }> {
  return Object.fromEntries(
    credentials.map(({ account, clientId, clientSecret }) => [
      account,
      { text: JSON.stringify({ client_id: clientId, client_secret: clientSecret }) },
    ]),
  );
}

/** A request of the kind that `fields` names: one window of a week, or the campaigns. */
function requestOf({ advertiserIds, credentials }: Sandbox, fields: Record<string, unknown>) {
  const [advertiser_id] = advertiserIds;
  const names = { name: 'daily-campaigns', account: credentials[0]?.account };
  const week = { start_date: '2026-10-01', end_date: '2026-10-08' };
  if (fields.kind === 'list') return { ...names, resource: 'campaigns', ...fields };
  if (fields.kind === 'purchases') return { ...names, ...week, advertiser_id, ...fields };
  return { ...names, ...week, advertiser_ids: [advertiser_id], metrics: ['spend'], ...fields };
}

/** Follows an execution to its end. */
export async function follow(execution: Execution): Promise<Ended> {
  const { name, history, result } = execution;
  return { ...(await result), name, events: history.events };
}

async function keysUnder(directory: string, folder = ''): Promise<string[]> {
  const entries = await readdir(join(directory, folder), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const keys = files.map(({ parentPath, name }) => join(parentPath, name).slice(directory.length + 1));
  // The S3 endpoint's own folders begin with a dot.
  return keys.filter((key) => !key.startsWith('.')).sort();
}

type Read = 'assembly' | 'executions' | 'logs' | 'bus' | 'secrets' | 's3';

async function readEverything(local: Pick<Workflow, Read>, out: string): Promise<string> {
  const entries = await readdir(out, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !/^report\.\w+$/.test(entry.name));
  const texts = await Promise.all(
    // A part of an upload may disappear meanwhile.
    files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8').catch(() => '')),
  );
  const { assembly, executions, logs, bus, secrets, s3 } = local;
  const memory = [assembly, executions, logs, bus.events, secrets.journal, s3.journal];
  return [...texts, ...memory.map((part) => JSON.stringify(part))].join('\n');
}
