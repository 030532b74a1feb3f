import { HeadBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { Command } from 'commander';
import { REPORTING, scopeOf } from '../../../functions/token/scope.ts';
import type { ConfiguredExport } from '../../config/config.ts';
import { type AccountOptions, accountFaults, createAccount } from '../account.ts';
import { OUTPUTS_FILE, readDeployedPlace, readOutput } from '../deployment.ts';
import { FAILED, UsageError } from '../errors.ts';
import { printDocument, printLines } from '../layout.ts';
import { examples, LOCAL_GROUP, loadConfig, option, platformFaults } from '../options.ts';
import { type Check, diagnose, fault, type Needs, ok, unknown } from './checks.ts';

interface DoctorOptions extends AccountOptions {
  readonly account?: string;
  readonly json?: true;
}

/** Of the lines below a check's first one. */
const INDENT = ' '.repeat(8);

/** The account's name in a local diagnosis without --account. */
const UNNAMED = 'local';

export function createDoctorCommand(): Command {
  return new Command('doctor')
    .description(
      'Check credential, token, scopes, revision, advertisers and bucket, without creating a report.',
    )
    .option('--account <name>', 'the account (default: every account in cdk.json)')
    .addOption(option.json())
    .option('--local', 'use a credential file on this machine')
    .optionsGroup(LOCAL_GROUP)
    .addOption(option.baseUrl())
    .addOption(option.credential())
    .addOption(option.revision())
    .addHelpText(
      'after',
      examples(
        'doctor',
        'doctor --account acme --json',
        'doctor --local --base-url http://127.0.0.1:8080 --credential credential.json --revision 2026-09-01',
      ),
    )
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
  return todo === undefined ? [line] : [line, `${INDENT}What to do: ${todo}`];
}

async function* diagnoseAll(options: DoctorOptions): AsyncGenerator<Check, void> {
  const { account, local } = options;
  const names = account === undefined ? (local ? [UNNAMED] : loadConfig().accounts) : [account];
  for (const name of names) {
    await using opened = await createAccount(name, options);
    for await (const check of diagnose(opened, readNeeds(name, options))) yield { account: name, ...check };
  }
  yield local ? unknown('bucket', 'not used with --local') : await checkDeployedBucket();
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

async function checkDeployedBucket(): Promise<Check> {
  const bucket = await readOutput('bucket');
  if (bucket === undefined)
    return unknown('bucket', `${OUTPUTS_FILE} names no bucket`, "Run 'npm run deploy' from this checkout.");
  const { region, awsAccount } = await readDeployedPlace();
  const s3 = new S3Client({ ...(region && { region }) });
  try {
    return await checkBucket(s3, bucket, awsAccount);
  } finally {
    s3.destroy();
  }
}

/** @param owner the AWS account that must own the bucket */
export async function checkBucket(s3: S3Client, bucket: string, owner: string | undefined): Promise<Check> {
  try {
    await s3.send(new HeadBucketCommand({ Bucket: bucket, ...(owner && { ExpectedBucketOwner: owner }) }));
    return ok('bucket', `${bucket} exists; only a run shows whether SaveReport's role may write to it`);
  } catch (error) {
    const { name, $metadata } = error as Error & { $metadata?: { httpStatusCode?: number } };
    const status = $metadata?.httpStatusCode;
    if (status === 404) return fault('bucket', `${bucket} does not exist`, "Run 'npm run deploy'.");
    if (status === 403)
      return fault(
        'bucket',
        `access to ${bucket} is denied, or another AWS account owns it`,
        "Use credentials of the stack's AWS account with s3:ListBucket.",
      );
    return unknown('bucket', `${bucket}: ${name}`, 'Check your AWS credentials and Region.');
  }
}
