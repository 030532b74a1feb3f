import { Command } from 'commander';
import { duration } from '../../local/step-functions/progress.ts';
import { readStateMachineArn } from '../deployment.ts';
import { alignColumns, printDocument, printLines, toMinute } from '../layout.ts';
import { type CommonOptions, option, wholeNumber } from '../options.ts';
import { daysIn, describeEnd, type ExecutionSummary, listLocal } from './executions.ts';

interface ListOptions extends CommonOptions {
  readonly limit: number;
}

/** Each execution is one call of DescribeExecution, of which AWS allows 250 at once. */
const MAX_LIMIT = 100;

export function createListCommand(): Command {
  return new Command('list')
    .option('--limit <n>', 'how many that have ended', wholeNumber(1, MAX_LIMIT), 20)
    .addOption(option.json())
    .option('--local', 'show the runs of this machine')
    .addOption(option.out())
    .action(list);
}

async function list(options: ListOptions): Promise<void> {
  const executions = await listExecutions(options, options.limit);
  if (options.json) printDocument({ outcome: 'ok', executions });
  else printLines(describeExecutions(executions));
}

/** Newest first. @param limit of those that have ended */
export async function listExecutions(
  { local, out }: Omit<CommonOptions, 'json'>,
  limit: number,
): Promise<ExecutionSummary[]> {
  if (local) return (await listLocal(out)).slice(0, limit);
  const { listDeployed } = await import('./deployed.ts');
  return listDeployed(await readStateMachineArn(), limit);
}

function describeExecutions(executions: readonly ExecutionSummary[]): string[] {
  if (executions.length === 0) return ['Nothing has run yet.'];
  const rows = executions.map((one) => [
    one.ended_at === undefined || one.started_at !== undefined
      ? toMinute(one.started_at ?? '')
      : `ended ${toMinute(one.ended_at)}`,
    describeEnd(one),
    one.seconds === undefined ? '' : duration(one.seconds * 1_000),
    one.export === undefined ? '' : `${one.account}/${one.export}`,
    daysIn(one) ?? '',
    one.execution,
  ]);
  return alignColumns([['began (UTC)', 'outcome', 'took', 'export', 'days', 'execution'], ...rows]);
}
