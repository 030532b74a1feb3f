import { Command } from 'commander';
import { loadConfig } from '../../knowledge/config.ts';
import { refuse } from '../../knowledge/errors.ts';
import { FAILED } from '../exit-status.ts';
import { printDocument, printLines } from '../layout.ts';
import { option, platformFaults } from '../options.ts';
import { type AccountOptions, accountFaults, createAccount, neededScopes } from './account.ts';
import { type Check, diagnose, type Needs } from './checks.ts';

interface DoctorOptions extends AccountOptions {
  readonly account?: string;
  readonly json?: true;
}

export function createCommand(): Command {
  return new Command('doctor')
    .option('--account <name>', 'the account (default: every account in the config)')
    .addOption(option.json())
    .option('--local', 'use a credential file on this machine')
    .addOption(option.baseUrl())
    .addOption(option.credential())
    .addOption(option.revision())
    .action(doctor);
}

async function doctor(options: DoctorOptions): Promise<void> {
  const { account, local, json } = options;
  refuse([
    ...(account === undefined ? [] : accountFaults(account, options)),
    ...(local ? await platformFaults(options, '--local', ['baseUrl', 'credential', 'revision']) : []),
  ]);
  const checks: Check[] = [];
  for await (const check of diagnoseAll(options)) {
    checks.push(check);
    if (!json) printLines(describeCheck(check));
  }
  const outcome = checks.some(({ status }) => status === 'fault') ? 'fault' : 'ok';
  if (json) printDocument({ outcome, checks });
  if (outcome === 'fault') process.exitCode = FAILED;
}

/** Columns for a terminal, with the advice on a second line. */
function describeCheck({ account = '', check, status, found, todo }: Check): string[] {
  const line = `${status.padEnd(8)}${account ? `${account}  ` : ''}${check.padEnd(12)}${found}`;
  return todo === undefined ? [line] : [line, `${' '.repeat(8)}What to do: ${todo}`];
}

async function* diagnoseAll(options: DoctorOptions): AsyncGenerator<Check, void> {
  const { account, local } = options;
  const all = local ? ['local'] : Object.keys(loadConfig().accounts);
  const names = account === undefined ? all : [account];
  for (const name of names) {
    await using opened = await createAccount(name, options);
    for await (const check of diagnose(opened, readNeeds(name, options))) yield { account: name, ...check };
  }
}

/** Reads from the config what the account's exports will ask for. */
function readNeeds(account: string, { local, revision }: DoctorOptions): Needs {
  const config = loadConfig();
  const exports = config.exports.filter((entry) => entry.account === account);
  const revisions =
    local && revision !== undefined
      ? [revision]
      : [
          config.revision,
          ...exports.flatMap((entry) => (typeof entry.revision === 'string' ? entry.revision : [])),
        ];
  return {
    revisions: [...new Set(revisions)],
    scopes: neededScopes(account),
    refreshParameters: config.refresh_parameters ?? {},
  };
}
