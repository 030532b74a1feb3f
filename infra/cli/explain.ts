import { Command } from 'commander';
import { DOING, duration, size } from '../local/progress.ts';
import { ARN_OR_LOCAL, readStateMachineArn } from './deployment.ts';
import { UsageError } from './errors.ts';
import { describeEnd, type RecordedExecution, readLocal, readWindows, type WindowRun } from './executions.ts';
import { printDocument, printLines, toMinute } from './layout.ts';
import { resumeCommand } from './next-command.ts';
import { examples, LOCAL_GROUP, option } from './options.ts';
import { describeOutcome, isAtFault, type Outcome, outcomeOf } from './outcome.ts';
import { describeTimeline } from './timeline.ts';

interface ExplainOptions {
  readonly json?: true;
  readonly stateMachine?: string;
  readonly local?: true;
  readonly out: string;
}

export function createExplainCommand(): Command {
  return new Command('explain')
    .description('Show why an execution failed, how long each of its windows took, and what it did when.')
    .argument('[execution]', 'the name of an execution (default: the one that began last)')
    .addOption(option.json())
    .addOption(option.stateMachine())
    .option('--local', 'explain a run of this machine')
    .optionsGroup(LOCAL_GROUP)
    .addOption(option.out())
    .addHelpText(
      'after',
      examples(
        'explain',
        'explain daily-campaigns-20261001-20261101-20261121T041500123Z --json',
        'explain --local --out out',
      ),
    )
    .action(explain);
}

async function explain(execution: string | undefined, options: ExplainOptions): Promise<void> {
  const details = options.local
    ? await readLocal(options.out, execution)
    : await findDeployed(execution, options.stateMachine);
  const failure = readFailure(details);
  if (options.json) {
    const timeline = describeTimeline(details.events);
    printDocument({ ...details.summary, failure, windows: readWindows(details), timeline });
  } else printLines(describeExecution(details, failure, options));
}

/** @param named default: the execution that began last */
async function findDeployed(
  named: string | undefined,
  stateMachine: string | undefined,
): Promise<RecordedExecution> {
  const deployed = await import('./deployed.ts');
  let execution = named;
  if (execution === undefined) {
    const [newest] = await deployed.listDeployed(await readStateMachineArn(stateMachine, ARN_OR_LOCAL), 1);
    if (!newest) throw new UsageError(['nothing has run yet']);
    execution = newest.execution;
  }
  return deployed.readDeployed(await deployed.findExecution(execution, stateMachine, ARN_OR_LOCAL));
}

type Failure = Omit<Extract<Outcome, { outcome: 'failed' }>, 'outcome'>;

function readFailure({ summary, end }: RecordedExecution): Failure | undefined {
  if (isUnderWay(summary) || summary.outcome === 'delivered') return undefined;
  const { outcome: _, ...failure } = outcomeOf(end) as Failure & { outcome: 'failed' };
  return failure;
}

function describeExecution(
  details: RecordedExecution,
  failure: Failure | undefined,
  { local, out }: Pick<ExplainOptions, 'local' | 'out'>,
): string[] {
  const { summary, events } = details;
  const { execution, outcome, seconds, started_at, ended_at, account, start_date, end_date } = summary;
  const took = isUnderWay(summary) ? 'so far' : 'took';
  const facts = [
    account === undefined ? [] : `${account}/${summary.export}`,
    start_date === undefined ? [] : `${start_date} to ${end_date}`,
    started_at === undefined ? `ended ${toMinute(ended_at ?? '')} UTC` : `began ${toMinute(started_at)} UTC`,
    seconds === undefined ? [] : `${took} ${duration(seconds * 1_000)}`,
  ].flat();
  const next = local ? `repeat the command with --only-missing --out ${out}` : resumeCommand(execution);
  const paragraphs = [
    [`${outcome.replace('_', ' ')}  ${execution}`, facts.join(', ')],
    outcome === 'unfinished' ? [`It was killed. To go on, ${next}.`] : [],
    failure ? describeFailure(failure, local ? `${out}/` : 's3://', next) : [],
    readWindows(details).map(describeWindow),
    describeTimeline(events),
    events.length === 0 && local ? ['A later run replaced its history in history.json.'] : [],
  ];
  return paragraphs
    .filter((lines) => lines.length > 0)
    .flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]));
}

function describeFailure(failure: Failure, root: string, next: string): string[] {
  const failed: Outcome = { outcome: 'failed', ...failure };
  return describeOutcome(failed, { root, next: isAtFault(failed) ? undefined : next });
}

function describeWindow(run: WindowRun): string {
  const { window, outcome, error, rows, bytes, seconds, waited_seconds = 0, state = '' } = run;
  const doing = isUnderWay(run) ? (DOING[state as keyof typeof DOING] ?? state) : undefined;
  const facts = [
    `${window.start_date} to ${window.end_date}  ${describeEnd({ outcome, error: error ?? doing })}`,
    rows === undefined ? [] : `${rows} rows`,
    bytes === undefined ? [] : size(bytes),
    seconds === undefined ? [] : `${isUnderWay(run) ? 'so far' : 'took'} ${duration(seconds * 1_000)}`,
    waited_seconds < 1 ? [] : `waited its turn ${duration(waited_seconds * 1_000)}`,
  ];
  return facts.flat().join(', ');
}

function isUnderWay({ outcome }: { readonly outcome: string }): boolean {
  return outcome === 'running' || outcome === 'unfinished';
}
