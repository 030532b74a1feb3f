import { readStateMachineArn } from './deployed-outputs.ts';
import { startAndFollow } from './follow.ts';
import type { Outcome } from './outcome.ts';
import { onlyMissing, readInput, requestNamed } from './request-source.ts';
import type { RunOptions } from './run-options.ts';
import { UsageError } from './usage.ts';

/**
 * Starts the export in the deployed state machine, and follows it.
 *
 * @returns undefined where Ctrl-C ended the following; the execution goes on
 */
export async function runDeployed(
  name: string | undefined,
  options: Pick<RunOptions, 'input' | 'stateMachine' | 'onlyMissing'>,
  followEvery?: number,
): Promise<Outcome | undefined> {
  const request = onlyMissing(await findRequest(name, options), options);
  return startAndFollow(request, await readStateMachineArn(options), followEvery);
}

async function findRequest(name: string | undefined, { input }: Pick<RunOptions, 'input'>): Promise<unknown> {
  if ((name === undefined) === (input === undefined)) {
    throw new UsageError(['name an export of the config, or give its request with --input']);
  }
  return input === undefined ? requestNamed(name ?? '') : readInput(input);
}
