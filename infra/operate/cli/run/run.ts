import { Command } from 'commander';
import type { Outcome } from '../../executions/outcome.ts';
import { readStateMachineArn } from '../../place/deployment.ts';
import { printOutcome } from '../executions/print-outcome.ts';
import { printLines, warn } from '../layout.ts';
import { LOCAL_GROUP, localOption, option, wholeNumber } from '../options.ts';
import type { LocalRunOptions } from './check-run.ts';
import { findRequest, type RequestOptions } from './find-request.ts';
import { runLocal } from './run-local.ts';

type RunOptions = LocalRunOptions & { readonly strict?: true };

export function createCommand(): Command {
  return new Command('run')
    .argument('[name]', 'an export in the config, with --local also in --out; without one, use --input')
    .option('--input <file>', 'the request, a JSON file; - reads standard input')
    .addOption(option.account('one account of the export (default: all)'))
    .addOption(option.from())
    .addOption(option.to())
    .addOption(option.period())
    .option('--only-missing', 'leave out windows that have no day to export')
    .option('--strict', 'end with status 3 if the table did not take a file that was delivered')
    .addOption(option.json())
    .option('--local', 'run the workflow on this machine, without an AWS account')
    .addOption(option.baseUrl(' (default: a sandbox on this machine)'))
    .addOption(option.credential('; {account} in its name stands for the account'))
    .addOption(option.revision())
    .addOption(option.out())
    .addOption(option.speed().helpGroup(LOCAL_GROUP))
    .addOption(
      localOption('--restated-days <n>', 'days of the sandbox grow n days long', wholeNumber(0, 9_999)),
    )
    .addOption(localOption('--daily <n>', 'run once for each of the last n days', wholeNumber(1, 999)))
    .addHelpText('after', '\nWith --local, and without a name or --input, it exports an example.')
    .action(run);
}

/** The last lines of a local run are a query and the page of the folder. With --json, they go to stderr. */
async function run(name: string | undefined, options: RunOptions): Promise<void> {
  if (!options.local) return printOutcome(await runDeployed(name, options), options);
  const { outcome, query, finish } = await runLocal(name, options);
  printOutcome(outcome, { ...options, finish });
  const page = outcome.outcome === 'interrupted' ? [] : await writePageOf(options.out);
  const lines = query === undefined ? page : ['Query it:', query, ...page];
  printLines(lines, options.json ? process.stderr : process.stdout);
}

/** @returns the line that names it; none if it could not be written, which changes nothing for the export */
async function writePageOf(out: string): Promise<string[]> {
  // A deployed export needs neither DuckDB nor a drawing.
  const { writePage } = await import('../page.ts');
  try {
    return [await writePage({ local: true, out })];
  } catch (error) {
    warn(`the page was not written: ${(error as Error).message.replace(/^error: /, '')}`);
    return [];
  }
}

export async function runDeployed(
  name: string | undefined,
  options: RequestOptions,
  followEvery?: number,
): Promise<Outcome> {
  const request = await findRequest(name, options);
  const arn = await readStateMachineArn();
  // A local run needs no AWS SDK for Step Functions.
  const { startAndFollow } = await import('../executions/follow.ts');
  return startAndFollow(request, arn, followEvery);
}
