import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { platformName } from '../../functions/decisions/request-hash.ts';
import type { JsonObject } from '../../functions/workflow/json.ts';
import type { Settings } from '../../functions/workflow/settings.ts';
import { type Assembly, loadAssembly, prepareAssembly } from './assembly/assembly.ts';
import { type Clock, scaledClock } from './clock.ts';
import { createEventBus, type EventBus } from './events.ts';
import { createRequestTables, type Glue, startGlue, type TableConfig } from './glue.ts';
import { createFunction, type LocalFunction } from './lambda/lambda.ts';
import { type FunctionSpec, SCRATCH } from './lambda/lambda-instance.ts';
import { ACCOUNT, CREDENTIALS, REGION, startS3 } from './s3/server.ts';
import { UPLOADS } from './s3/store.ts';
import { createSecret, type Secret, type SecretSource, startSecretsManager } from './secrets-manager.ts';
import { createHistory, type History } from './step-functions/history.ts';
import { runExecution, START_EXECUTION, type Start, startOnce } from './step-functions/starts.ts';
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
  /** Default: real time. A platform on this machine must use the same clock. */
  readonly clock?: Clock;
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

const EMPTY: TableConfig = { exports: [], accounts: {} };

type OnStart = (execution: Execution, input: JsonObject) => void;

/**
 * The stack, running on this machine. Disposing of it aborts all executions, writes history.json, and ends
 * every process and server.
 */
export interface LocalRun extends AsyncDisposable {
  readonly bucket: string;
  readonly clock: Clock;
  readonly assembly: Assembly;
  readonly glue: Glue;
  readonly bus: EventBus;
  readonly history: History;
  /** The lines that the functions wrote. */
  readonly logs: readonly string[];
  /** @param step such as SaveReport @throws RangeError */
  functionOf(step: string): LocalFunction;
  /** Starts an execution with the request as its input. */
  export(request: unknown, name?: string): Execution;
  /** Tells of each execution that starts from now on, such as the executions of the accounts of an export. */
  onStart(listen: OnStart): void;
}

/**
 * Starts the stack on this machine. The platform is the only thing outside that it talks to.
 *
 * It runs the definition and the bundled handlers that are deployed. These differ: a window is an iteration
 * in the history of its export, not an execution; calls queue where Lambda would throttle them; the limits of
 * a function's time count real time, whatever the clock's speed; each try of a state is its first one in the
 * log; there is no redrive, IAM, KMS or lifecycle rule; and make-assembly.ts replaces the config's platform,
 * accounts and exports, so that one assembly serves every run.
 */
export async function startLocal(options: LocalOptions): Promise<LocalRun> {
  await using started = new AsyncDisposableStack();
  const { clock = scaledClock(1), out, configFile } = options;
  const { assembly = loadAssembly(prepareAssembly(configFile)) } = options;
  const { bucket } = assembly;
  await mkdir(out, { recursive: true });
  // Nobody can continue the uploads of a killed run, nor the uploads of this one when it has stopped.
  const removeUploads = () => rm(join(out, bucket, UPLOADS), { recursive: true, force: true });
  await removeUploads();
  started.defer(removeUploads);
  const s3 = started.use(
    await startS3({
      directory: out,
      buckets: [bucket],
      now: clock.now,
      versioned: options.versioned ?? false,
    }),
  );
  const stored = createSecrets(options.credentials, assembly.stack);
  const secrets = started.use(await startSecretsManager({ secrets: stored, now: clock.now }));

  const database = assembly.functions.map(({ environment }) => environment.GLUE_DATABASE).find(Boolean);
  const glue = started.use(await startGlue({ database, now: clock.now }));
  const defineTable = createRequestTables(glue, bucket, options.config ?? EMPTY);
  const target = { platform: platformName(options.baseUrl), revision: options.revision };

  const logs: string[] = [];
  const environment = environmentOf(options, {
    AWS_ENDPOINT_URL_S3: s3.endpoint,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.endpoint,
    AWS_ENDPOINT_URL_GLUE: glue.endpoint,
  });
  const { changeFunction = (spec) => spec } = options;
  const functions = assembly.functions.map((each) => {
    const spec = {
      ...each,
      environment: { ...each.environment, ...environment },
      scratch: join(out, SCRATCH),
    };
    return started.use(createFunction(changeFunction(spec), clock, (line) => void logs.push(line)));
  });

  const bus = createEventBus(join(out, 'events.jsonl'), { account: ACCOUNT, region: REGION }, clock.now);
  const history = createHistory(out);
  started.defer(() => history.save().catch(warnOfHistory));
  const { stateMachine, interpreter } = assembly;
  const listeners: OnStart[] = [];
  const start = startOnce((name, input) => {
    defineTable(input, target);
    const execution = machine.start(name, input);
    history.executions.push(execution.history);
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
    history,
    logs,
    functionOf: (step) => findFunction(functions, step),
    export: (request, name = `export-${++unnamed}`) => start(name, request),
    onStart: (listen) => void listeners.push(listen),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function createSecrets(credentials: LocalOptions['credentials'], prefix: string): Map<string, Secret> {
  const secrets = new Map<string, Secret>();
  for (const [account, source] of Object.entries(credentials)) {
    secrets.set(`${prefix}/${account}/credential`, createSecret(source));
    secrets.set(`${prefix}/${account}/token`, createSecret());
  }
  return secrets;
}

/** The variables that depend on this run: the platform, its accounts, and the AWS services' endpoints. */
function environmentOf(
  options: LocalOptions,
  endpoints: Readonly<Record<string, string>>,
): Record<string, string> {
  const { baseUrl, revision, settings } = options;
  const platform: SettingTexts = {
    PLATFORM_BASE_URL: baseUrl.replace(/\/+$/, ''),
    PLATFORM_REVISION: revision,
    ...(isLoopback(baseUrl) && { ALLOW_LOOPBACK: 'true' }),
    ...settings,
  };
  return {
    ...platform,
    AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
    ...endpoints,
  };
}

function isLoopback(url: string): boolean {
  return /^(localhost|\[::1\]|127\.[\d.]+)$/.test(new URL(url).hostname);
}

const PUT_EVENTS = 'arn:aws:states:::events:putEvents';

/** Runs what the stack's Task states name: its functions, or what sends events or starts executions. */
function createTaskRunner(functions: readonly LocalFunction[], bus: EventBus, start: Start): RunTask {
  const byArn = new Map(functions.map((each) => [each.arn, each]));
  return async (resource, input) => {
    if (resource === PUT_EVENTS) return bus.putEvents(input);
    if (resource === START_EXECUTION) return runExecution(start, input);
    const target = byArn.get(resource);
    if (!target) throw new Error(`The local run does not support ${resource}`);
    return target.invoke(input);
  };
}

/** Only warns, for example on a full disk, so that the command still reports how the export ended. */
function warnOfHistory({ code, message }: NodeJS.ErrnoException): void {
  process.stderr.write(`warning: history.json could not be written (${code ?? message})\n`);
}

function findFunction(functions: readonly LocalFunction[], step: string): LocalFunction {
  const found = functions.find(({ name }) => name.endsWith(step));
  if (!found) throw new RangeError(`The stack has no function ${step}`);
  return found;
}
