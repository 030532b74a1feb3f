import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Synthesized } from '../../infra/local/run.ts';

/** The stack's functions, each loaded after these modules, which may change what its thread's globals are. */
export function preloaded(stack: Synthesized, modules: readonly URL[], directory: string): Synthesized {
  if (modules.length === 0) return stack;
  const codeOf = (id: string) => {
    const code = join(directory, id);
    const before = modules.map((module) => `require('${fileURLToPath(module)}');\n`).join('');
    const bundle = join(stack.codeOf(id), 'index.cjs');
    mkdirSync(code, { recursive: true });
    writeFileSync(join(code, 'index.cjs'), `${before}module.exports = require('${bundle}');\n`);
    return code;
  };
  return { ...stack, codeOf };
}
