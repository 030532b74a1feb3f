import { Command, InvalidArgumentError } from 'commander';
import { duration } from '../local/progress.ts';
import { ARN_OR_LOCAL, readStateMachineArn } from './deployment.ts';
import { describeEnd, type ExecutionSummary, listLocal } from './executions.ts';
import { alignColumns, printDocument, printLines, toMinute } from './layout.ts';
import { examples, LOCAL_GROUP, option } from './options.ts';

interface ListOptions {
  readonly limit: number;
  readonly json?: true;
  readonly stateMachine?: string;
  readonly local?: true;
  readonly out: string;
}

const DEFAULT_LIMIT = 20;

/** Each execution is one call of DescribeExecution, of which AWS allows ten a second. */
const MAX_LIMIT = 1_000;

export function createListCommand(): Command {
  return new Command('list')
    .description('Show the executions that are running and those that ran last, newest first.')
    .option('--limit <n>', `how many that have ended, 1 to ${MAX_LIMIT}`, parseLimit, DEFAULT_LIMIT)
    .addOption(option.json())
    .addOption(option.stateMachine())
    .option('--local', 'show the runs of this machine')
    .optionsGroup(LOCAL_GROUP)
    .addOption(option.out())
    .addHelpText('after', examples('list', 'list --limit 5 --json', 'list --local'))
    .action(list);
}

function parseLimit(text: string): number {
  const limit = Number(text);
  if (/^\d+$/.test(text) && limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw new InvalidArgumentError(`It must be a number from 1 to ${MAX_LIMIT}.`);
}

async function list(options: ListOptions): Promise<void> {
  const executions = await readExecutions(options);
  if (options.json) printDocument({ outcome: 'ok', executions });
  else printLines(describeExecutions(executions));
}

async function readExecutions({ local, out, stateMachine, limit }: ListOptions): Promise<ExecutionSummary[]> {
  if (local) return (await listLocal(out)).slice(0, limit);
  const { listDeployed } = await import('./deployed.ts');
  return listDeployed(await readStateMachineArn(stateMachine, ARN_OR_LOCAL), limit);
}

function describeExecutions(executions: readonly ExecutionSummary[]): string[] {
  if (executions.length === 0) return ['Nothing has run yet.'];
  const rows = executions.map((one) => [
    toMinute(one.started_at ?? one.ended_at ?? ''),
    describeEnd(one),
    one.seconds === undefined ? '' : duration(one.seconds * 1_000),
    one.export === undefined ? '' : `${one.account}/${one.export}`,
    one.start_date === undefined ? '' : `${one.start_date} to ${one.end_date}`,
    one.execution,
  ]);
  return alignColumns([['UTC', 'outcome', 'took', 'export', 'days', 'execution'], ...rows]);
}
