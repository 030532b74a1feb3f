import { Command } from 'commander';
import { scopeOf } from '../../functions/token/scope.ts';
import { isCalendarDate } from '../../functions/workflow/request/dates.ts';
import type { ConfiguredExport } from '../config.ts';
import { configHere } from './configured.ts';
import { openTarget, type Target, type TargetOptions, targetFaults } from './credential/target.ts';
import { checkAdvertisers } from './doctor/advertisers.ts';
import { checkDeployedBucket } from './doctor/bucket.ts';
import { type Check, describeCheck, type Needs, unknown } from './doctor/check.ts';
import { checkCredential } from './doctor/credential.ts';
import { checkRevision } from './doctor/revision.ts';
import { FAILED, UsageError } from './usage.ts';

interface Options extends TargetOptions {
  readonly account?: string;
  readonly revision?: string;
  readonly json?: true;
}

/** Stands for the account of a local run that does not name one. */
const UNNAMED = 'local';

/** What the revision is asked for with, and most exports need (contract 5.3). */
const REPORTING = 'reporting:read';

/** Checks what an export needs, before one is run. Creates no report and prints no secret. */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description('Checks secret, token, scopes, revision, advertisers and bucket; creates no report.')
    .option('--account <name>', 'one account (default: all of the config)')
    .option('--json', 'print one JSON document on stdout')
    .option('--local', 'the credential is a file of this machine')
    .optionsGroup('With --local:')
    .option('--base-url <url>', 'the platform')
    .option('--credential <file>', 'the credential secret as a file')
    .option('--revision <date>', 'X-Service-Revision, YYYY-MM-DD')
    .action(runDoctor);
}

async function runDoctor(options: Options): Promise<void> {
  const faults = [...(await targetFaults(options.account, options)), ...revisionFaults(options)];
  if (faults.length > 0) throw new UsageError(faults);
  const checks: Check[] = [];
  for await (const check of diagnoseAll(options)) {
    checks.push(check);
    if (!options.json) process.stdout.write(`${describeCheck(check)}\n`);
  }
  const outcome = checks.some(({ status }) => status === 'fault') ? 'fault' : 'ok';
  if (options.json) process.stdout.write(`${JSON.stringify({ outcome, checks })}\n`);
  if (outcome === 'fault') process.exitCode = FAILED;
}

function revisionFaults({ local, revision }: Options): string[] {
  if (!local) return revision === undefined ? [] : ['--revision can only be used with --local'];
  if (revision === undefined) return ['--local needs --revision'];
  return isCalendarDate(revision) ? [] : [`--revision ${revision} is not a date, YYYY-MM-DD`];
}

async function* diagnoseAll(options: Options): AsyncGenerator<Check, void> {
  const { account, local } = options;
  const accounts = local ? [account ?? UNNAMED] : account === undefined ? configHere().accounts : [account];
  for (const name of accounts) {
    await using target = await openTarget(name, options);
    for await (const check of diagnose(target, needsOf(name, options))) yield { account: name, ...check };
  }
  yield local ? unknown('bucket', 'not used with --local') : await checkDeployedBucket();
}

/** One account, from its secret to its advertisers; where a thing is missing, what needs it is not looked at. */
export async function* diagnose(
  target: Target,
  needs: Needs,
  now: Date = new Date(),
): AsyncGenerator<Check, void> {
  const authorized = yield* checkCredential(target, needs, now);
  if (!authorized) return;
  const accepted: string[] = [];
  for (const revision of needs.revisions) {
    const check = await checkRevision(target.platform, authorized.authorization, revision);
    if (check.status === 'ok') accepted.push(revision);
    yield check;
  }
  const [revision] = accepted;
  if (revision === undefined) return;
  yield* checkAdvertisers({ ...target.platform, revision }, authorized, needs.advertiserIds);
}

/** The pinned revision and those that the account's exports name instead, and what else they name. */
function needsOf(account: string, { local, revision }: Options): Needs {
  const config = configHere();
  const exports = config.exports.filter((entry) => entry.account === account);
  const revisions =
    local && revision !== undefined ? [revision] : [config.revision, ...strings(exports, 'revision')];
  const scopes = exports.map(({ kind = 'report', resource }) =>
    scopeOf({ kind: String(kind), ...(typeof resource === 'string' && { resource }) }),
  );
  return {
    revisions: [...new Set(revisions)],
    scopes: [...new Set([REPORTING, ...scopes.filter((scope) => scope !== undefined)])],
    advertiserIds: [
      ...new Set([...strings(exports, 'advertiser_ids'), ...strings(exports, 'advertiser_id')]),
    ],
    refreshParameters: config.refresh_parameters ?? {},
  };
}

function strings(exports: readonly ConfiguredExport[], field: string): string[] {
  return exports.flatMap((entry) => entry[field] ?? []).filter((value) => typeof value === 'string');
}
