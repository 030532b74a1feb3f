import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cachedFolder } from '../../infra/cache.ts';
import type { Clock, ClockAnchor } from '../../infra/local/clock.ts';
import type { LocalFunction } from '../../infra/local/lambda.ts';
import type { FunctionSpec, LogLine } from '../../infra/local/lambda-instance.ts';
import { listenOnLoopback } from '../../infra/local/loopback.ts';
import { functionFailure, TaskError } from '../../infra/local/task-error.ts';

const RUNTIME_CLIENT = 'aws-lambda-ric@4.0.2';

const RAPID_CLIENT = fileURLToPath(new URL('rapid-client.ts', import.meta.url));

/**
 * Installs AWS's runtime client, the program that loads a handler on Lambda, and returns its main file.
 *
 * It is not a devDependency, because its install script compiles curl. Its JavaScript is one bundled file, which needs no script.
 */
export async function installRuntimeClient(): Promise<string> {
  const folder = await cachedFolder(RUNTIME_CLIENT, async (draft) => {
    await promisify(execFile)('npm', [
      'install',
      '--prefix',
      draft,
      '--ignore-scripts',
      '--no-audit',
      RUNTIME_CLIENT,
    ]);
  });
  return join(folder, 'node_modules/aws-lambda-ric/index.mjs');
}

/** Runs a function in a process of its own, by AWS's runtime client. */
export function createRuntimeFunction(
  client: string,
  spec: FunctionSpec,
  clock: Clock,
  log: (line: LogLine) => void,
): LocalFunction {
  const { name, arn } = spec;
  const milliseconds = spec.timeoutSeconds * 1000 * clock.speed;
  let started: ReturnType<typeof start> | undefined;
  const start = async () => {
    const api = await startRuntimeApi({ arn, deadline: () => clock.now() + milliseconds });
    const process = startProcess(client, spec, clock, api.address);
    for (const stream of ['stdout', 'stderr'] as const) {
      createInterface({ input: process[stream] }).on('line', (text) => log({ function: name, stream, text }));
    }
    const exited = once(process, 'exit');
    void exited.then(([status]) => {
      const failure = functionFailure('Runtime.ExitError', `The runtime client exited with ${status}`);
      api.fail(new TaskError(failure));
    });
    return { api, process, exited };
  };
  return {
    name,
    arn,
    async invoke(event) {
      started ??= start();
      return (await started).api.invoke(event);
    },
    // No check kills a function.
    kill: async () => 0,
    async close() {
      if (!started) return;
      const { api, process, exited } = await started;
      process.kill();
      await exited;
      await api[Symbol.asyncDispose]();
    },
  };
}

function startProcess(client: string, spec: FunctionSpec, clock: ClockAnchor, address: string) {
  const { file, environment } = spec;
  return spawn(process.execPath, ['--import', RAPID_CLIENT, client], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...environment,
      _HANDLER: `${basename(file, '.cjs')}.handler`,
      LAMBDA_TASK_ROOT: dirname(file),
      AWS_LAMBDA_RUNTIME_API: address,
      AWS_LAMBDA_LOG_FORMAT: 'JSON',
      // The client does not start without these.
      AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
      AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${spec.name}`,
      AWS_LAMBDA_LOG_STREAM_NAME: 'local',
      CLOCK: JSON.stringify({ start: clock.start, speed: clock.speed, ahead: clock.ahead ?? 0 }),
    },
  });
}

/** The function whose runtime client calls this Runtime API. */
interface ServedFunction {
  readonly arn: string;
  /** Epoch ms at which an invocation that starts now times out. */
  readonly deadline: () => number;
}

/** Lambda's Runtime API, version 2018-06-01, for one function. */
interface RuntimeApi extends AsyncDisposable {
  /** Host and port. */
  readonly address: string;
  /** @throws TaskError with the `errorType` that the client reports, and the client's JSON as its cause */
  invoke(event: unknown): Promise<unknown>;
  /** Fails every invocation, because the client's process has ended or could not load the function. */
  fail(error: TaskError): void;
}

interface Invocation extends PromiseWithResolvers<unknown> {
  readonly event: string;
}

const PATH = /^\/2018-06-01\/runtime\/(init|invocation)\/([\w-]+)(?:\/(response|error))?$/;

async function startRuntimeApi({ arn, deadline }: ServedFunction): Promise<RuntimeApi> {
  const invocations = new Map<string, Invocation>();
  const queued: string[] = [];
  let idle: ServerResponse | undefined;
  let broken: TaskError | undefined;
  let count = 0;

  const sendNext = () => {
    const id = idle && queued.shift();
    if (!idle || id === undefined) return;
    idle.writeHead(200, {
      'lambda-runtime-aws-request-id': id,
      'lambda-runtime-deadline-ms': deadline(),
      'lambda-runtime-invoked-function-arn': arn,
      'lambda-runtime-trace-id': 'Root=1-00000000-000000000000000000000000;Sampled=0',
    });
    idle.end(invocations.get(id)?.event);
    idle = undefined;
  };
  const fail = (error: TaskError) => {
    broken = error;
    for (const { reject } of invocations.values()) reject(error);
    invocations.clear();
  };
  const receive = (id: string, isError: boolean, body: string) => {
    const invocation = invocations.get(id);
    invocations.delete(id);
    if (isError) invocation?.reject(toTaskError(body));
    else invocation?.resolve(JSON.parse(body));
  };

  const server = createServer(async (request, response) => {
    const [, resource, id = '', result] = PATH.exec(request.url ?? '') ?? [];
    if (resource === 'invocation' && id === 'next') {
      idle = response;
      return sendNext();
    }
    const body = await text(request);
    if (resource === 'init') fail(toTaskError(body));
    else receive(id, result === 'error', body);
    response.writeHead(202).end();
  });
  const { address, close } = await listenOnLoopback(server, 0);
  const invoke = (event: unknown) => {
    if (broken) return Promise.reject(broken);
    const id = `invocation-${++count}`;
    const invocation = { event: JSON.stringify(event), ...Promise.withResolvers<unknown>() };
    invocations.set(id, invocation);
    queued.push(id);
    sendNext();
    return invocation.promise;
  };
  return { address, invoke, fail, [Symbol.asyncDispose]: close };
}

/** Step Functions takes the Error from `errorType`, and the whole document as the Cause. */
function toTaskError(body: string): TaskError {
  return new TaskError({ error: String(JSON.parse(body).errorType), cause: body });
}
