import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cachedFolder } from '../../cache.ts';
import { CDK_JSON, readConfigFile } from '../../config/read-config.ts';
import type { FunctionSpec } from '../lambda/lambda-instance.ts';
import type { Definition } from '../step-functions/definition.ts';

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
export const INTERPRETER_FILE = 'interpreter.cjs';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const MAKE_ASSEMBLY = fileURLToPath(new URL('make-assembly.ts', import.meta.url));

/** Everything that an assembly is made from. npm's list stands for the packages. */
const SOURCES = [
  ...['cdk.json', 'tsconfig.json', 'node_modules/.package-lock.json'],
  ...['functions/**/*.ts', 'infra/*.ts', 'infra/{config,constructs,local/assembly}/**/*.ts'],
];

const prepared = new Map<string, Promise<string>>();

/**
 * Returns the folder of the assembly, which is cached on disk by a hash of the sources. If the hash is new, a
 * child process synthesizes the stack, so that this process never loads CDK: its heap would make every
 * garbage collection slower.
 */
export function prepareAssembly(configFile = CDK_JSON): Promise<string> {
  const known = prepared.get(configFile);
  if (known) return known;
  const preparing = cachedFolder(hashSources(configFile), (draft) => makeAssembly(draft, configFile));
  prepared.set(configFile, preparing);
  return preparing;
}

export function loadAssembly(folder: string): Assembly {
  const assembly: Omit<Assembly, 'interpreter'> = JSON.parse(
    readFileSync(join(folder, ASSEMBLY_FILE), 'utf8'),
  );
  const functions = assembly.functions.map((each) => ({ ...each, file: join(folder, each.file) }));
  return { ...assembly, functions, interpreter: join(folder, INTERPRETER_FILE) };
}

/** Fills a folder with the assembly. */
export async function makeAssembly(draft: string, configFile = CDK_JSON): Promise<void> {
  process.stderr.write('Prepares the workflow, which takes some seconds after each change of its code\n');
  await promisify(execFile)(process.execPath, [MAKE_ASSEMBLY, draft, configFile]);
}

function hashSources(configFile: string): string {
  const hash = createHash('sha256').update(JSON.stringify(readConfigFile(configFile)));
  for (const file of globSync(SOURCES, { cwd: ROOT }).sort())
    hash.update(`\0${file}\0`).update(readFileSync(join(ROOT, file)));
  return hash.digest('hex').slice(0, 24);
}
