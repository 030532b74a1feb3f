import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Synthesized } from '../../infra/local/run.ts';

/** The stack's functions, each loaded after these modules, which may change what its thread's globals are. */
export function preloaded(stack: Synthesized, modules: readonly URL[], directory: string): Synthesized {
  if (modules.length === 0) return stack;
  const codeOf = (id: string) => {
    const code = join(directory, id);
    const bundle = pathToFileURL(join(stack.codeOf(id), 'index.mjs'));
    mkdirSync(code, { recursive: true });
    writeFileSync(
      join(code, 'index.mjs'),
      [...modules.map((module) => `import '${module}';`), `export * from '${bundle}';`, ''].join('\n'),
    );
    return code;
  };
  return { ...stack, codeOf };
}
