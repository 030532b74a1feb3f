import { readdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { BINDINGS, linkBindings } from '../duckdb-bindings.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Lambda imports a handler's file. An `import` of CommonJS first scans the whole file for its exports, a tenth of the load time of
 * a bundle. `require` does not.
 */
const INDEX = "exports.handler = require('./step.cjs').handler;\n";

/**
 * Bundles every step, `functions/<name>.ts`, with its dependencies into `<outdir>/<name>/step.cjs`, beside the index.cjs that
 * Lambda imports.
 *
 * One call parses each file once and takes 0.6 s. NodejsFunction would start esbuild for each function and take 3 s.
 *
 * The format is CommonJS, which loads in two thirds of the time of an ES module: an `import` of node:http evaluates all of its
 * exports, such as `fetch`. The code is not minified: that would not make it load faster, and stack traces would need a source map.
 *
 * @param addBindings puts DuckDB's native part into the folder of a bundle that needs it. Default: that of this machine
 */
export function bundleFunctions(outdir: string, addBindings = linkBindings): void {
  const files = readdirSync(join(ROOT, 'functions')).filter((file) => file.endsWith('.ts'));
  const steps = files.map((file) => basename(file, '.ts'));
  const entryPoints = steps.map((step) => [join(step, 'step'), join('functions', `${step}.ts`)]);
  const { metafile } = buildSync({
    absWorkingDir: ROOT,
    entryPoints: Object.fromEntries(entryPoints),
    outdir,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    // Turns the SDK's dynamic imports into `require`, for the same reason.
    supported: { 'dynamic-import': false },
    mainFields: ['module', 'main'],
    alias: { undici: join(ROOT, 'infra/constructs/undici.js') },
    outExtension: { '.js': '.cjs' },
    external: [BINDINGS],
    metafile: true,
    logLevel: 'error',
  });
  for (const step of steps) writeFileSync(join(outdir, step, 'index.cjs'), INDEX);
  for (const [file, { imports }] of Object.entries(metafile.outputs)) {
    if (imports.some(({ path }) => path === BINDINGS)) addBindings(resolve(ROOT, dirname(file)));
  }
}
