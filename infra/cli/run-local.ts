import { once } from 'node:events';
import { type ClockAnchor, scaledClock } from '../local/clock.ts';
import { type CredentialSource, startLocal } from '../local/run.ts';
import { startSandbox } from '../local/sandbox/sandbox.ts';
import { exampleRequest } from './example.ts';
import { executionName } from './execution-name.ts';
import { platformFaults } from './local-options.ts';
import { type Outcome, outcomeOf } from './outcome.ts';
import { checkRequest, readInput } from './request-source.ts';
import type { RunOptions } from './run.ts';
import { requestNamed } from './run-deployed.ts';
import { INTERRUPTED, UsageError } from './usage.ts';

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
 * @returns undefined where Ctrl-C ended it
 */
export async function runLocal(name: string | undefined, options: RunOptions): Promise<Outcome | undefined> {
  const faults = await platformFaults(options);
  if (faults.length > 0) throw new UsageError(faults);
  const clock = scaledClock(options.speed);
  const input = await inputOf(name, options, clock.now());
  const { request, warnings } = checkRequest(input, new Date(clock.now()));
  for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`);

  await using platform = await openPlatform(options, clock);
  await using local = await startLocal({
    ...platform,
    credentials: { [request.account]: platform.credential },
    out: options.out,
    clock,
  });
  const execution = local.export(input, executionName(request, new Date(clock.now())));
  const interrupted = once(process, 'SIGINT').then(() => execution.abort());
  void interrupted;
  const result = await execution.result;
  if (result.status === 'ABORTED') {
    process.stderr.write('Stopped. What was delivered stays; run it again for the rest.\n');
    process.exitCode = INTERRUPTED;
    return undefined;
  }
  return outcomeOf({ name: execution.name, ...result });
}

function inputOf(name: string | undefined, { input }: RunOptions, now: number): Promise<unknown> | unknown {
  if (name !== undefined && input !== undefined) throw new UsageError(['give a name or --input, not both']);
  if (name !== undefined) return requestNamed(name);
  return input === undefined ? exampleRequest(new Date(now).toISOString().slice(0, 10)) : readInput(input);
}

async function openPlatform(
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
