import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { fetchPackage } from '../../infra/fetch-package.ts';
import type { Clock, ClockAnchor } from '../../infra/local/clock.ts';
import type { LocalFunction } from '../../infra/local/lambda.ts';
import type { FunctionSpec, LogLine } from '../../infra/local/lambda-instance.ts';
import { functionFailure, TaskError } from '../../infra/local/task-error.ts';
import { startRuntimeApi } from './runtime-api.ts';

const RUNTIME_CLIENT = {
  name: 'aws-lambda-ric',
  version: '4.0.2',
  integrity:
    'sha512-FE5Vskx7mYNnqAnWWJXUOsLp2VGgdsJsCoRLFTa8L4Yk0QVtArqR8q58yPA++QC1a73ZWJXBQ2AH31nIAv7NOQ==',
};

const RAPID_CLIENT = fileURLToPath(new URL('rapid-client.ts', import.meta.url));

/**
 * Downloads AWS's runtime client, the program that loads a handler on Lambda, and returns its main file.
 *
 * It is not a devDependency, because its install script compiles curl. Its JavaScript is one bundled file, so the tarball alone is
 * enough.
 */
export async function installRuntimeClient(): Promise<string> {
  return join(await fetchPackage(RUNTIME_CLIENT), 'index.mjs');
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
    ...{ name, arn },
    get started() {
      return started ? 1 : 0;
    },
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
  const { file, exportName, environment } = spec;
  return spawn(process.execPath, ['--import', RAPID_CLIENT, client], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...environment,
      _HANDLER: `${basename(file, '.cjs')}.${exportName}`,
      LAMBDA_TASK_ROOT: dirname(file),
      AWS_LAMBDA_RUNTIME_API: address,
      AWS_LAMBDA_LOG_FORMAT: 'JSON',
      CLOCK: JSON.stringify({ start: clock.start, speed: clock.speed, ahead: clock.ahead ?? 0 }),
    },
  });
}
