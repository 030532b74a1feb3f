import { Command } from 'commander';
import { UsageError } from './errors.ts';
import { LOCAL_GROUP, localOnlyFaults, option } from './options.ts';
import { type Outcome, printOutcome } from './outcome.ts';
import { findConfiguredRequest, readRequest, withOnlyMissing } from './request.ts';
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
    .addHelpText('after', "\n'npm start' is 'run --local'. Without a name or --input, it exports an example.")
    .action(run);
}

async function run(name: string | undefined, options: RunOptions, command: Command): Promise<void> {
  const faults = localOnlyFaults(command);
  if (options.local && options.stateMachine) faults.push('--state-machine cannot be used with --local');
  if (faults.length > 0) throw new UsageError(faults);
  const outcome = await (options.local ? runLocal(name, options) : runDeployed(name, options));
  if (outcome) printOutcome(outcome, { ...options, root: options.local ? `${options.out}/` : 's3://' });
}

/**
 * Starts the export in the deployed state machine and follows it.
 *
 * @returns undefined if Ctrl-C ended the command; the execution continues
 */
export async function runDeployed(
  name: string | undefined,
  { input, onlyMissing, stateMachine }: Pick<RunOptions, 'input' | 'onlyMissing' | 'stateMachine'>,
  followEvery?: number,
): Promise<Outcome | undefined> {
  if ((name === undefined) === (input === undefined))
    throw new UsageError(['give the name of an export in cdk.json, or its request with --input']);
  const request = input === undefined ? findConfiguredRequest(name ?? '') : await readRequest(input);
  // A local run needs no AWS SDK for Step Functions.
  const { readStateMachineArn, startAndFollow } = await import('./deployed.ts');
  const arn = await readStateMachineArn(stateMachine);
  return startAndFollow(onlyMissing ? withOnlyMissing(request) : request, arn, followEvery);
}
