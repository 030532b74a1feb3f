import { Command } from 'commander';
import type { JsonObject } from '../../../../functions/workflow/json.ts';
import { isOfAccounts, joinRequests, requestsIn } from '../../../../functions/workflow/request/accounts.ts';
import type { AccountEnd } from '../../../../functions/workflow/states.ts';
import { findLocalRuns } from '../../days/local-runs.ts';
import { createStepFunctions, findExecution, hasEnded, readEnd } from '../../executions/deployed.ts';
import type { Outcome } from '../../executions/outcome.ts';
import { inputOf } from '../../place/check-request.ts';
import { UsageError } from '../../place/errors.ts';
import { loadConfig } from '../../place/load-config.ts';
import { type CommonOptions, examples, LOCAL_GROUP, option } from '../options.ts';
import { runLocal } from '../run/run-local.ts';
import { asConfigured } from './as-configured.ts';
import { startAndFollow } from './follow.ts';
import { printOutcome } from './print-outcome.ts';

export function createCommand(): Command {
  return new Command('resume')
    .argument('<execution>', 'the name of an execution that failed, was stopped or was killed')
    .addOption(option.json())
    .option('--local', 'finish a run of this machine')
    .addOption(option.out())
    .addOption(option.speed().helpGroup(LOCAL_GROUP))
    .addHelpText('after', examples('resume daily-campaigns-20261001-20261101-20261121T041500123Z'))
    .action(async (execution: string, options: CommonOptions & { readonly speed: number }) => {
      if (!options.local) return printOutcome(await resume(execution), options);
      const { outcome, finish } = await resumeLocal(execution, options);
      printOutcome(outcome, { ...options, finish });
    });
}

/**
 * Starts a new execution of the request, as it is configured now, for the days of an earlier one that no
 * report has delivered that was created since it began. Of several accounts, it takes the ones that are not
 * done. It creates new reports.
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
  const asked = JSON.parse(input) as JsonObject;
  const began_at = typeof asked.scheduled_at === 'string' ? asked.scheduled_at : startedAt;
  const done = new Set(
    accounts?.flatMap(({ account, outcome }) => (outcome === 'delivered' ? [account] : [])),
  );
  const requests = (requestsIn(asked) as JsonObject[]).filter(({ account }) => !done.has(String(account)));
  // A request with a `period` must cover the same days as in the earlier execution.
  const dated = requests.map((request) => ({ scheduled_at: startedAt, ...request }));
  const next = joinAs(dated.map(asConfigured), isOfAccounts(asked));
  return startAndFollow({ ...next, resumes: { execution, began_at } }, stateMachineArn, followEvery);
}

/** The same in a folder, where the objects of its runs tell what was asked for. */
async function resumeLocal(execution: string, options: CommonOptions & { readonly speed: number }) {
  const runs = await findLocalRuns(execution, options.out);
  const [first] = runs;
  if (!first)
    throw new UsageError([
      `${options.out} has no run ${execution} that did not finish; 'status --local' lists them`,
    ]);
  const requests = runs.map(({ request }) => asConfigured(inputOf(request) as JsonObject));
  const isOfSeveral = runs.some(({ parent }) => parent === execution);
  const request = { ...joinAs(requests, isOfSeveral), resumes: { execution, began_at: first.began_at } };
  return runLocal(undefined, { ...options, request });
}

function joinAs(requests: readonly JsonObject[], ofAccounts: boolean): JsonObject {
  return ofAccounts ? joinRequests(requests, loadConfig().max_accounts) : (requests[0] ?? {});
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
