import { CloudFormation } from '@aws-sdk/client-cloudformation';
import { S3 } from '@aws-sdk/client-s3';
import { SecretsManager } from '@aws-sdk/client-secrets-manager';
import { until } from './until.ts';

/** Names of what an AWS account has, by kind. */
export interface Inventory {
  readonly stacks: readonly string[];
  readonly buckets: readonly string[];
  readonly secrets: readonly string[];
}

export interface Remnant {
  readonly kind: 'stack' | 'bucket' | 'secret';
  readonly name: string;
}

/**
 * Everything of a rehearsal, in the order in which it can be removed: the observer has roles with policies of
 * the rehearsed stack, which reads the sandbox's URL. The bucket and credentials of a stack outlive it.
 *
 * @param stack the name with which the names of a rehearsal begin
 */
export function listRemnants(inventory: Inventory, stack: string): Remnant[] {
  const isOurs = (name: string) =>
    name === stack || [`${stack}-`, `${stack}/`].some((start) => name.startsWith(start));
  const of = (kind: Remnant['kind'], names: readonly string[]) =>
    names.filter(isOurs).map((name) => ({ kind, name }));
  const stacks = inventory.stacks.filter(isOurs).toSorted((first, second) => rankOf(first) - rankOf(second));
  return [...of('stack', stacks), ...of('bucket', inventory.buckets), ...of('secret', inventory.secrets)];
}

/** A lower one is removed first. */
function rankOf(stack: string): number {
  if (stack.endsWith('-observer')) return 0;
  return stack.endsWith('-platform') ? 2 : 1;
}

/** A line for a person, who has to remove it. */
export function describeRemnant({ kind, name }: Remnant, why: string): string {
  return `The ${kind} ${name} is still there: ${why}`;
}

/** An AWS account, as far as something is removed from it. */
export interface Account {
  readonly takeInventory: () => Promise<Inventory>;
  readonly remove: (remnant: Remnant) => Promise<void>;
}

const AWS: Account = { takeInventory, remove: ({ kind, name }) => REMOVE[kind](name) };

/**
 * Removes everything of a rehearsal, also if something of it cannot be removed. What stacks leave is known
 * when they are deleted.
 *
 * @returns what remains, a line each
 */
export async function removeAll(stack: string, { takeInventory, remove }: Account = AWS): Promise<string[]> {
  const remains: string[] = [];
  const removeInTurn = async (remnants: readonly Remnant[]) => {
    for (const remnant of remnants)
      await remove(remnant).catch((error: Error) => {
        remains.push(describeRemnant(remnant, error.message));
      });
  };
  const isStack = ({ kind }: Remnant) => kind === 'stack';
  await removeInTurn(listRemnants(await takeInventory(), stack).filter(isStack));
  await removeInTurn(listRemnants(await takeInventory(), stack).filter((remnant) => !isStack(remnant)));
  return remains;
}

async function takeInventory(): Promise<Inventory> {
  const [stacks, { Buckets = [] }, secrets] = await Promise.all([
    Array.fromAsync(new CloudFormation().paginateListStacks({})),
    new S3({ forcePathStyle: true }).listBuckets({}),
    Array.fromAsync(new SecretsManager().paginateListSecrets({})),
  ]);
  const there = stacks
    .flatMap(({ StackSummaries = [] }) => StackSummaries)
    .filter(({ StackStatus }) => StackStatus !== 'DELETE_COMPLETE');
  return {
    stacks: there.flatMap(({ StackName }) => StackName ?? []),
    buckets: Buckets.flatMap(({ Name }) => Name ?? []),
    secrets: secrets.flatMap(({ SecretList = [] }) => SecretList.flatMap(({ Name }) => Name ?? [])),
  };
}

/** Deletes a stack, and waits until it is gone. @throws Error with CloudFormation's reason */
export async function removeStack(StackName: string): Promise<void> {
  const client = new CloudFormation();
  const read = async () => {
    const { Stacks: [stack] = [] } = await client.describeStacks({ StackName }).catch((error: Error) => {
      if (/does not exist/.test(error.message)) return { Stacks: [] };
      throw error;
    });
    return stack;
  };
  const { StackId } = (await read()) ?? {};
  // An interrupted deployment goes on in CloudFormation, which deletes no stack meanwhile.
  const isQuiet = async () => !/_IN_PROGRESS$/.test((await read())?.StackStatus ?? '');
  await until(`nothing happens to the stack ${StackName}`, isQuiet, 30);
  await client.deleteStack({ StackName });
  const isOver = async () => {
    const { StackStatus = 'DELETE_COMPLETE', StackStatusReason } = (await read()) ?? {};
    if (StackStatus === 'DELETE_FAILED') throw new Error(StackStatusReason ?? `${StackId} was not deleted`);
    return StackStatus === 'DELETE_COMPLETE';
  };
  await until(`the stack ${StackName} is deleted`, isOver, 30);
}

async function removeBucket(Bucket: string): Promise<void> {
  const client = new S3({ forcePathStyle: true });
  for (;;) {
    const { Versions = [], DeleteMarkers = [] } = await client.listObjectVersions({ Bucket });
    const Objects = [...Versions, ...DeleteMarkers].map(({ Key, VersionId }) => ({ Key, VersionId }));
    if (Objects.length === 0) break;
    const { Errors: [refused] = [] } = await client.deleteObjects({
      Bucket,
      Delete: { Objects, Quiet: true },
    });
    if (refused) throw new Error(`${refused.Key} was not removed: ${refused.Message}`);
  }
  await client.deleteBucket({ Bucket });
}

async function removeSecret(SecretId: string): Promise<void> {
  await new SecretsManager().deleteSecret({ SecretId, ForceDeleteWithoutRecovery: true });
}

const REMOVE: Readonly<Record<Remnant['kind'], (name: string) => Promise<void>>> = {
  stack: removeStack,
  bucket: removeBucket,
  secret: removeSecret,
};
