import assert from 'node:assert/strict';
import { CloudFormation } from '@aws-sdk/client-cloudformation';
import { paginateListObjectsV2, S3 } from '@aws-sdk/client-s3';
import { OUTPUTS } from '../../infra/stack/config/config.ts';

/** Those of a stack whose platform is not the sandbox. */
const { sandboxUrl: _ofSandbox, ...EXPECTED_OUTPUTS } = OUTPUTS;

export type Outputs = Readonly<Record<keyof typeof EXPECTED_OUTPUTS, string>>;

/** The outputs of a stack, by their names. */
export async function readStackOutputs(StackName: string): Promise<Record<string, string>> {
  const { Stacks: [stack] = [] } = await new CloudFormation().describeStacks({ StackName });
  const outputs = stack?.Outputs ?? [];
  return Object.fromEntries(outputs.map(({ OutputKey = '', OutputValue = '' }) => [OutputKey, OutputValue]));
}

/** The outputs of the rehearsed stack, by what they are. */
export async function readOutputs(stack: string): Promise<Outputs> {
  const values = await readStackOutputs(stack);
  const entries = Object.entries(EXPECTED_OUTPUTS).map(([name, output]) => {
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
