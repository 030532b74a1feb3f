import { Command } from 'commander';
import {
  daysIn,
  describeEnd,
  type ExecutionSummary,
  toMinute,
} from '../../knowledge/executions/executions.ts';
import { listExecutions } from '../../knowledge/executions/list.ts';
import { duration } from '../../local/step-functions/progress.ts';
import { alignColumns, printDocument, printLines } from '../layout.ts';
import { type CommonOptions, option, wholeNumber } from '../options.ts';

interface ListOptions extends CommonOptions {
  readonly limit: number;
}

/** Each execution is one call of DescribeExecution, of which AWS allows 250 at once. */
const MAX_LIMIT = 100;

export function createCommand(): Command {
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
