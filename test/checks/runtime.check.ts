import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, vi } from 'vitest';
import { loadAssembly, prepareAssembly } from '../../infra/lab/local/assembly/assembly.ts';
import type { FunctionSpec } from '../../infra/lab/local/lambda/lambda.ts';
import { cachedFolder } from '../../infra/stack/cache.ts';
import { installForLambda } from '../../infra/stack/constructs/bundle.ts';
import { awsEnvironment, SETTINGS } from '../support/lambda.ts';
import { listen } from '../support/listen.ts';
import { NORMALIZED_REPORT } from '../support/requests.ts';
import { startTestS3, type TestS3 } from '../support/s3.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const RUNTIME_CLIENT = 'aws-lambda-ric@4.0.2';

const RAPID_CLIENT = fileURLToPath(new URL('rapid-client.ts', import.meta.url));

/**
 * Installs AWS's runtime client, the program that loads a handler on Lambda, and returns its main file.
 *
 * It is not a devDependency, because its install script compiles curl. Its JavaScript is one bundled file,
 * which needs no script.
 */
function installRuntimeClient(): string {
  const folder = cachedFolder(RUNTIME_CLIENT, (draft) => {
    const options = ['--prefix', draft, '--ignore-scripts', '--no-audit'];
    execFileSync('npm', ['install', ...options, RUNTIME_CLIENT]);
  });
  return join(folder, 'node_modules/aws-lambda-ric/index.mjs');
}

const client = installRuntimeClient();
const { functions } = loadAssembly(prepareAssembly());

/** Runs a function by the runtime client, and returns what it reports to the Runtime API about this event. */
async function invoke({ file, name, arn, environment }: FunctionSpec, event: object, s3?: TestS3) {
  const reported = Promise.withResolvers<{ result: string | undefined; body: unknown }>();
  const events = [JSON.stringify({ retry_count: 0, ...event })];
  await using api = await listen(({ method, path, body }, response) => {
    const next = method === 'GET' ? events.shift() : undefined;
    if (method === 'POST') reported.resolve({ result: path.split('/').at(-1), body: JSON.parse(body) });
    if (next === undefined) return;
    response.writeHead(200, {
      'lambda-runtime-aws-request-id': 'invocation-1',
      'lambda-runtime-deadline-ms': Date.now() + 60_000,
      'lambda-runtime-invoked-function-arn': arn,
      'lambda-runtime-trace-id': 'Root=1-00000000-000000000000000000000000;Sampled=0',
    });
    response.end(next);
  });
  const runtime = spawn(process.execPath, ['--import', RAPID_CLIENT, client], {
    stdio: 'ignore',
    env: {
      ...awsEnvironment(s3 ? { S3: s3.endpoint } : {}),
      ...environment,
      ...SETTINGS,
      STEP: environment.STEP,
      _HANDLER: `${basename(file, '.cjs')}.handler`,
      LAMBDA_TASK_ROOT: dirname(file),
      AWS_LAMBDA_RUNTIME_API: api.url.slice('http://'.length),
      AWS_LAMBDA_LOG_FORMAT: 'JSON',
      // The client does not start without these.
      AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
      AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${name}`,
      AWS_LAMBDA_LOG_STREAM_NAME: 'local',
    },
  });
  const exited = once(runtime, 'exit').then(([status]) => ({ result: 'exit', body: status }));
  const first = await Promise.race([reported.promise, exited]);
  runtime.kill();
  return first;
}

it.each(
  functions.map((spec) => [spec.environment.STEP, spec] as const),
)("%s: the bundle loads in AWS's runtime client, which reports its error by name", async (_, spec) => {
  const answer = await invoke(spec, { state: 'no state' });
  expect(answer).toMatchObject({ result: 'error', body: { errorType: '$ZodError' } });
});

it("PlanExport returns its plan through AWS's runtime client", async () => {
  const [spec] = functions.filter(({ environment }) => environment.STEP === 'PlanExport');
  if (!spec) throw new Error('There is no PlanExport');
  const state = { execution: 'e', started_at: '2026-11-21T06:00:00Z', request: NORMALIZED_REPORT };
  await using s3 = await startTestS3();
  const answer = await invoke(spec, { state }, s3);
  expect(answer).toMatchObject({ result: 'response', body: { windows: [expect.anything()] } });
});

/** npm looks for glibc in the script ldd, and then in a report of its Node. A Mac has neither. */
const HIDE_GLIBC = `
  import fs from 'node:fs';
  const { readFileSync } = fs;
  fs.readFileSync = (file, ...options) => readFileSync(file === '/usr/bin/ldd' ? '/absent' : file, ...options);
  process.report.getReport = () => ({ header: {}, sharedObjects: [] });`;

it('the packages for Lambda can be installed on a machine without glibc, such as a Mac or Alpine Linux', () => {
  vi.stubEnv('NODE_OPTIONS', `--import data:text/javascript,${encodeURIComponent(HIDE_GLIBC)}`);
  expect(installForLambda(temporaryDirectory())).toMatch(/node_modules$/);
});
