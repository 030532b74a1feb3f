import { Command } from 'commander';
import type { AccountEnd } from '../../../functions/workflow/states.ts';
import { UsageError } from '../../knowledge/errors.ts';
import {
  createStepFunctions,
  findExecution,
  hasEnded,
  readEnd,
} from '../../knowledge/executions/deployed.ts';
import type { Outcome } from '../../knowledge/executions/outcome.ts';
import { type CommonOptions, examples, option } from '../options.ts';
import { startAndFollow } from './follow.ts';
import { printOutcome } from './outcome.ts';

export function createCommand(): Command {
  return new Command('resume')
    .argument('<execution>', 'the name of an execution that failed or was stopped')
    .addOption(option.json())
    .addHelpText('after', examples('resume daily-campaigns-20261001-20261101-20261121T041500123Z'))
    .action(async (execution: string, options: Pick<CommonOptions, 'json'>) => {
      printOutcome(await resume(execution), options);
    });
}

/**
 * Starts a new execution of the same request for the windows that were not delivered since the earlier one
 * began. Of several accounts, it takes those that failed, or all if no account is known to have ended. It
 * creates new reports.
 *
 * @throws UsageError if there is nothing to resume
 * @throws CommandFailed if AWS refuses a call
 */
export async function resume(execution: string, followEvery?: number): Promise<Outcome> {
  const earlier = await findExecution(execution);
  const { status, stateMachineArn = '', input = '', startDate = new Date() } = earlier;
  if (!hasEnded(earlier))
    throw new UsageError([`${execution} is still running (${status}); wait until it ends, or stop it`]);
  const { accounts } = await readEnd(createStepFunctions(stateMachineArn), earlier);
  if (status === 'SUCCEEDED') throw new UsageError(nothingToResume(execution, accounts));
  const startedAt = startDate.toISOString();
  // A request with a `period` must cover the same days as in the earlier execution.
  const request = { scheduled_at: startedAt, ...JSON.parse(input) };
  const only_missing = request.only_missing || startedAt;
  const failed = accounts?.flatMap((each) => (each.outcome === 'failed' ? [each.account] : []));
  const rest = failed && {
    accounts: request.accounts.filter(({ account }: AccountEnd) => failed.includes(account)),
  };
  return startAndFollow({ ...request, only_missing, ...rest }, stateMachineArn, followEvery);
}

/** An account that is `repeated` was exported, or not, by an execution that had been started before. */
function nothingToResume(execution: string, accounts: readonly AccountEnd[] = []): string[] {
  const repeated = accounts.filter(({ outcome }) => outcome === 'repeated');
  if (repeated.length === 0)
    return [`${execution} has delivered everything; to export everything again, use 'run'`];
  return repeated.map(
    ({ account, execution: before }) =>
      `${execution} exported nothing of ${account}, because ${before} had been started before: explain or resume that one`,
  );
}
