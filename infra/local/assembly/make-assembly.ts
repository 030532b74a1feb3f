import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { readConfig } from '../../config/read-config.ts';
import { bundleFunctions } from '../../constructs/bundle.ts';
import { synthesize } from '../../synthesize.ts';
import { ASSEMBLY_FILE, FUNCTIONS_FOLDER } from './assembly.ts';
import { bundleInterpreter } from './interpreter.ts';
import { readTemplate, type Template } from './template.ts';

/** The child process that fills an assembly's folder: `node make-assembly.ts FOLDER CONFIG`. */
const [folder = '', configFile] = process.argv.slice(2);

/** A run replaces these, so that one assembly serves every platform and account. */
const REPLACED = {
  base_url: 'https://platform.invalid',
  accounts: { account: {} },
};

// The hosts belong to the config's platform.
const { download_hosts: _, ...configured } = readConfig(configFile);
const config = { ...configured, exports: [], ...REPLACED };
const bundles = join(folder, FUNCTIONS_FOLDER);
bundleFunctions(bundles);
await bundleInterpreter(folder);
const synthesized = synthesize(config, bundles);
const codeOf = (id: string) => relative(folder, synthesized.codeOf(id));
const assembly = readTemplate(synthesized.template as Template, config.stack, codeOf);
writeFileSync(join(folder, ASSEMBLY_FILE), JSON.stringify(assembly));
