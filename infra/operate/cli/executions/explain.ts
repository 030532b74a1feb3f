import { Command } from 'commander';
import prettyBytes from 'pretty-bytes';
import { count } from '../../../../functions/workflow/count.ts';
import { describeDays } from '../../../../functions/workflow/request/dates.ts';
import { duration } from '../../../lab/local/step-functions/progress.ts';
import { type ExplainedExecution, explainExecution, type WindowRun } from '../../executions/deployed.ts';
import { describeEnd, toMinute } from '../../executions/last-run.ts';
import { outcomeOf } from '../../executions/outcome.ts';
import { printDocument, printLines } from '../layout.ts';
import { type CommonOptions, examples, option } from '../options.ts';
import { describeOutcome } from './print-outcome.ts';

export function createCommand(): Command {
  return new Command('explain')
    .argument('<execution>', 'the name of an execution')
    .addOption(option.json())
    .addHelpText('after', examples('explain daily-campaigns-20261001-20261101-20261121T041500123Z'))
    .action(explain);
}

async function explain(execution: string, { json }: Pick<CommonOptions, 'json'>): Promise<void> {
  const { summary, end, windows, console } = await explainExecution(execution);
  const hasFailed = summary.outcome !== 'running' && summary.outcome !== 'delivered';
  const failed = hasFailed || end.accounts ? outcomeOf(end) : undefined;
  const { outcome: ending, ...failure } = failed ?? {};
  if (json) return printDocument({ ...summary, failure: ending && failure, windows, console });
  const paragraphs = [
    failed ? describeOutcome(failed, {}) : [],
    windows.map(describeWindow),
    [`Each state: ${console}`],
  ].filter((lines) => lines.length > 0);
  printLines([...describeSummary(summary), ...paragraphs.flatMap((lines) => ['', ...lines])]);
}

function describeSummary(summary: ExplainedExecution['summary']): string[] {
  const { execution, outcome, started_at, account, accounts, start_date, end_date } = summary;
  const facts = [
    account === undefined ? [] : `${account}/${summary.export}`,
    accounts === undefined ? [] : `${summary.export} of ${count(accounts, 'account')}`,
    start_date === undefined || end_date === undefined ? [] : describeDays({ start_date, end_date }),
    `began ${toMinute(started_at)} UTC`,
    describeTime(summary),
  ];
  return [`${outcome.replace('_', ' ')}  ${execution}`, facts.flat().join(', ')];
}

function describeWindow(run: WindowRun): string {
  const { window, rows, bytes } = run;
  const facts = [
    `${describeDays(window)}  ${describeEnd(run)}`,
    rows === undefined ? [] : count(rows, 'row'),
    bytes === undefined ? [] : prettyBytes(bytes),
    describeTime(run),
  ];
  return facts.flat().join(', ');
}

function describeTime({ outcome, seconds }: Pick<WindowRun, 'outcome' | 'seconds'>): string {
  return `${outcome === 'running' ? 'so far' : 'took'} ${duration(seconds * 1_000)}`;
}
