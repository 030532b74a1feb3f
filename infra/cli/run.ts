import { Command } from 'commander';
import { ARN_OR_LOCAL, readStateMachineArn } from './deployment.ts';
import { repeatCommand, resumeCommand } from './next-command.ts';
import { examples, LOCAL_GROUP, option } from './options.ts';
import { isAtFault, type Outcome, printOutcome } from './outcome.ts';
import { findRequest, type RequestOptions } from './request.ts';
import { type LocalRunOptions, runLocal } from './run-local.ts';

interface RunOptions extends LocalRunOptions {
  readonly local?: true;
  readonly stateMachine?: string;
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
    .addOption(option.json())
    .addOption(option.stateMachine())
    .option('--local', 'run the workflow on this machine, without an AWS account')
    .optionsGroup(LOCAL_GROUP)
    .addOption(option.baseUrl(' (default: a sandbox on this machine)'))
    .addOption(option.credential())
    .addOption(option.revision())
    .option('--out <dir>', 'the folder for objects, events.jsonl and history.json', 'out')
    .addOption(option.speed())
    .option('--take-over', 'replace another request that the folder keeps under this name')
    .addHelpText(
      'after',
      [
        "\n'npm start' is 'run --local'. Without a name or --input, it exports an example.",
        examples(
          'run --local --speed 300',
          'run daily-campaigns --from 2026-10-01 --to 2026-11-01 --local --speed 300',
        ),
      ].join('\n'),
    )
    .action(run);
}

async function run(name: string | undefined, options: RunOptions): Promise<void> {
  if (options.local) return runAndPrintLocal(name, options);
  const outcome = await runDeployed(name, options);
  printOutcome(outcome, { ...options, root: 's3://', next: nextAfter(outcome, options) });
}

/** A request that is at fault has to be corrected, so its execution cannot be resumed. */
function nextAfter(outcome: Outcome, { stateMachine }: RunOptions): string {
  return isAtFault(outcome)
    ? repeatCommand({ onlyMissing: false })
    : resumeCommand(outcome.execution, stateMachine);
}

/** The last line is a query of what was exported. With --json, it goes to stderr. */
async function runAndPrintLocal(name: string | undefined, options: RunOptions): Promise<void> {
  const { outcome, query } = await runLocal(name, options);
  const next = repeatCommand({ onlyMissing: true });
  printOutcome(outcome, { ...options, root: `${options.out}/`, next });
  if (query !== undefined) (options.json ? process.stderr : process.stdout).write(`Query it:\n${query}\n`);
}

/** Starts the export in the deployed state machine and follows it. */
export async function runDeployed(
  name: string | undefined,
  options: RequestOptions & { readonly stateMachine?: string },
  followEvery?: number,
): Promise<Outcome> {
  const request = await findRequest(name, options);
  const arn = await readStateMachineArn(options.stateMachine, ARN_OR_LOCAL);
  // A local run needs no AWS SDK for Step Functions.
  const { startAndFollow } = await import('./follow.ts');
  return startAndFollow(request, arn, followEvery);
}
