import { mkdtempDisposable, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Assembly, loadAssembly, prepareAssembly } from '../../infra/local/assembly.ts';
import { scaledClock } from '../../infra/local/clock.ts';
import type { ExecutionResult, HistoryEvent } from '../../infra/local/history.ts';
import type { FunctionSpec } from '../../infra/local/lambda-instance.ts';
import { type CreateFunction, type LocalRun, type SettingTexts, startLocal } from '../../infra/local/run.ts';
import type { Execution } from '../../infra/local/step-functions.ts';
import { type Sandbox, startSandbox } from '../../infra/sandbox/sandbox.ts';
import type { SandboxOptions } from '../../infra/sandbox/settings.ts';
import { carryMutant } from '../mutation/in-test.ts';
import { preloaded } from './preload.ts';

const FAST_TIMERS = new URL('./fast-timers.ts', import.meta.url);

export interface WorkflowOptions {
  /** Times faster than real time. Default 100: a wait of 10 s takes 0.1 s. */
  readonly speed?: number;
  /** The moment at which everything begins, by the scaled clock; default: now. */
  readonly now?: string;
  readonly sandbox?: Omit<SandboxOptions, 'now'>;
  /** Seconds by which the platform's clock is ahead of the functions'. */
  readonly platformAhead?: number;
  /** Replace the functions' settings. */
  readonly settings?: SettingTexts;
  /** Default: the stack of cdk.json. */
  readonly assembly?: Assembly;
  /** The text of each account's credential secret; by default, that of the sandbox's credential. */
  readonly credentials?: Readonly<Record<string, string>>;
  /** Another platform than the sandbox. */
  readonly baseUrl?: string;
  readonly revision?: string;
  /** How long the functions of these steps may run, where that is not the stack's own; real time at any speed. */
  readonly functionSeconds?: Readonly<Record<string, number>>;
  /** The functions' own time-outs and pauses, which are real time at any speed, run 20 times faster. */
  readonly shortTimeouts?: boolean;
  /** Default: runs each function in threads of this process. */
  readonly createFunction?: CreateFunction;
}

/** How an execution ended, with all that can be asserted about it. */
export interface Ended extends ExecutionResult {
  readonly name: string;
  readonly events: readonly HistoryEvent[];
}

/** The sandbox and the synthesized workflow, on one clock, in a folder of their own. */
export interface Workflow extends LocalRun {
  readonly sandbox: Sandbox;
  readonly out: string;
  /** A request that the sandbox serves: one window of a week, unless told. */
  request(fields?: Record<string, unknown>): Record<string, unknown>;
  /** Runs a request to its end. */
  run(request?: unknown): Promise<Ended>;
  /** An object of the bucket, as it lies in the folder. */
  object(key: string): Promise<Buffer>;
  /** Keys of all visible objects, sorted. */
  keys(): Promise<string[]>;
  /** The text of all that was written but the reports themselves: to be swept for what must not be in it. */
  everythingWritten(): Promise<string>;
}

/** Starts everything that a whole run needs; `await using` ends it and removes the folder. */
export async function startWorkflow(options: WorkflowOptions = {}): Promise<Workflow> {
  await using started = new AsyncDisposableStack();
  const clock = clockFrom(options.now, options.speed ?? 100);
  const { path: out } = started.use(await mkdtempDisposable(join(tmpdir(), 'workflow-')));
  const ahead = 1000 * (options.platformAhead ?? 0);
  const sandbox = started.use(await startSandbox({ ...options.sandbox, now: () => clock.now() + ahead }));
  const baseUrl = options.baseUrl ?? sandbox.baseUrl;
  const revision = options.revision ?? sandbox.revision;
  const credentials = options.credentials ?? credentialsOf(sandbox);
  const assembly = options.assembly ?? loadAssembly(await prepareAssembly());
  const mutant = carryMutant();
  started.defer(mutant.end);
  const preloads = [...mutant.modules, ...(options.shortTimeouts ? [FAST_TIMERS] : [])];
  const local = started.use(
    await startLocal({
      ...{ baseUrl, revision, clock, out },
      credentials: Object.fromEntries(
        Object.entries(credentials).map(([account, text]) => [account, { text }]),
      ),
      assembly: {
        ...assembly,
        functions: preloaded(
          withTimeouts(assembly.functions, options.functionSeconds ?? {}),
          preloads,
          join(out, '.code'),
        ),
      },
      ...(options.settings && { settings: options.settings }),
      ...(options.createFunction && { createFunction: options.createFunction }),
    }),
  );
  const running = started.move();
  const close = () => running.disposeAsync();
  const request = (fields = {}) => requestOf(sandbox, fields);
  return {
    ...local,
    ...{ sandbox, out, request, close },
    run: (input = request()) => follow(local.export(input)),
    object: (key) => readFile(join(out, local.bucket, key)),
    keys: () => keysUnder(join(out, local.bucket)),
    everythingWritten: () => sweep(local, out),
    [Symbol.asyncDispose]: close,
  };
}

function withTimeouts(
  functions: readonly FunctionSpec[],
  seconds: Readonly<Record<string, number>>,
): readonly FunctionSpec[] {
  return functions.map((spec) => {
    const timeoutSeconds = seconds[spec.environment.STEP ?? ''] ?? spec.timeoutSeconds;
    return { ...spec, timeoutSeconds };
  });
}

/** A clock's start is the moment at which it agrees with the machine's; here it is to tell another one right now. */
function clockFrom(now: string | undefined, speed: number) {
  if (now === undefined) return scaledClock(speed);
  const real = Date.now();
  return scaledClock(speed, real - (Date.parse(now) - real) / (speed - 1));
}

/** By account, as an operator would store them. */
function credentialsOf({ credentials }: Sandbox): Record<string, string> {
  return Object.fromEntries(
    credentials.map(({ account, clientId, clientSecret }) => [
      account,
      JSON.stringify({ client_id: clientId, client_secret: clientSecret }),
    ]),
  );
}

/** A request that the sandbox serves, of the kind that `fields` names: one window of a week, or the campaigns. */
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
  const [result, events] = await Promise.all([execution.result, Array.fromAsync(execution.events)]);
  return { ...result, name: execution.name, events };
}

async function keysUnder(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const keys = files.map(({ parentPath, name }) => join(parentPath, name).slice(directory.length + 1));
  // What begins with a dot is the S3 endpoint's own.
  return keys.filter((key) => !key.startsWith('.')).sort();
}

async function sweep(local: LocalRun, out: string): Promise<string> {
  const entries = await readdir(out, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !/^report\.\w+$/.test(entry.name));
  const texts = await Promise.all(
    // What is being uploaded may be gone by now.
    files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8').catch(() => '')),
  );
  const { assembly, history, logs, bus, secrets, s3 } = local;
  const memory = [assembly, history.executions, logs, bus.events, secrets.journal, s3.journal];
  return [...texts, ...memory.map((part) => JSON.stringify(part))].join('\n');
}
