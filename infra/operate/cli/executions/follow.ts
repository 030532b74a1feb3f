import { setTimeout as wait } from 'node:timers/promises';
import type { SFN } from '@aws-sdk/client-sfn';
import { count } from '../../../../functions/workflow/count.ts';
import { isOfAccounts } from '../../../../functions/workflow/request/accounts.ts';
import { commandFor } from '../../days/next-command.ts';
import { createStepFunctions, hasEnded, readEnd } from '../../executions/deployed.ts';
import { type Outcome, outcomeOf } from '../../executions/outcome.ts';
import { checkRequests } from '../../place/check-request.ts';
import { configuredNameFaults } from '../../place/configured-name.ts';
import { CommandFailed, refuse } from '../../place/errors.ts';
import { catchInterrupt } from '../interrupt.ts';
import { warn } from '../layout.ts';
import { executionName, futureFaults } from '../run/find-request.ts';

/** DescribeExecution costs nothing, and an export takes minutes. */
const FOLLOW_EVERY_MS = 5_000;

/**
 * Starts an execution and follows it until it ends.
 *
 * @throws UsageError if the request has a fault; nothing is started
 * @throws CommandFailed if AWS refuses to start it or to describe it
 */
export async function startAndFollow(
  request: unknown,
  stateMachineArn: string,
  followEvery = FOLLOW_EVERY_MS,
): Promise<Outcome> {
  const now = new Date();
  const { requests, warnings } = checkRequests(request, now);
  const future = new Set(requests.flatMap((request) => futureFaults(request, now)));
  refuse([...future, ...configuredNameFaults(requests, now)]);
  for (const warning of warnings) warn(warning);
  const sfn = createStepFunctions(stateMachineArn);
  const input = JSON.stringify(request);
  const name = executionName(requests[0], now);
  const { executionArn = '' } = await sfn.startExecution({ stateMachineArn, name, input });
  process.stderr.write(`started ${executionArn}\n`);
  return followExecution(sfn, executionArn, followEvery, isOfAccounts(request) ? requests.length : undefined);
}

/** @param accounts of an export of several, whose executions have the progress */
async function followExecution(
  sfn: SFN,
  executionArn: string,
  every: number,
  accounts: number | undefined,
): Promise<Outcome> {
  using interrupt = catchInterrupt();
  const { signal } = interrupt;
  const execution = executionArn.split(':').at(-1) ?? '';
  const next = commandFor(['explain', execution]);
  let shown = '';
  try {
    for (;;) {
      // At first, Step Functions may not know a new execution yet.
      await wait(every, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return { outcome: 'interrupted', version: '1', execution, continues: true, next };
      const described = await sfn.describeExecution({ executionArn });
      if (hasEnded(described)) return outcomeOf(await readEnd(sfn, described));
      const progress = accounts
        ? `exporting ${count(accounts, 'account')}`
        : await describeProgress(sfn, executionArn);
      if (progress !== shown) process.stderr.write(`${new Date().toISOString()} ${progress}\n`);
      shown = progress;
    }
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    const todo = `${error.todo} The export continues without this command. To follow it: ${next}`;
    throw new CommandFailed(error.happened, todo, { cause: error.cause });
  }
}

async function describeProgress(sfn: SFN, executionArn: string): Promise<string> {
  const { mapRuns = [] } = await sfn.listMapRuns({ executionArn });
  const mapRunArn = mapRuns[0]?.mapRunArn;
  if (!mapRunArn) return 'planning';
  const { itemCounts: counts } = await sfn.describeMapRun({ mapRunArn });
  return `${counts?.succeeded ?? 0} of ${count(counts?.total ?? 0, 'window')} done, ${counts?.running ?? 0} running`;
}
