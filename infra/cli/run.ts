import { createInterface } from 'node:readline/promises';
import { Command } from 'commander';
import { CommandFailed, UsageError } from './errors.ts';
import { describeInput } from './executions.ts';
import { warn } from './layout.ts';
import { repeatCommand, resumeCommand } from './next-command.ts';
import { examples, LOCAL_GROUP, localOnlyFaults, option } from './options.ts';
import { isAtFault, type Outcome, printOutcome } from './outcome.ts';
import { describePlan, planRequest, printPlan } from './plan.ts';
import { findRequest, withOnlyMissing } from './request.ts';
import { type LocalRunOptions, runLocal } from './run-local.ts';

/** On a terminal, an export that creates more reports asks first. */
const ASK_ABOVE = 20;

interface RunOptions extends LocalRunOptions {
  readonly local?: true;
  readonly stateMachine?: string;
  readonly plan?: true;
  readonly yes?: true;
}

export function createRunCommand(): Command {
  return new Command('run')
    .description('Start an export and follow it until it ends.')
    .argument('[name]', 'an export in cdk.json; without one, use --input')
    .option('--input <file>', 'the request, a JSON file; - reads standard input')
    .addOption(option.account())
    .addOption(option.from())
    .addOption(option.to())
    .option('--only-missing', 'leave out windows that the same request has already delivered')
    .option('--plan', 'only show what would be done')
    .option('--yes', `do not ask before an export of more than ${ASK_ABOVE} reports`)
    .addOption(option.json())
    .addOption(option.stateMachine())
    .option('--local', 'run the workflow on this machine, without an AWS account')
    .optionsGroup(LOCAL_GROUP)
    .addOption(option.baseUrl(' (default: a sandbox on this machine)'))
    .addOption(option.credential())
    .addOption(option.revision())
    .option('--out <dir>', 'the folder for objects, events.jsonl and history.json', 'out')
    .addOption(option.speed())
    .addHelpText(
      'after',
      [
        "\n'npm start' is 'run --local'. Without a name or --input, it exports an example.",
        examples(
          'run --local --speed 300',
          'run daily-campaigns --from 2026-10-01 --to 2026-11-01 --local --speed 300',
          'run daily-campaigns --plan --local',
        ),
      ].join('\n'),
    )
    .action(run);
}

async function run(name: string | undefined, options: RunOptions, command: Command): Promise<void> {
  const faults = localOnlyFaults(command);
  if (options.local && options.stateMachine) faults.push('--state-machine cannot be used with --local');
  if (faults.length > 0) throw new UsageError(faults);
  if (options.plan) return showPlan(name, options);
  if (options.local) return runAndPrintLocal(name, options);
  const outcome = await runDeployed(name, options);
  if (outcome) printOutcome(outcome, { ...options, root: 's3://', next: nextAfter(outcome, options) });
}

/** A request that is at fault has to be corrected, so its execution cannot be resumed. */
function nextAfter(outcome: Outcome, { stateMachine }: RunOptions): string {
  return isAtFault(outcome)
    ? repeatCommand({ onlyMissing: false })
    : resumeCommand(outcome.execution, stateMachine);
}

/** The last line is a query of what was exported. With --json, it goes to stderr. */
async function runAndPrintLocal(name: string | undefined, options: RunOptions): Promise<void> {
  const { outcome, query } = (await runLocal(name, options)) ?? {};
  const next = repeatCommand({ onlyMissing: true });
  if (outcome) printOutcome(outcome, { ...options, root: `${options.out}/`, next });
  if (query !== undefined) (options.json ? process.stderr : process.stdout).write(`Query it:\n${query}\n`);
}

async function showPlan(name: string | undefined, options: RunOptions): Promise<void> {
  const request = await findRequest(name, options);
  const plan = await planRequest(options.onlyMissing ? withOnlyMissing(request) : request, options);
  printPlan(plan, options);
}

/**
 * Starts the export in the deployed state machine and follows it.
 *
 * @returns undefined if the user declined
 */
export async function runDeployed(
  name: string | undefined,
  options: Pick<RunOptions, 'input' | 'from' | 'to' | 'onlyMissing' | 'stateMachine' | 'json' | 'yes'>,
  followEvery?: number,
): Promise<Outcome | undefined> {
  const found = await findRequest(name, options);
  const request = options.onlyMissing ? withOnlyMissing(found) : found;
  // A local run needs no AWS SDK for Step Functions.
  const { ARN_OR_LOCAL, readStateMachineArn, startAndFollow } = await import('./deployed.ts');
  const arn = await readStateMachineArn(options.stateMachine, ARN_OR_LOCAL);
  await warnIfBusy(request, arn);
  if (!(await isConfirmed(request, options))) return undefined;
  return startAndFollow(request, arn, followEvery);
}

/**
 * Other executions may run at the same time, and all of them deliver. But each keeps up to `max_parallel` reports in flight, and two
 * executions of one export create its reports twice.
 */
async function warnIfBusy(request: unknown, stateMachineArn: string): Promise<void> {
  const { account, export: name } = describeInput(request, new Date());
  if (account === undefined) return;
  const { listRunning } = await import('./deployed-executions.ts');
  try {
    const running = await listRunning(stateMachineArn);
    const others = running.filter((other) => other.account === account && other.outcome === 'running');
    const same = others.filter((other) => other.export === name);
    const names = (same.length > 0 ? same : others).map(({ execution }) => execution).join(', ');
    if (same.length > 0) warn(`the export ${name} of account ${account} is already running: ${names}`);
    else if (others.length > 0) warn(`another export of account ${account} is running: ${names}`);
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    warn(`${error.happened} Other exports of account ${account} may be running.`);
  }
}

/** Asks a person, and nobody else. */
async function isConfirmed(
  request: unknown,
  { json, yes }: Pick<RunOptions, 'json' | 'yes'>,
): Promise<boolean> {
  if (json || yes || !process.stdin.isTTY || !process.stderr.isTTY) return true;
  const plan = await planRequest(request, { out: '' });
  if (plan.reports <= ASK_ABOVE) return true;
  process.stderr.write(`${describePlan(plan).join('\n')}\n`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`Create ${plan.reports} reports? [y/N] `);
  terminal.close();
  return /^y(es)?$/i.test(answer.trim());
}
