import { randomBytes } from 'node:crypto';

export type Names = ReturnType<typeof createNames>;

/**
 * Names of one rehearsal, so that it touches nothing else, and everything that it leaves can be found by how
 * its name begins.
 */
export function createNames(id = randomBytes(3).toString('hex')) {
  const stack = `rehearsal-${id}`;
  return {
    /** `stack` of the config, and the CloudFormation stack that is rehearsed. Others begin with it. */
    stack,
    observer: `${stack}-observer`,
    sandbox: `${stack}-sandbox`,
  };
}
