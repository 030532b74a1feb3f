import { execSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type * as Esbuild from 'esbuild';
import { BUILT, DIST, ROOT } from '../../package.ts';
import { cachedFolder } from '../cache.ts';

/** DuckDB's native part. esbuild leaves its import alone: a bundle needs node_modules for it. */
const BINDINGS = '@duckdb/node-bindings';

/** npm's settings of a project, such as its registry and the token for it. */
const NPM_SETTINGS = '.npmrc';

/** Lambda's Linux on arm64, whatever machine this is. Without --libc, npm asks this machine for its own. */
const LAMBDA = '--os=linux --cpu=arm64 --libc=glibc';
const LAMBDA_BINDINGS = `${BINDINGS}-linux-arm64`;

/** The functions of the sandbox's stack. No step imports them. */
const SANDBOX_FUNCTIONS = [
  'infra/lab/sandbox/deployed/sandbox-function.ts',
  'infra/stack/sandbox/empty-bucket.ts',
];

/** A file of the package. */
export const LAMBDA_LOCK = join(DIST, 'lambda-lock.json');

/** The folders that this process has filled: an app may have several stacks. */
const filled = new Set<string>();

/** @returns the folder with the bundles for Lambda, in the `outdir` of an app */
export function lambdaBundles(outdir: string): string {
  const folder = join(outdir, 'functions');
  if (!filled.has(folder)) bundleFunctions(folder, installForLambda());
  filled.add(folder);
  return folder;
}

/**
 * Fills a folder with the bundles, which the package already has, and with DuckDB for bundles that need it.
 *
 * @param lambdaModules the folder of {@link installForLambda}. By default, the bundles run on this machine
 */
export function bundleFunctions(outdir: string, lambdaModules?: string): void {
  if (BUILT) cpSync(join(DIST, 'functions'), outdir, { recursive: true });
  else bundleSources(outdir);
  for (const step of readdirSync(outdir)) {
    const bundle = join(outdir, step);
    if (!readFileSync(join(bundle, 'index.cjs'), 'utf8').includes(`require("${BINDINGS}")`)) continue;
    if (lambdaModules === undefined) linkBindings(bundle);
    else
      for (const name of [BINDINGS, LAMBDA_BINDINGS])
        cpSync(join(lambdaModules, name), join(bundle, 'node_modules', name), { recursive: true });
  }
}

/**
 * Bundles every function, such as a step's `functions/<name>.ts`, with its dependencies into
 * `<outdir>/<name>/index.cjs`.
 *
 * One call parses each file once and takes 0.6 s. NodejsFunction would start esbuild for each function and
 * take 3 s.
 *
 * The format is CommonJS, which loads in two thirds of the time of an ES module: an `import` of node:http
 * evaluates all of its exports, such as `fetch`. The code is not minified: that would not make it load
 * faster, and stack traces would need a source map.
 */
export function bundleSources(outdir: string): void {
  // The package has no esbuild, and a construct cannot wait for an import.
  const { buildSync }: typeof Esbuild = createRequire(import.meta.url)('esbuild');
  buildSync({
    absWorkingDir: ROOT,
    entryPoints: ['functions/*.ts', ...SANDBOX_FUNCTIONS],
    entryNames: '[name]/index',
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
    logLevel: 'error',
  });
}

/**
 * The part of package-lock.json that is installed for Lambda: DuckDB. npm packs no package-lock.json, so the
 * package has this part as a file.
 */
export function readLambdaLock(): string {
  if (BUILT) return readFileSync(LAMBDA_LOCK, 'utf8');
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const isNeeded = ([path]: [string, unknown]) => /\/(detect-libc|@duckdb\/node-bindings.*)$/.test(path);
  const needed = Object.fromEntries(Object.entries(packages).filter(isNeeded));
  const dependencies = { [BINDINGS]: packages[`node_modules/${BINDINGS}`].version };
  return JSON.stringify({ lockfileVersion: 3, packages: { '': { dependencies }, ...needed } });
}

/**
 * Installs DuckDB for Lambda, at the version and checksum of package-lock.json. Does nothing while they stay
 * the same. It comes from the registry of the project in whose folder this process runs.
 *
 * @returns its node_modules
 * @throws Error with npm's reason
 */
export function installForLambda(cache?: string, lock = readLambdaLock()): string {
  const hash = createHash('sha256').update(lock).digest('hex');
  const install = (draft: string) => {
    const { packages } = JSON.parse(lock);
    writeFileSync(join(draft, 'package.json'), JSON.stringify(packages['']));
    writeFileSync(join(draft, 'package-lock.json'), lock);
    runInProject(
      draft,
      // The settings of a project may leave optional packages out. The one for Lambda is optional.
      `npm ci --include=optional --ignore-scripts --prefer-offline --no-audit ${LAMBDA}`,
    );
  };
  return join(cachedFolder(`lambda-${hash.slice(0, 16)}`, install, cache), 'node_modules');
}

/**
 * Runs npm in a folder, with the settings of the project in whose folder this process runs. npm itself looks
 * for them beside the package.json that it installs.
 */
function runInProject(folder: string, npm: string): void {
  const project = findProject(process.cwd());
  const settings = join(folder, NPM_SETTINGS);
  try {
    if (project !== undefined) copyFileSync(join(project, NPM_SETTINGS), settings);
    // In the project, from which settings name files, such as a `cafile`. In a shell, because npm is a script
    // on Windows. npm ci takes a folder that is reached by a link for a package that the lock lacks.
    execSync(`${npm} --prefix "${realpathSync(folder)}"`, { cwd: project ?? folder, stdio: 'pipe' });
  } finally {
    // They may hold a token, and the folder stays.
    rmSync(settings, { force: true });
  }
}

/**
 * The folder of the project with settings for npm that a folder belongs to, such as the root of workspaces.
 */
function findProject(folder: string): string | undefined {
  const isProject = ['package.json', NPM_SETTINGS].every((name) => existsSync(join(folder, name)));
  if (isProject) return folder;
  const parent = dirname(folder);
  return parent === folder ? undefined : findProject(parent);
}

/** The link names the folder of this machine's DuckDB. A project that is moved bundles again. */
function linkBindings(bundle: string): void {
  const link = join(bundle, 'node_modules', BINDINGS);
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(dirname(createRequire(import.meta.url).resolve(`${BINDINGS}/package.json`)), link, 'dir');
}
