import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FunctionSpec } from '../../infra/local/lambda-instance.ts';

/** Loads the modules before each function's bundle, where they can change the globals of its thread. */
export function preloaded(
  functions: readonly FunctionSpec[],
  modules: readonly URL[],
  directory: string,
): readonly FunctionSpec[] {
  if (modules.length === 0) return functions;
  mkdirSync(directory, { recursive: true });
  return functions.map(({ name, file, ...spec }) => {
    const wrapper = join(directory, `${name}.cjs`);
    const before = modules.map((module) => `require('${fileURLToPath(module)}');\n`).join('');
    writeFileSync(wrapper, `${before}module.exports = require('${file}');\n`);
    return { name, file: wrapper, ...spec };
  });
}
