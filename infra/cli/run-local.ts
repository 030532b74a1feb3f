import { type ClockAnchor, scaledClock } from '../local/clock.ts';
import { keepSaving } from '../local/history-file.ts';
import { type CredentialSource, startLocal } from '../local/run.ts';
import { startSandbox } from '../local/sandbox/sandbox.ts';
import { showProgress } from '../local/show-progress.ts';
import { configFaults } from './configured.ts';
import { exampleRequest } from './example.ts';
import { executionName } from './execution-name.ts';
import { outFaults, platformFaults } from './local-options.ts';
import { type Outcome, outcomeOf } from './outcome.ts';
import { checkRequest, onlyMissing, readInput, requestNamed } from './request-source.ts';
import type { RunOptions } from './run-options.ts';
import { INTERRUPTED, UsageError } from './usage.ts';

/** Ctrl-C, and what a scheduler or a container says: the history is written in either case. */
const STOPPED_BY = ['SIGINT', 'SIGTERM'] as const;

/** The platform that the run talks to, and what is needed to. */
interface PlatformHere extends AsyncDisposable {
  readonly baseUrl: string;
  readonly revision: string;
  readonly credential: CredentialSource;
}

/**
 * Runs the synthesized workflow on this machine, against the platform that the options name or a sandbox of its own.
 * Everything that can be wrong with the command line is said before anything is started.
 *
 * @returns undefined where a signal ended it
 */
export async function runLocal(name: string | undefined, options: RunOptions): Promise<Outcome | undefined> {
  const clock = scaledClock(options.speed);
  const { input, request, warnings } = await checkAll(name, options, new Date(clock.now()));
  for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`);

  await using platform = await createPlatformAccess(options, clock);
  await using local = await startLocal({
    ...platform,
    credentials: { [request.account]: platform.credential },
    out: options.out,
    clock,
  });
  await using _ = keepSaving(local.history);
  const execution = local.export(input, executionName(request, new Date(clock.now())));
  const abort = () => execution.abort();
  for (const signal of STOPPED_BY) process.once(signal, abort);
  await showProgress(execution, local, options.json ? process.stderr : process.stdout);
  const result = await execution.result;
  for (const signal of STOPPED_BY) process.off(signal, abort);
  if (result.status === 'ABORTED') {
    process.stderr.write(
      'Stopped. What was delivered stays; run it again with --only-missing for the rest.\n',
    );
    process.exitCode = INTERRUPTED;
    return undefined;
  }
  return outcomeOf({ name: execution.name, ...result });
}

/** The options and the request, their faults named together. */
async function checkAll(name: string | undefined, options: RunOptions, now: Date) {
  const faults = [...(await platformFaults(options)), ...(await outFaults(options.out)), ...configFaults()];
  try {
    const input = onlyMissing(await inputOf(name, options, now), options);
    const checked = checkRequest(input, now);
    if (faults.length === 0) return { input, ...checked };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    faults.push(...error.faults);
  }
  throw new UsageError([...new Set(faults)]);
}

async function inputOf(
  name: string | undefined,
  { input, baseUrl }: RunOptions,
  now: Date,
): Promise<unknown> {
  if (name !== undefined && input !== undefined) throw new UsageError(['give a name or --input, not both']);
  if (name !== undefined) return requestNamed(name);
  if (input !== undefined) return readInput(input);
  if (baseUrl !== undefined) throw new UsageError(['--base-url needs --input, or the name of an export']);
  return exampleRequest(now.toISOString().slice(0, 10));
}

async function createPlatformAccess(
  options: RunOptions,
  clock: ClockAnchor & { now(): number },
): Promise<PlatformHere> {
  const { baseUrl, revision, credential } = options;
  if (baseUrl !== undefined && revision !== undefined && credential !== undefined) {
    return { baseUrl, revision, credential: { file: credential }, async [Symbol.asyncDispose]() {} };
  }
  const sandbox = await startSandbox({ now: clock.now });
  const secret = { client_id: sandbox.clientId, client_secret: sandbox.clientSecret };
  return {
    baseUrl: sandbox.baseUrl,
    revision: sandbox.revision,
    credential: { text: JSON.stringify(secret) },
    [Symbol.asyncDispose]: () => sandbox.close(),
  };
}
