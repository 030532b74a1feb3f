import assert from 'node:assert/strict';
import { CloudFormation } from '@aws-sdk/client-cloudformation';
import { paginateListObjectsV2, S3 } from '@aws-sdk/client-s3';
import { OUTPUTS } from '../../infra/stack/config/config.ts';
import type { AwsCli } from './aws-cli.ts';
import type { RehearsedConfig } from './config.ts';
import type { Names } from './names.ts';
import type { Observer } from './observer/observer.ts';
import type { Processes } from './processes.ts';
import type { Project } from './project.ts';
import type { Report } from './report.ts';
import type { Sessions } from './sessions.ts';
import type { Platform, Target } from './targets/target.ts';

/** What the steps of a rehearsal work with. */
export interface Stage {
  readonly target: Target;
  readonly names: Names;
  readonly processes: Processes;
  readonly aws: AwsCli;
  readonly sessions: Sessions;
  readonly report: Report;
  readonly present: Project;
  /** The project at an earlier commit. */
  readonly earlier: Project | undefined;
  readonly platform: Platform;
  readonly observer: Observer;
}

/** A stage with the stack of this checkout. */
export interface DeployedStage extends Stage {
  readonly config: RehearsedConfig;
  readonly outputs: Outputs;
}

export type Outputs = Readonly<Record<keyof typeof OUTPUTS, string>>;

const DAYS =
  'SELECT "date", count(*) AS n, sum(spend) AS spend FROM daily_campaigns GROUP BY "date" ORDER BY "date"';

export async function readDays(project: Project) {
  return (await project.read(['query', DAYS])).rows;
}

export async function countDays(project: Project, name: string) {
  return (await project.read(['missing', name])).counts;
}

export async function storeCredential({ platform }: Stage, project: Project, account: string) {
  await project.command(['secret', 'set', account], { stdin: JSON.stringify(platform.clientOf(account)) });
}

/** The outputs of a stack, by their names. */
export async function readStackOutputs(StackName: string): Promise<Record<string, string>> {
  const { Stacks: [stack] = [] } = await new CloudFormation().describeStacks({ StackName });
  const outputs = stack?.Outputs ?? [];
  return Object.fromEntries(outputs.map(({ OutputKey = '', OutputValue = '' }) => [OutputKey, OutputValue]));
}

/** The outputs of the rehearsed stack, by what they are. */
export async function readOutputs(stack: string): Promise<Outputs> {
  const values = await readStackOutputs(stack);
  const entries = Object.entries(OUTPUTS).map(([name, output]) => {
    const value = values[output];
    assert.ok(value, `The stack has no output ${output}.`);
    return [name, value];
  });
  return Object.fromEntries(entries);
}

const s3 = () => new S3({ forcePathStyle: true });

export async function listKeys(Bucket: string, Prefix = ''): Promise<string[]> {
  const keys: string[] = [];
  const pages = paginateListObjectsV2({ client: s3() }, { Bucket, Prefix });
  for await (const { Contents = [] } of pages) keys.push(...Contents.flatMap(({ Key }) => Key ?? []));
  return keys;
}

export async function emptyBucket(Bucket: string): Promise<void> {
  const keys = await listKeys(Bucket);
  assert.ok(keys.length > 0);
  for (const Key of keys) await s3().deleteObject({ Bucket, Key });
}

export async function readJson(Bucket: string, Key: string) {
  const { Body } = await s3().getObject({ Bucket, Key });
  return JSON.parse((await Body?.transformToString()) ?? '');
}

export function assertDelivered(...ends: readonly { readonly outcome: string }[]): void {
  for (const end of ends) assert.equal(end.outcome, 'delivered', JSON.stringify(end));
}
