import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BUILT, moduleBeside, ROOT } from '../../../package.ts';
import { cachedFolder } from '../../../stack/cache.ts';
import { CONFIG_FILE, readConfigFile } from '../../../stack/config/read-config.ts';
import type { FunctionSpec } from '../lambda/lambda.ts';
import type { Definition } from '../step-functions/step-functions.ts';
import { INTERPRETER_FILE } from './interpreter.ts';

/** The synthesized stack, as far as the local run needs it. A run adds account, platform and port. */
export interface Assembly {
  /** The stack's name. The names of its secrets begin with it. */
  readonly stack: string;
  readonly bucket: string;
  readonly stateMachine: { readonly arn: string; readonly name: string; readonly definition: Definition };
  readonly functions: readonly FunctionSpec[];
  /** The bundled interpreter of state machines. */
  readonly interpreter: string;
}

/** Paths inside an assembly's folder. */
export const ASSEMBLY_FILE = 'assembly.json';
export const FUNCTIONS_FOLDER = 'functions';

const MAKE_ASSEMBLY = moduleBeside(import.meta, 'make-assembly');

/** Everything that an assembly is made from, besides the config. npm's list stands for the packages. */
const SOURCES = BUILT
  ? ['dist/*.js', 'dist/functions/*/index.cjs']
  : [
      ...['cdk.json', 'tsconfig.json', 'node_modules/.package-lock.json'],
      ...['functions/**/*.ts', 'infra/*.ts', 'infra/{stack,lab/local/assembly,lab/sandbox}/**/*.ts'],
    ];

const prepared = new Map<string, string>();

/**
 * Returns the folder of the assembly, which is cached on disk by a hash of the sources. If the hash is new, a
 * child process synthesizes the stack, so that this process never loads CDK: its heap would make every
 * garbage collection slower.
 */
export function prepareAssembly(configFile = CONFIG_FILE): string {
  const known = prepared.get(configFile);
  if (known) return known;
  const folder = cachedFolder(hashSources(configFile), (draft) => makeAssembly(draft, configFile));
  prepared.set(configFile, folder);
  return folder;
}

export function loadAssembly(folder: string): Assembly {
  const assembly: Omit<Assembly, 'interpreter'> = JSON.parse(
    readFileSync(join(folder, ASSEMBLY_FILE), 'utf8'),
  );
  const functions = assembly.functions.map((bundled) => ({ ...bundled, file: join(folder, bundled.file) }));
  return { ...assembly, functions, interpreter: join(folder, INTERPRETER_FILE) };
}

/** Fills a folder with the assembly. */
export function makeAssembly(draft: string, configFile = CONFIG_FILE): void {
  process.stderr.write('Prepares the workflow, which takes some seconds after each change of its code\n');
  execFileSync(process.execPath, [MAKE_ASSEMBLY, draft, configFile], { stdio: 'pipe' });
}

function hashSources(configFile: string): string {
  // The folder, because a bundle has a link to the DuckDB that is installed beside it.
  const hash = createHash('sha256')
    .update(ROOT)
    .update(JSON.stringify(readConfigFile(configFile)));
  for (const file of globSync(SOURCES, { cwd: ROOT }).sort())
    hash.update(`\0${file}\0`).update(readFileSync(join(ROOT, file)));
  return hash.digest('hex').slice(0, 24);
}
