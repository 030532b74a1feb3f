import { mkdir } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { type Config, readConfig } from '../config.ts';
import { type ClockAnchor, scaledClock } from './clock.ts';
import { readStateMachine } from './definition.ts';
import { type EventBus, openEventBus } from './events.ts';
import type { LogLine } from './function-instance.ts';
import { type LocalFunction, openFunction } from './functions.ts';
import { type ExecutionHistory, type HistoryFile, openHistory } from './history-file.ts';
import { CREDENTIALS, type JournalEntry, type S3, startS3 } from './s3/server.ts';
import { createFileSecret, createMemorySecret, type Secret } from './secret.ts';
import { type SecretsManager, startSecretsManager } from './secrets-manager.ts';
import { type Execution, startStateMachine } from './state-machine.ts';
import { taskRunner } from './task-runner.ts';
import { nameOf, type Place, resourcesOf, type Template } from './template.ts';
import { readFunctions } from './template-functions.ts';

/** A credential secret: kept in a file, where a rotated refresh token is written back, or its text. */
export type CredentialSource = { readonly file: string } | { readonly text: string };

/** A stack as `synthesize` gives it. */
export interface Synthesized {
  readonly template: unknown;
  codeOf(functionId: string): string;
}

export interface LocalOptions {
  readonly baseUrl: string;
  readonly revision: string;
  /** By account; the stack has these accounts and no others. */
  readonly credentials: Readonly<Record<string, CredentialSource>>;
  /** Where objects, events.jsonl and history.json go. */
  readonly out: string;
  /** Real time by default; a platform of this machine should have the same one. */
  readonly clock?: ClockAnchor;
  /** Settings of the stack other than cdk.json's. */
  readonly config?: Partial<Config>;
  /** A stack with these settings that was synthesized before. */
  readonly synthesized?: Synthesized;
}

/** The stack, running on this machine. */
export interface LocalRun extends AsyncDisposable {
  readonly bucket: string;
  readonly clock: ClockAnchor & { now(): number };
  readonly template: Template;
  readonly s3: S3;
  readonly secrets: SecretsManager;
  readonly bus: EventBus;
  readonly history: HistoryFile;
  /** Bytes that have arrived in S3 so far, by key; those of an upload that is not complete included. */
  readonly arrived: ReadonlyMap<string, number>;
  /** Everything that the functions wrote. */
  readonly logs: readonly LogLine[];
  /** By the step's name, such as SaveReport. @throws RangeError */
  functionOf(step: string): LocalFunction;
  /** Starts an execution with the request as its input. */
  export(request: unknown, name?: string): Execution;
  /** Aborts what runs, writes history.json and ends every thread and server. */
  close(): Promise<void>;
}

/** 000000000000 is nobody's account, and the one that the local S3's buckets belong to. */
const HERE = { account: '000000000000', region: 'us-east-1' };

/** Starts the synthesized stack on this machine; nothing outside is spoken to but the platform. */
export async function startLocal(options: LocalOptions): Promise<LocalRun> {
  await using started = new AsyncDisposableStack();
  const config = localConfig(options);
  const clock = scaledClock(options.clock?.speed ?? 1, options.clock?.start);
  const place: Place = { ...HERE, stack: config.stack };
  const { template: json, codeOf } = options.synthesized ?? (await synthesizeHere(config));
  const template = json as Template;

  const buckets = resourcesOf(template, 'AWS::S3::Bucket').map(([id]) => nameOf(template, place, id));
  await mkdir(options.out, { recursive: true });
  const arrived = new Map<string, number>();
  const s3 = started.use(
    await startS3({
      ...{ directory: options.out, buckets, now: clock.now, requireOwner: true },
      log: (entry) => countBytes(arrived, entry),
    }),
  );
  const stored = createSecrets(options, config.stack, template, place, clock.now);
  const secrets = started.use(await startSecretsManager({ secrets: stored, now: clock.now }));

  const logs: LogLine[] = [];
  const log = (line: LogLine) => void logs.push(line);
  const environment = environmentHere(options.baseUrl, s3, secrets);
  const specs = readFunctions({ template, place, codeOf, environment });
  const functions = specs.map((spec) => openFunction(spec, clock, log));
  started.defer(async () => void (await Promise.all(functions.map((each) => each.close()))));

  const bus = openEventBus(join(options.out, 'events.jsonl'), place, clock.now);
  const history = openHistory(options.out);
  started.defer(() => history.save().catch(warnOfHistory));
  const runTask = taskRunner(functions, bus);
  const machine = started.use(
    await startStateMachine({ ...readStateMachine(template, place), clock, runTask }),
  );
  const running = started.move();
  const close = () => running.disposeAsync();
  return {
    bucket: buckets[0] ?? '',
    ...{ clock, template, s3, secrets, bus, history, logs, arrived },
    functionOf: (step) => find(functions, step),
    export: (request, name = `export-${history.executions.length + 1}`) =>
      record(machine.start(name, request), history.begin(name)),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** cdk.json's settings, but for the platform and what belongs to another one. */
function localConfig({ baseUrl, revision, credentials, config }: LocalOptions): Config {
  const { download_hosts: _, ...configured } = readConfig();
  const accounts = Object.keys(credentials);
  return { ...configured, exports: [], ...config, base_url: baseUrl.replace(/\/+$/, ''), revision, accounts };
}

async function synthesizeHere(config: Config): Promise<Synthesized> {
  // CDK takes a second to load, which a stack that was synthesized before does not need.
  const { synthesize } = await import('../synthesize.ts');
  return synthesize(config);
}

function createSecrets(
  { credentials }: LocalOptions,
  prefix: string,
  template: Template,
  place: Place,
  now: () => number,
): Map<string, Secret> {
  const names = resourcesOf(template, 'AWS::SecretsManager::Secret').map(([id]) =>
    nameOf(template, place, id),
  );
  const secrets = new Map(names.map((name) => [name, createMemorySecret(now)]));
  for (const [account, source] of Object.entries(credentials)) {
    const secret =
      'file' in source ? createFileSecret(source.file, now) : createMemorySecret(now, source.text);
    secrets.set(`${prefix}/${account}/credential`, secret);
  }
  return secrets;
}

/** What this machine adds: the SDK's own variables, and leave to use plain http where the platform is on this machine. */
function environmentHere(baseUrl: string, s3: S3, secrets: SecretsManager): Record<string, string> {
  return {
    AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
    AWS_ENDPOINT_URL_S3: s3.endpoint,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.endpoint,
    ...(isLoopback(baseUrl) && { ALLOW_LOOPBACK: 'true' }),
  };
}

function countBytes(arrived: Map<string, number>, { operation, key, bytes = 0, status }: JournalEntry): void {
  if (status !== 200) return;
  if (operation === 'CreateMultipartUpload') arrived.set(key, 0);
  if (operation === 'PutObject') arrived.set(key, bytes);
  if (operation === 'UploadPart') arrived.set(key, (arrived.get(key) ?? 0) + bytes);
}

function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return (
    hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'))
  );
}

/** How the export ended is worth more than how it went: on a full disk there is still that. */
function warnOfHistory({ code, message }: NodeJS.ErrnoException): void {
  process.stderr.write(`warning: history.json could not be written (${code ?? message})\n`);
}

function find(functions: readonly LocalFunction[], step: string): LocalFunction {
  const found = functions.find(({ name }) => name.endsWith(step));
  if (!found) throw new RangeError(`The stack has no function ${step}`);
  return found;
}

/** The execution, its history being kept; its result is there once its history is complete. */
function record(execution: Execution, kept: ExecutionHistory): Execution {
  const complete = (async () => {
    for await (const event of execution.events) kept.events.push(event);
    kept.result = await execution.result;
    return kept.result;
  })();
  return { ...execution, result: complete };
}
