import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
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

  it.each(functionIds)('bundles %s with all it needs, and importing it asks for no setting', async (id) => {
    const module = await import(pathToFileURL(join(stack.codeOf(id), 'index.mjs')).href);
    expect(module.handler).toBeTypeOf('function');
  });

  it('gives each function code of its own', () => {
    expect(new Set(functionIds.map((id) => stack.codeOf(id))).size).toBe(functionIds.length);
  });
});
