import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BUILT, DIST, ROOT } from '../../../package.ts';

export const INTERPRETER_FILE = 'interpreter.cjs';

/** Packages that aws-local-stepfunctions loads but never calls here. They take most of its load time. */
const UNUSED = ['asl-validator', '@aws-sdk/client-lambda', '@aws-sdk/credential-providers'];

/** Bundles the interpreter into one CommonJS file. The run evaluates it with its own Date and timers. */
export async function bundleInterpreter(folder: string): Promise<void> {
  const outfile = join(folder, INTERPRETER_FILE);
  if (BUILT) return copyFileSync(join(DIST, INTERPRETER_FILE), outfile);
  // The package has no esbuild.
  const { buildSync } = await import('esbuild');
  const empty = join(folder, 'empty.cjs');
  writeFileSync(empty, '');
  buildSync({
    absWorkingDir: ROOT,
    entryPoints: ['aws-local-stepfunctions'],
    outfile,
    alias: Object.fromEntries(UNUSED.map((name) => [name, empty])),
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    logLevel: 'error',
  });
  rmSync(empty);
}
