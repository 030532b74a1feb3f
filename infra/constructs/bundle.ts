import { execSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
} from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { cachedFolderSync } from '../cache.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** DuckDB's native part. esbuild leaves its import alone: a bundle needs node_modules for it. */
const BINDINGS = '@duckdb/node-bindings';

/** Lambda's Linux on arm64, whatever machine this is. Without --libc, npm asks this machine for its own. */
const LAMBDA = '--os=linux --cpu=arm64 --libc=glibc';
const LAMBDA_BINDINGS = `${BINDINGS}-linux-arm64`;

/** The folders that this process has filled: an app may have several stacks. */
const filled = new Set<string>();

/**
 * Returns the folder of the bundles for Lambda. It is a function, because a construct cannot wait.
 *
 * @param outdir the app's, which gets the folder
 */
export function lambdaBundles(outdir: string): string {
  const folder = join(outdir, 'functions');
  if (!filled.has(folder)) bundleFunctions(folder, installForLambda());
  filled.add(folder);
  return folder;
}

/**
 * Bundles every step, `functions/<name>.ts`, with its dependencies into `<outdir>/<name>/index.cjs`.
 *
 * One call parses each file once and takes 0.6 s. NodejsFunction would start esbuild for each function and
 * take 3 s.
 *
 * The format is CommonJS, which loads in two thirds of the time of an ES module: an `import` of node:http
 * evaluates all of its exports, such as `fetch`. The code is not minified: that would not make it load
 * faster, and stack traces would need a source map.
 *
 * @param lambdaModules the folder of {@link installForLambda}. By default, the bundles run on this machine
 */
export function bundleFunctions(outdir: string, lambdaModules?: string): void {
  const files = readdirSync(join(ROOT, 'functions')).filter((file) => file.endsWith('.ts'));
  const steps = files.map((file) => basename(file, '.ts'));
  const entryPoints = steps.map((step) => [join(step, 'index'), join('functions', `${step}.ts`)]);
  const { metafile } = buildSync({
    absWorkingDir: ROOT,
    entryPoints: Object.fromEntries(entryPoints),
    outdir,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    // Turns the SDK's dynamic imports into `require`, which loads CommonJS faster.
    supported: { 'dynamic-import': false },
    mainFields: ['module', 'main'],
    outExtension: { '.js': '.cjs' },
    external: [BINDINGS],
    metafile: true,
    logLevel: 'error',
  });
  for (const [file, { imports }] of Object.entries(metafile.outputs)) {
    if (!imports.some(({ path }) => path === BINDINGS)) continue;
    const bundle = resolve(ROOT, dirname(file));
    if (lambdaModules === undefined) linkBindings(bundle);
    else copyBindings(bundle, lambdaModules);
  }
}

/**
 * Installs the dependencies for Lambda, at the versions and checksums of package-lock.json. Does nothing
 * while that file stays the same.
 *
 * @returns their node_modules
 * @throws Error with npm's reason
 */
export function installForLambda(cache?: string): string {
  const lockfile = join(ROOT, 'package-lock.json');
  const hash = createHash('sha256').update(readFileSync(lockfile)).digest('hex');
  const install = (draft: string) => {
    for (const file of ['package.json', 'package-lock.json'])
      copyFileSync(join(ROOT, file), join(draft, file));
    // In a shell, because npm is a script on Windows.
    const command = `npm ci --omit=dev --ignore-scripts --prefer-offline --no-audit ${LAMBDA}`;
    execSync(command, { cwd: draft, stdio: 'pipe' });
  };
  return join(cachedFolderSync(`lambda-${hash.slice(0, 16)}`, install, cache), 'node_modules');
}

function copyBindings(bundle: string, modules: string): void {
  for (const name of [BINDINGS, LAMBDA_BINDINGS])
    cpSync(join(modules, name), join(bundle, 'node_modules', name), { recursive: true });
}

/** The link to this machine's bindings is relative, so that a project with a cached bundle can be moved. */
function linkBindings(bundle: string): void {
  const installed = realpathSync(join(ROOT, 'node_modules', BINDINGS));
  const link = join(bundle, 'node_modules', BINDINGS);
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(relative(realpathSync(dirname(link)), installed), link, 'dir');
}
