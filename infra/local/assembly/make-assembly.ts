import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { readConfig } from '../../config/read-config.ts';
import { bundleFunctions } from '../../constructs/bundle.ts';
import { synthesize } from '../../synthesize.ts';
import { ASSEMBLY_FILE, FUNCTIONS_FOLDER, INTERPRETER_FILE } from './assembly.ts';
import { readTemplate, type Template } from './template.ts';

/** The child process that fills an assembly's folder: `node make-assembly.ts FOLDER CONFIG`. */
const [folder = '', configFile] = process.argv.slice(2);

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** A run replaces these, so that one assembly serves every platform and account. */
const REPLACED = {
  base_url: 'https://platform.invalid',
  accounts: { account: {} },
};

/** Packages that aws-local-stepfunctions loads but never calls here. They take most of its load time. */
const UNUSED = ['asl-validator', '@aws-sdk/client-lambda', '@aws-sdk/credential-providers'];

// The hosts belong to the config's platform.
const { download_hosts: _, ...configured } = readConfig(configFile);
const config = { ...configured, exports: [], ...REPLACED };
const bundles = join(folder, FUNCTIONS_FOLDER);
bundleFunctions(bundles);
bundleInterpreter();
const synthesized = synthesize(config, bundles);
const codeOf = (id: string) => relative(folder, synthesized.codeOf(id));
const assembly = readTemplate(synthesized.template as Template, config.stack, codeOf);
writeFileSync(join(folder, ASSEMBLY_FILE), JSON.stringify(assembly));

/** Bundles the interpreter into one CommonJS file. The run evaluates it with its own Date and timers. */
function bundleInterpreter(): void {
  const empty = join(folder, 'empty.cjs');
  writeFileSync(empty, '');
  buildSync({
    absWorkingDir: ROOT,
    entryPoints: ['aws-local-stepfunctions'],
    outfile: join(folder, INTERPRETER_FILE),
    alias: Object.fromEntries(UNUSED.map((name) => [name, empty])),
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    logLevel: 'error',
  });
}
