import { join } from 'node:path';
import { Command } from 'commander';
import prettyBytes from 'pretty-bytes';
import { describeDays } from '../../../functions/workflow/request/dates.ts';
import { UsageError } from '../../knowledge/errors.ts';
import {
  daysIn,
  describeEnd,
  type ExplainedExecution,
  isUnderWay,
  toMinute,
  type WindowRun,
} from '../../knowledge/executions/executions.ts';
import { listExecutions } from '../../knowledge/executions/list.ts';
import { readLocal } from '../../knowledge/executions/local.ts';
import { adviseLocally, type Outcome, outcomeOf } from '../../knowledge/executions/outcome.ts';
import { missingCommand, resumeCommand } from '../../knowledge/next-command.ts';
import { lastPlatform } from '../../knowledge/platform.ts';
import { DOING, duration } from '../../local/step-functions/progress.ts';
import { printDocument, printLines } from '../layout.ts';
import { type CommonOptions, examples, option } from '../options.ts';
import { describeOutcome } from './outcome.ts';

export function createCommand(): Command {
  return new Command('explain')
    .argument('[execution]', 'the name of an execution (default: the one that began last)')
    .addOption(option.json())
    .option('--local', 'explain a run of this machine')
    .addOption(option.out())
    .addHelpText('after', examples('explain daily-campaigns-20261001-20261101-20261121T041500123Z'))
    .action(explain);
}

/** @param named default: the execution that began last */
async function explain(named: string | undefined, options: CommonOptions): Promise<void> {
  const execution = named ?? (await listExecutions(options, 1))[0]?.execution;
  if (execution === undefined) throw new UsageError(['nothing has run yet']);
  const details = options.local ? await readLocal(options.out, execution) : await explainDeployed(execution);
  const failed = await readFailure(details, options);
  if (!options.json) return printLines(describeExecution(details, failed, options));
  const { outcome: ending, ...failure } = failed ?? {};
  const { summary, windows, console } = details;
  printDocument({ ...summary, failure: ending && failure, windows, console });
}

async function explainDeployed(execution: string): Promise<ExplainedExecution> {
  const { findExecution, readDeployed } = await import('../../knowledge/executions/deployed.ts');
  return readDeployed(await findExecution(execution));
}

async function readFailure(
  details: ExplainedExecution,
  { local, out }: CommonOptions,
): Promise<Outcome | undefined> {
  const { summary, end } = details;
  if (isUnderWay(summary) || summary.outcome === 'delivered') return undefined;
  if (!local) return outcomeOf(end);
  const failure = outcomeOf(end, nextLocal(details, out));
  if (failure.outcome !== 'failed') return failure;
  return adviseLocally(failure, { ...(await lastPlatform(out)), account: summary.account ?? '', out });
}

/** The history keeps the command of its run only; `missing` prints one for the days of an earlier run. */
function nextLocal({ next, summary }: ExplainedExecution, out: string): string {
  return (
    next ?? missingCommand({ name: summary.export ?? '', account: summary.account }, { local: true, out })
  );
}

function describeExecution(
  details: ExplainedExecution,
  failure: Outcome | undefined,
  { local, out }: CommonOptions,
): string[] {
  const { summary } = details;
  const { execution, outcome, seconds, started_at, ended_at, account } = summary;
  const took = isUnderWay(summary) ? 'so far' : 'took';
  const facts = [
    account === undefined ? [] : `${account}/${summary.export}`,
    daysIn(summary) ?? [],
    started_at === undefined ? [] : `began ${toMinute(started_at)} UTC`,
    started_at === undefined && ended_at !== undefined ? `ended ${toMinute(ended_at)} UTC` : [],
    seconds === undefined ? [] : `${took} ${duration(seconds * 1_000)}`,
  ].flat();
  const next = local ? nextLocal(details, out) : resumeCommand(execution);
  const paragraphs = [
    [`${outcome.replace('_', ' ')}  ${execution}`, ...(facts.length > 0 ? [facts.join(', ')] : [])],
    outcome === 'unfinished'
      ? ['It is still running, or it was killed. If it was killed, export the rest:', `  ${next}`]
      : [],
    failure ? describeOutcome(failure, { root: local ? `${out}/` : 's3://', next }) : [],
    details.windows.map(describeWindow),
    [describeStates(details, out)],
  ];
  return paragraphs
    .filter((lines) => lines.length > 0)
    .flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]));
}

/** Names the place that has each state with its input and output. */
function describeStates({ console, recorded }: ExplainedExecution, out: string): string {
  if (console !== undefined) return `Each state: ${console}`;
  return recorded
    ? `Each state: ${join(out, 'history.json')}`
    : 'history.json does not have its states: a later run replaced it, or the disk was full.';
}

function describeWindow(run: WindowRun): string {
  const { window, outcome, error, rows, bytes, seconds, state } = run;
  const doing = DOING[state as keyof typeof DOING] ?? state;
  const facts = [
    `${describeDays(window)}  ${describeEnd({ outcome, error: error ?? doing })}`,
    rows === undefined ? [] : `${rows} rows`,
    bytes === undefined ? [] : prettyBytes(bytes),
    seconds === undefined ? [] : `${isUnderWay(run) ? 'so far' : 'took'} ${duration(seconds * 1_000)}`,
  ];
  return facts.flat().join(', ');
}
