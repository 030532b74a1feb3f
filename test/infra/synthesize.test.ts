import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { synthesizeStack } from '../support/stack.ts';

const stack = synthesizeStack();
const functionIds = Object.entries<{ Type: string }>(stack.template.Resources)
  .filter(([, { Type }]) => Type === 'AWS::Lambda::Function')
  .map(([id]) => id);

describe('a synth in this process', () => {
  it('gives the same template, and code of the same hashes, wherever its assembly goes', () => {
    expect(synthesizeStack().template).toEqual(stack.template);
  });

  // In a process of its own: vitest would hand the module a `require`, and this environment. As Lambda's runtime for Node
  // 24 does it: an `import`, and of what has a third parameter, for a callback, it says that it is no handler any more.
  it.each(functionIds)('bundles %s with all it needs, and importing it asks for no setting', (id) => {
    const file = join(stack.codeOf(id), 'index.cjs');
    const script = `import(${JSON.stringify(file)}).then(({ handler }) => console.log(typeof handler, handler.length));`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--eval', script], {
      env: {},
      encoding: 'utf8',
    });
    expect({ stdout, stderr }).toEqual({ stdout: 'function 2\n', stderr: '' });
  });

  it('gives each function code of its own', () => {
    expect(new Set(functionIds.map((id) => stack.codeOf(id))).size).toBe(functionIds.length);
  });
});
