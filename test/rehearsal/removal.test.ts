import { expect, it } from 'vitest';
import { createNames } from './names.ts';
import { type Account, describeRemnant, listRemnants, type Remnant, removeAll } from './removal.ts';

const { stack, observer, sandbox } = createNames('a1b2c3');

it('removes the stack that refers to another one first, then what stacks leave', () => {
  const inventory = {
    stacks: [`${sandbox}-platform`, sandbox, stack, observer],
    buckets: [`${stack}-exportsbucket-x`],
    secrets: [`${stack}/acme/credential`],
  };
  expect(listRemnants(inventory, stack)).toEqual([
    { kind: 'stack', name: observer },
    { kind: 'stack', name: sandbox },
    { kind: 'stack', name: stack },
    { kind: 'stack', name: `${sandbox}-platform` },
    { kind: 'bucket', name: `${stack}-exportsbucket-x` },
    { kind: 'secret', name: `${stack}/acme/credential` },
  ]);
});

it('removes nothing of another rehearsal, and nothing whose name only begins alike', () => {
  const others = ['rehearsal-a1b2c30', 'rehearsal-ffffff', 'ad-report-export', `${stack}x/acme/credential`];
  expect(listRemnants({ stacks: others, buckets: others, secrets: others }, stack)).toEqual([]);
});

it('names what it could not remove, and why', () => {
  const line = describeRemnant({ kind: 'bucket', name: 'rehearsal-a1b2c3-x' }, 'Access Denied');
  expect(line).toBe('The bucket rehearsal-a1b2c3-x is still there: Access Denied');
});

/** An account with a stack, which has a bucket and leaves a secret. */
function createAccount(refuses: (remnant: Remnant) => boolean): Account & { removed: string[] } {
  const removed: string[] = [];
  const has = (name: string) => !removed.includes(name);
  return {
    removed,
    takeInventory: async () => ({
      stacks: [stack].filter(has),
      buckets: has(stack) ? [`${stack}-bucket`] : [],
      secrets: [`${stack}/acme/credential`].filter(has),
    }),
    async remove(remnant) {
      if (refuses(remnant)) throw new Error('Access Denied');
      removed.push(remnant.name);
    },
  };
}

it('does not look again for what went with its stack', async () => {
  const account = createAccount(() => false);
  expect(await removeAll(stack, account)).toEqual([]);
  expect(account.removed).toEqual([stack, `${stack}/acme/credential`]);
});

it('goes on if something cannot be removed', async () => {
  const account = createAccount(({ kind }) => kind === 'stack');
  expect(await removeAll(stack, account)).toEqual([`The stack ${stack} is still there: Access Denied`]);
  expect(account.removed).toEqual([`${stack}-bucket`, `${stack}/acme/credential`]);
});
