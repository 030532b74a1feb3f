import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { synthesizeStack } from '../support/stack.ts';

const stack = synthesizeStack();
const functionIds = Object.entries<{ Type: string }>(stack.template.Resources)
  .filter(([, { Type }]) => Type === 'AWS::Lambda::Function')
  .map(([id]) => id);

describe('a synth in this process', () => {
  // In another process, because vitest would give the bundle a `require` and this environment. Lambda's Node 24 runtime
  // imports the bundle too, and refuses a handler with a third parameter, which would be a callback.
  it('bundles each function with all that it needs, and importing one reads no setting', () => {
    const files = functionIds.map((id) => join(stack.codeOf(id), 'index.cjs'));
    expect(new Set(files).size).toBe(files.length);
    const script = `for (const file of ${JSON.stringify(files)}) {
      const { handler } = await import(file);
      console.log(typeof handler, handler.length);
    }`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      env: {},
      encoding: 'utf8',
    });
    expect({ stdout, stderr }).toEqual({ stdout: 'function 2\n'.repeat(files.length), stderr: '' });
  });
});
