import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { readConfig } from '../config.ts';
import { bundleFunctions } from '../constructs/bundle.ts';
import { synthesize } from '../synthesize.ts';
import { ASSEMBLY_FILE, type Assembly, FUNCTIONS_FOLDER, INTERPRETER_FILE } from './assembly.ts';
import { bundleInterpreter, validateDefinition } from './interpreter.ts';
import { readBucket, readFunctions, readStateMachine, type Template } from './template.ts';

/** The child process that fills an assembly's folder: `node make-assembly.ts FOLDER SETTINGS`. */
const [folder = '', settings = '{}'] = process.argv.slice(2);

/** A run replaces these, so that one assembly serves every platform and account. */
const REPLACED = { base_url: 'https://platform.invalid', accounts: ['account'] };

// The hosts belong to the platform of cdk.json.
const { download_hosts: _, ...configured } = readConfig();
const config = { ...configured, exports: [], ...REPLACED, ...JSON.parse(settings) };
const bundles = join(folder, FUNCTIONS_FOLDER);
bundleFunctions(bundles);
bundleInterpreter(folder, INTERPRETER_FILE);

const synthesized = synthesize(config, bundles);
const template = synthesized.template as Template;
const place = { account: '000000000000', region: 'us-east-1', stack: config.stack };
const assembly: Assembly = {
  stack: config.stack,
  bucket: readBucket(template, place),
  stateMachine: readStateMachine(template, place),
  functions: readFunctions(template, place, (id) => relative(folder, synthesized.codeOf(id))),
  interpreter: INTERPRETER_FILE,
};
validateDefinition(assembly.stateMachine.definition);
writeFileSync(join(folder, ASSEMBLY_FILE), JSON.stringify(assembly));
