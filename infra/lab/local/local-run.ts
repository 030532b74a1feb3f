import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { platformName } from '../../../functions/decisions/request-hash.ts';
import type { JsonObject } from '../../../functions/workflow/json.ts';
import type { Settings } from '../../../functions/workflow/settings.ts';
import { type Assembly, loadAssembly, prepareAssembly } from './assembly/assembly.ts';
import { NO_AWS_FILES } from './aws-settings.ts';
import type { Clock } from './clock.ts';
import { createEventBus } from './events.ts';
import { createRequestTables, startGlue, type TableConfig } from './glue.ts';
import { createLocalFunction, type FunctionSpec, type LocalFunction, SCRATCH } from './lambda/lambda.ts';
import { TaskError } from './lambda/task-error.ts';
import { CREDENTIALS, startS3 } from './s3/server.ts';
import { UPLOADS } from './s3/store.ts';
import { createSecret, type SecretSource, startSecretsManager } from './secrets-manager.ts';
import type { ExecutionHistory } from './step-functions/history.ts';
import { createStateMachine, type Execution, type RunTask } from './step-functions/step-functions.ts';

/** Settings of the functions, which are environment variables. */
export type SettingTexts = { readonly [name in keyof Settings]?: string };

export interface LocalOptions {
  readonly baseUrl: string;
  readonly revision: string;
  /** By account. The run has no other accounts. */
  readonly credentials: Readonly<Record<string, SecretSource>>;
  /** The folder for objects, events.jsonl and history.json. */
  readonly out: string;
  /** A platform on this machine must use the same clock. */
  readonly clock: Clock;
  /** The run has a table for each request, as if this config contained it. Default: an empty config. */
  readonly config?: TableConfig;
  /** The file of the config whose other settings the functions have. Default: the app's. */
  readonly configFile?: string;
  /** Default: the stack of that config. */
  readonly assembly?: Assembly;
  /** The bucket keeps each version of an object, as the deployed one does. Default: false. */
  readonly versioned?: boolean;
  /** Replace settings of all functions. */
  readonly settings?: SettingTexts;
  /** Changes a function before it is created. Tests put proxies before the services that it calls. */
  readonly changeFunction?: (spec: FunctionSpec) => FunctionSpec;
}

const NO_TABLES: TableConfig = { exports: [], accounts: {} };

type OnStart = (execution: Execution, input: JsonObject) => void;

/** The stack, running on this machine. */
export type LocalRun = Awaited<ReturnType<typeof startLocal>>;

/**
 * Starts the stack on this machine. The platform is the only thing outside that it talks to.
 *
 * It runs the definition and the bundled handlers that are deployed. These differ: a window is an iteration
 * in the history of its export, not an execution; calls queue where Lambda would throttle them; the limits of
 * a function's time count real time, whatever the clock's speed; each try of a state is its first one in the
 * log; there is no redrive, IAM, KMS or lifecycle rule; and make-assembly.ts replaces the config's platform,
 * accounts and exports, so that one assembly serves every run.
 *
 * Disposing of the run aborts all executions, writes history.json, and ends every process and server.
 */
export async function startLocal(options: LocalOptions) {
  await using started = new AsyncDisposableStack();
  const { baseUrl, revision, clock, out } = options;
  const { assembly = loadAssembly(prepareAssembly(options.configFile)) } = options;
  const { bucket, stateMachine, interpreter } = assembly;
  await mkdir(out, { recursive: true });
  // Nobody can continue the uploads of a killed run, nor the uploads of this one when it has stopped.
  const removeUploads = () => rm(join(out, bucket, UPLOADS), { recursive: true, force: true });
  await removeUploads();
  started.defer(removeUploads);
  const { glue, endpoints } = await startServices(options, assembly, started);
  const defineTable = createRequestTables(glue.tables, bucket, options.config ?? NO_TABLES);
  const target = { platform: platformName(baseUrl), revision };

  const logs: string[] = [];
  const functions = functionSpecs(options, assembly, endpoints).map((spec) =>
    started.use(createLocalFunction(spec, clock, (line) => void logs.push(line))),
  );

  const bus = createEventBus(join(out, 'events.jsonl'), clock.now);
  const executions: ExecutionHistory[] = [];
  started.defer(() => saveHistory(out, executions));
  const listeners: OnStart[] = [];
  const start = startOnce((name, input) => {
    defineTable(input, target);
    const execution = machine.start(name, input);
    executions.push(execution.history);
    for (const listen of listeners) listen(execution, Object(input));
    return execution;
  });
  const runTask = createTaskRunner(functions, bus, start);
  const machine = started.use(createStateMachine({ ...stateMachine, interpreter, clock, runTask }));
  const running = started.move();
  let unnamed = 0;
  return {
    bucket,
    clock,
    assembly,
    glue,
    bus,
    executions: executions as readonly ExecutionHistory[],
    /** The lines that the functions wrote. */
    logs: logs as readonly string[],
    /** @param step such as SaveReport @throws RangeError */
    functionOf(step: string): LocalFunction {
      const local = functions.find(({ name }) => name.endsWith(step));
      if (!local) throw new RangeError(`The stack has no function ${step}`);
      return local;
    },
    /** Starts an execution with the request as its input. */
    export: (request: unknown, name = `export-${++unnamed}`) => start(name, request),
    /** Tells of each execution that starts from now on, such as an account's of an export of several. */
    onStart: (listen: OnStart) => void listeners.push(listen),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Starts the services of AWS that the functions call. @returns `endpoints`: the settings that name them */
async function startServices(
  { out, clock: { now }, credentials, versioned = false }: LocalOptions,
  { bucket, stack, functions }: Assembly,
  started: AsyncDisposableStack,
) {
  const s3 = started.use(await startS3({ directory: out, buckets: [bucket], now, versioned }));
  const stored = Object.entries(credentials).flatMap(([account, source]) => [
    [`${stack}/${account}/credential`, createSecret(source)] as const,
    [`${stack}/${account}/token`, createSecret()] as const,
  ]);
  const secrets = started.use(await startSecretsManager(new Map(stored), now));
  const database = functions.map(({ environment }) => environment.GLUE_DATABASE).find(Boolean);
  const glue = started.use(await startGlue(database, now));
  const endpoints = {
    AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
    AWS_ENDPOINT_URL_S3: s3.endpoint,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.endpoint,
    AWS_ENDPOINT_URL_GLUE: glue.endpoint,
  };
  return { glue, endpoints };
}

/** The functions with the platform of this run, and with the endpoints of its services. */
function functionSpecs(
  options: LocalOptions,
  { functions }: Assembly,
  endpoints: Readonly<Record<string, string>>,
): FunctionSpec[] {
  const { out, changeFunction = (spec) => spec } = options;
  const settings = { ...settingsOf(options), ...NO_AWS_FILES, ...endpoints };
  return functions.map((deployed) => {
    const environment = { ...deployed.environment, ...settings };
    return changeFunction({ ...deployed, environment, scratch: join(out, SCRATCH) });
  });
}

/** The settings of the functions that depend on the platform of this run. */
function settingsOf({ baseUrl, revision, settings }: LocalOptions): SettingTexts {
  const isLoopback = /^(localhost|\[::1\]|127\.[\d.]+)$/.test(new URL(baseUrl).hostname);
  return {
    PLATFORM_BASE_URL: baseUrl.replace(/\/+$/, ''),
    PLATFORM_REVISION: revision,
    ...(isLoopback && { ALLOW_LOOPBACK: 'true' }),
    ...settings,
  };
}

const PUT_EVENTS = 'arn:aws:states:::events:putEvents';

/** The Resource of a Task state that starts an execution and waits for its end. */
const START_EXECUTION = 'arn:aws:states:::states:startExecution.sync:2';

type Start = (name: string, input: unknown) => Execution;

/** Runs the tasks of the state machine, by their Resource. */
function createTaskRunner(
  functions: readonly LocalFunction[],
  bus: ReturnType<typeof createEventBus>,
  start: Start,
): RunTask {
  const byArn = new Map(functions.map((local) => [local.arn, local]));
  return async (resource, input) => {
    if (resource === PUT_EVENTS) return bus.putEvents(input);
    if (resource === START_EXECUTION) return runExecution(start, input);
    const target = byArn.get(resource);
    if (!target) throw new Error(`The local run does not support ${resource}`);
    return target.invoke(input);
  };
}

/** Starts each name once. The name of a running execution with the same input gives that execution. */
function startOnce(begin: Start): Start {
  const started = new Map<string, { readonly input: string; readonly execution: Execution }>();
  return (name, input) => {
    const text = JSON.stringify(input);
    const earlier = started.get(name);
    if (earlier?.input === text && !earlier.execution.history.result) return earlier.execution;
    if (earlier)
      throw new TaskError({
        error: 'StepFunctions.ExecutionAlreadyExistsException',
        cause: `Execution Already Exists: '${name}'`,
      });
    const execution = begin(name, input);
    started.set(name, { input: text, execution });
    return execution;
  };
}

/** Runs a task of {@link START_EXECUTION}. @throws TaskError unless the execution succeeds */
async function runExecution(start: Start, input: unknown): Promise<unknown> {
  const { Name, Input } = input as { Name: string; Input: unknown };
  const { status, ...end } = await start(Name, Input).result;
  if (status === 'SUCCEEDED') return { Name, Status: status };
  throw new TaskError({ error: 'States.TaskFailed', cause: JSON.stringify({ Status: status, ...end }) });
}

/**
 * Replaces history.json. Only warns, for example on a full disk, so that the command still reports how the
 * export ended.
 */
async function saveHistory(folder: string, executions: readonly ExecutionHistory[]): Promise<void> {
  const draft = join(folder, '.history.json');
  try {
    await writeFile(draft, `${JSON.stringify({ executions }, undefined, 2)}\n`);
    await rename(draft, join(folder, 'history.json'));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    process.stderr.write(`warning: history.json could not be written (${code ?? message})\n`);
    await rm(draft, { force: true });
  }
}
