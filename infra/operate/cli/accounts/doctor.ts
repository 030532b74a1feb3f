import { Command } from 'commander';
import { refuse } from '../../place/errors.ts';
import { loadConfig } from '../../place/load-config.ts';
import { readPlatformUrl } from '../../place/target-platform.ts';
import { FAILED } from '../exit-status.ts';
import { printDocument, printLines } from '../layout.ts';
import { option, platformFaults } from '../options.ts';
import { type AccountOptions, accountNameFaults, createAccount, neededScopes } from './account.ts';
import { type Check, diagnose, type Needs } from './diagnose.ts';

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
    ...(account === undefined ? [] : accountNameFaults(account, options)),
    ...(local ? await platformFaults(options, '--local', ['baseUrl', 'credential', 'revision']) : []),
  ]);
  const checks: Check[] = [];
  const url = options.baseUrl ?? (await readPlatformUrl());
  for (const name of accountsToCheck(options)) {
    await using opened = createAccount(name, options, url);
    for await (const check of diagnose(opened, readNeeds(name, options))) {
      checks.push({ account: name, ...check });
      if (!json) printLines(describeDiagnosis(name, check));
    }
  }
  const isFaulty = checks.some(({ status }) => status === 'fault');
  if (json) printDocument({ outcome: isFaulty ? 'fault' : 'ok', checks });
  if (isFaulty) process.exitCode = FAILED;
}

function accountsToCheck({ account, local }: DoctorOptions): readonly string[] {
  if (account !== undefined) return [account];
  return local ? ['local'] : Object.keys(loadConfig().accounts);
}

/** Columns for a terminal, with the advice on a second line. */
function describeDiagnosis(account: string, { check, status, description, todo }: Check): string[] {
  const line = `${status.padEnd(8)}${account}  ${check.padEnd(12)}${description}`;
  return todo === undefined ? [line] : [line, `${' '.repeat(8)}What to do: ${todo}`];
}

/** @param options may replace the revisions of the config */
function readNeeds(account: string, { revision }: DoctorOptions): Needs {
  const config = loadConfig();
  const exports = config.exports.filter((entry) => entry.account === account);
  const ofExports = exports.flatMap((entry) => (typeof entry.revision === 'string' ? entry.revision : []));
  return {
    revisions: revision === undefined ? [...new Set([config.revision, ...ofExports])] : [revision],
    scopes: neededScopes(account),
    advertiserIds: exports.flatMap(({ advertiser_ids: ids }) => (Array.isArray(ids) ? ids.map(String) : [])),
    refreshParameters: config.refresh_parameters ?? {},
  };
}
