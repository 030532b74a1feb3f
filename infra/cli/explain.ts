import { Command } from 'commander';
import { failureKey } from '../../functions/workflow/keys.ts';
import type { FailureReport } from '../../functions/workflow/states.ts';
import { DOING } from '../local/progress.ts';
import { duration, size } from '../local/show-progress.ts';
import { UsageError } from './errors.ts';
import type { ExecutionDetails, Step, WindowRun } from './executions.ts';
import { printLines, screenWidth, toMinute, wrap, wrapList } from './layout.ts';
import { resumeCommand } from './next-command.ts';
import { examples, LOCAL_GROUP, localOnlyFaults, option } from './options.ts';
import { describeOutcome, isAtFault, type Outcome, outcomeOf, type Place } from './outcome.ts';

interface ExplainOptions {
  readonly json?: true;
  readonly stateMachine?: string;
  readonly local?: true;
  readonly out: string;
}

export function createExplainCommand(): Command {
  return new Command('explain')
    .description('Show why an execution failed, or what each of its windows waited for and how long.')
    .argument('[execution]', 'the name or ARN of an execution (default: the one that began last)')
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

async function explain(
  execution: string | undefined,
  options: ExplainOptions,
  command: Command,
): Promise<void> {
  const faults = localOnlyFaults(command);
  if (faults.length > 0) throw new UsageError(faults);
  const details = await readDetails(execution, options);
  const failure = readFailure(details);
  if (options.json) {
    const { summary, steps, windows } = details;
    process.stdout.write(`${JSON.stringify({ ...summary, ...(failure && { failure }), steps, windows })}\n`);
  } else printLines(describeDetails(details, failure, options));
}

async function readDetails(
  execution: string | undefined,
  { local, out, stateMachine }: ExplainOptions,
): Promise<ExecutionDetails> {
  if (local) return (await import('./local-executions.ts')).readLocal(out, execution);
  const deployment = await import('./deployed.ts');
  const deployed = await import('./deployed-executions.ts');
  const name =
    execution ??
    (await deployed.findNewest(await deployment.readStateMachineArn(stateMachine, deployment.ARN_OR_LOCAL)));
  const description = await deployed.describeExecution(
    await deployed.findExecutionArn(name, stateMachine, deployment.ARN_OR_LOCAL),
  );
  if (description.mapRunArn !== undefined)
    throw new UsageError([`${name} exports one window of an export; explain the export itself`]);
  return deployed.readDeployed(description);
}

type Failed = Extract<Outcome, { outcome: 'failed' }>;
type Failure = Omit<Failed, 'outcome'> & Partial<Omit<FailureReport, keyof Failed>>;

function readFailure({ summary, end }: ExecutionDetails): Failure | undefined {
  if (isUnderWay(summary) || summary.outcome === 'delivered') return undefined;
  const { outcome: _, ...failure } = outcomeOf(end) as Failed;
  return failure;
}

function describeDetails(
  details: ExecutionDetails,
  failure: Failure | undefined,
  { local, out }: Pick<ExplainOptions, 'local' | 'out'>,
): string[] {
  const { summary, steps, windows } = details;
  const { execution, outcome, seconds, started_at, ended_at, account, start_date, end_date } = summary;
  const began = started_at ?? ended_at ?? '';
  const isOver = !isUnderWay(summary);
  const next = local ? `repeat the command with --only-missing --out ${out}` : resumeCommand(execution);
  return [
    `${outcome.replace('_', ' ')}  ${execution}`,
    ...wrapList([
      ...(account === undefined ? [] : [`${account}/${summary.export}`]),
      ...(start_date === undefined ? [] : [`${start_date} to ${end_date}`]),
      `${started_at === undefined ? 'ended' : 'began'} ${toMinute(began)} UTC`,
      ...(seconds === undefined ? [] : [`${isOver ? 'took' : 'so far'} ${duration(seconds * 1_000)}`]),
    ]),
    ...(outcome === 'unfinished' ? wrap(`It was killed. To go on, ${next}.`) : []),
    ...(failure
      ? ['', ...describeFailure(failure, details, { root: local ? `${out}/` : 's3://', next })]
      : []),
    ...(steps.length > 0 ? ['', ...wrapList(['the export itself:', ...describeSteps(steps)])] : []),
    ...(windows.length > 0 ? ['', ...windows.flatMap(describeWindow)] : []),
    ...(steps.length === 0 && local
      ? [
          '',
          ...wrap('A later run replaced its history in history.json: its start and its waits are not known.'),
        ]
      : []),
  ];
}

function describeFailure(failure: Failure, { summary }: ExecutionDetails, { root, next }: Place): string[] {
  const { account, export: name, start_date, end_date } = summary;
  const failed: Outcome = { outcome: 'failed', ...failure };
  // Failure reports of earlier releases do not say where they are.
  const isStored = failure.runbook !== undefined && !isAtFault(failed);
  const key =
    isStored && account && name && start_date && end_date
      ? failureKey({ account, name }, { start_date, end_date })
      : undefined;
  const outcome = { ...(key !== undefined && { key }), ...failed };
  const place = { root, next: isAtFault(failed) ? undefined : next };
  return describeOutcome(outcome, place, screenWidth()).split('\n');
}

function describeWindow(run: WindowRun): string[] {
  const { window, outcome, error, rows, bytes, seconds, waited_seconds = 0, steps } = run;
  const last = steps.at(-1);
  const detail = error ?? (last && isUnderWay(run) ? wordsFor(last) : undefined);
  const ended = detail === undefined ? outcome.replace('_', ' ') : `${outcome}: ${detail}`;
  const turn = { state: 'waits its turn', seconds: waited_seconds, times: 1 };
  const states = describeSteps([...(waited_seconds >= 1 ? [turn] : []), ...steps]);
  return [
    ...wrapList([
      `${window.start_date} to ${window.end_date}  ${ended}`,
      ...(rows === undefined ? [] : [`${rows} rows`]),
      ...(bytes === undefined ? [] : [size(bytes)]),
      ...(seconds === undefined ? [] : [duration(seconds * 1_000)]),
    ]),
    ...wrapList(states.map((text, index) => (index === 0 ? `  ${text}` : text))),
  ];
}

function isUnderWay({ outcome }: { readonly outcome: string }): boolean {
  return outcome === 'running' || outcome === 'unfinished';
}

function wordsFor({ state }: Step): string {
  return DOING[state as keyof typeof DOING] ?? state;
}

/** States with the same words, such as those of a report's wait and of its checks, are added up. */
function describeSteps(steps: readonly Step[]): string[] {
  return [...Map.groupBy(steps, wordsFor)].map(([doing, same]) => {
    const seconds = same.reduce((sum, step) => sum + step.seconds, 0);
    const times = Math.max(...same.map((step) => step.times));
    const tries = Math.max(...same.map((step) => step.tries ?? 0));
    const counts = [
      ...(times > 1 ? [`${times} times`] : []),
      ...(tries > 0 ? [`${tries} tries`] : []),
      ...same.flatMap(({ last_error }) => (last_error === undefined ? [] : [`last ${last_error}`])),
    ].join(', ');
    return `${doing} ${duration(seconds * 1_000)}${counts && ` (${counts})`}`;
  });
}
