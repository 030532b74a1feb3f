import { Command } from 'commander';
import { describeOutcome, type Outcome } from './outcome.ts';
import { runDeployed } from './run-deployed.ts';
import { runLocal } from './run-local.ts';
import type { RunOptions } from './run-options.ts';
import { BAD_USAGE, DELIVERED, FAILED, parseSpeed, UsageError } from './usage.ts';

/** Options that mean something in the local run alone. */
const LOCAL_ONLY = ['baseUrl', 'credential', 'revision', 'out', 'speed'];

/** Starts an export and follows it to its end. */
export function runCommand(): Command {
  return new Command('run')
    .description('Starts an export and follows it to its end.')
    .argument('[name]', 'an export of the config in cdk.json, by its name (or use --input)')
    .option('--input <file>', 'the request as JSON; - reads standard input')
    .option('--json', 'print one JSON document on stdout, and all else on stderr')
    .option('--state-machine <arn>', "the deployed state machine (default: as 'npm run deploy' noted it)")
    .option('--local', 'run the workflow on this machine, without an AWS account')
    .optionsGroup('With --local:')
    .option('--base-url <url>', 'the platform (default: a sandbox of its own)')
    .option('--credential <file>', 'the credential secret as a file: {"client_id","client_secret"}')
    .option('--revision <date>', 'X-Service-Revision, YYYY-MM-DD')
    .option('--out <dir>', 'where the objects, events.jsonl and history.json go', 'out')
    .option('--speed <n>', 'times faster than real time, 1 to 1000', parseSpeed, 1)
    .action(run);
}

async function run(name: string | undefined, options: RunOptions, command: Command): Promise<void> {
  try {
    refuseMisplaced(options, command);
    const outcome = await (options.local ? runLocal(name, options) : runDeployed(name, options));
    if (!outcome) return;
    print(outcome, options);
    process.exitCode = outcome.outcome === 'delivered' ? DELIVERED : FAILED;
  } catch (error) {
    if (!(error instanceof UsageError) || !options.json) throw error;
    // Whoever reads JSON gets the faults as JSON too.
    process.stderr.write(`${error.message}\n`);
    process.stdout.write(
      `${JSON.stringify({ outcome: 'failed', error: 'InvalidInput', faults: error.faults })}\n`,
    );
    process.exitCode = BAD_USAGE;
  }
}

function refuseMisplaced(options: RunOptions, command: Command): void {
  const given = (option: string) => command.getOptionValueSource(option) === 'cli';
  const flag = (option: string) => `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  const misplaced = (options.local ? ['stateMachine'] : LOCAL_ONLY).filter(given).map(flag);
  const where = options.local ? 'cannot be used with --local' : 'can only be used with --local';
  if (misplaced.length > 0) throw new UsageError(misplaced.map((option) => `${option} ${where}`));
}

function print(outcome: Outcome, { json, local, out }: RunOptions): void {
  if (json) process.stdout.write(`${JSON.stringify(outcome)}\n`);
  else
    (outcome.outcome === 'delivered' ? process.stdout : process.stderr).write(
      `${describeOutcome(outcome, local ? `${out}/` : 's3://')}\n`,
    );
}
