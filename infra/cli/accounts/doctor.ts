import { Command } from 'commander';
import { REPORTING, scopeOf } from '../../../functions/token/scope.ts';
import { EXPORTS_PREFIX } from '../../../functions/workflow/keys.ts';
import type { ConfiguredExport } from '../../config/config.ts';
import { openBucket } from '../../knowledge/bucket.ts';
import { loadConfig } from '../../knowledge/config.ts';
import { CommandFailed, explainStepError, UsageError } from '../../knowledge/errors.ts';
import { FAILED } from '../exit-status.ts';
import { printDocument, printLines } from '../layout.ts';
import { option, platformFaults } from '../options.ts';
import { type AccountOptions, accountFaults, createAccount } from './account.ts';
import { type Check, diagnose, fault, type Needs, ok, unknown } from './checks.ts';

interface DoctorOptions extends AccountOptions {
  readonly account?: string;
  readonly json?: true;
}

export function createDoctorCommand(): Command {
  return new Command('doctor')
    .option('--account <name>', 'the account (default: every account in cdk.json)')
    .addOption(option.json())
    .option('--local', 'use a credential file on this machine')
    .addOption(option.baseUrl())
    .addOption(option.credential())
    .addOption(option.revision())
    .action(doctor);
}

async function doctor(options: DoctorOptions): Promise<void> {
  const { account, local, json } = options;
  const faults = [
    ...(account === undefined ? [] : accountFaults(account, options)),
    ...(local ? await platformFaults(options, '--local', ['baseUrl', 'credential', 'revision']) : []),
  ];
  if (faults.length > 0) throw new UsageError(faults);
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
  const all = local ? ['local'] : loadConfig().accounts;
  const names = account === undefined ? all : [account];
  for (const name of names) {
    await using opened = await createAccount(name, options);
    for await (const check of diagnose(opened, readNeeds(name, options))) yield { account: name, ...check };
  }
  yield local ? unknown('bucket', 'not used with --local') : await checkBucket();
}

/** Reads from cdk.json what the account's exports will ask for. */
function readNeeds(account: string, { local, revision }: DoctorOptions): Needs {
  const config = loadConfig();
  const exports = config.exports.filter((entry) => entry.account === account);
  const revisions =
    local && revision !== undefined ? [revision] : [config.revision, ...stringsIn(exports, 'revision')];
  const scopes = exports.map(({ kind = 'report', resource }) =>
    scopeOf({ kind: String(kind), ...(typeof resource === 'string' && { resource }) }),
  );
  const advertiserIds = [...stringsIn(exports, 'advertiser_ids'), ...stringsIn(exports, 'advertiser_id')];
  return {
    revisions: [...new Set(revisions)],
    // The check of the revision needs it, as most exports do.
    scopes: [...new Set([REPORTING, ...scopes.filter((scope) => scope !== undefined)])],
    advertiserIds: [...new Set(advertiserIds)],
    refreshParameters: config.refresh_parameters ?? {},
  };
}

function stringsIn(exports: readonly ConfiguredExport[], field: string): string[] {
  return exports.flatMap((entry) => entry[field] ?? []).filter((value) => typeof value === 'string');
}

async function checkBucket(): Promise<Check> {
  try {
    await using bucket = await openBucket({ out: '' });
    await bucket.list(`${EXPORTS_PREFIX}account=/`);
    const found = `${bucket.bucket} exists; only a run shows whether SaveReport's role may write to it`;
    return ok('bucket', found);
  } catch (error) {
    if (error instanceof UsageError) return unknown('bucket', error.faults.join('; '));
    const failure = explainStepError(error);
    if (failure instanceof CommandFailed) return fault('bucket', failure.happened, failure.todo);
    throw error;
  }
}
