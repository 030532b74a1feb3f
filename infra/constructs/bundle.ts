import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync, type OutputFile } from 'esbuild';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Nothing is written there: where the files go is decided afterwards. */
const NOWHERE = join(ROOT, 'bundled');

/** By their names, for as long as this process lives: a test synthesizes many stacks, all of the same functions. */
const bundled = new Map<string, readonly OutputFile[]>();

/**
 * Bundles `functions/<name>.ts` into `<outdir>/<name>/index.cjs`, its dependencies included. One call parses each file
 * once: 0.6 s for eight functions, where NodejsFunction, which starts esbuild for each of them, takes 3 s.
 *
 * CommonJS, which loads in two thirds of an ES module's time: an `import` of node:http reads all that it exports, `fetch`
 * and what is behind it among that. Not minified: the code loads no faster for it, and a stack trace keeps its names
 * without a source map.
 */
export function bundle(names: readonly string[], outdir: string): void {
  const files = bundled.get(names.join()) ?? build(names);
  bundled.set(names.join(), files);
  for (const { path, contents } of files) {
    const file = join(outdir, path.slice(NOWHERE.length));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, contents);
  }
}

function build(names: readonly string[]): readonly OutputFile[] {
  return buildSync({
    absWorkingDir: ROOT,
    entryPoints: Object.fromEntries(
      names.map((name) => [join(name, 'index'), join('functions', `${name}.ts`)]),
    ),
    outdir: NOWHERE,
    write: false,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    // The SDK's own: as a `require`, for the same reason.
    supported: { 'dynamic-import': false },
    mainFields: ['module', 'main'],
    outExtension: { '.js': '.cjs' },
    logLevel: 'error',
  }).outputFiles;
}
