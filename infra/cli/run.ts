import { Command } from 'commander';
import { endWith } from './end-with.ts';
import { runDeployed } from './run-deployed.ts';
import { runLocal } from './run-local.ts';
import type { RunOptions } from './run-options.ts';
import { parseSpeed, UsageError } from './usage.ts';

/** Options that mean something in the local run alone. */
const LOCAL_ONLY = ['baseUrl', 'credential', 'revision', 'out', 'speed'];

/** Starts an export and follows it to its end. */
export function runCommand(): Command {
  return new Command('run')
    .description('Starts an export and follows it to its end.')
    .argument('[name]', 'an export of the config in cdk.json, by its name (or use --input)')
    .option('--input <file>', 'the request as JSON; - reads standard input')
    .option('--only-missing', 'leave out the windows that were delivered before for the same request')
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
  const { json, local, out } = options;
  await endWith({ json, root: local ? `${out}/` : 's3://' }, async () => {
    refuseMisplaced(options, command);
    return options.local ? runLocal(name, options) : runDeployed(name, options);
  });
}

function refuseMisplaced(options: RunOptions, command: Command): void {
  const given = (option: string) => command.getOptionValueSource(option) === 'cli';
  const flag = (option: string) => `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  const misplaced = (options.local ? ['stateMachine'] : LOCAL_ONLY).filter(given).map(flag);
  const where = options.local ? 'cannot be used with --local' : 'can only be used with --local';
  if (misplaced.length > 0) throw new UsageError(misplaced.map((option) => `${option} ${where}`));
}
