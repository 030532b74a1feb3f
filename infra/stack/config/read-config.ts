import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join, resolve } from 'node:path';
import { BUILT, PROGRAM, ROOT } from '../../package.ts';
import { CONFIG_KEY, type Config, InvalidConfig, parseConfig } from './config.ts';

/** The config of this repository. The package has it as an example. */
const EXAMPLE_CONFIG = join(ROOT, 'cdk.json');

/** The config with which this repository deploys the sandbox. An app has a copy of it. */
export const SANDBOX_CONFIG = join(ROOT, 'infra/init/sandbox.ts');

const MODULE = resolve('ads.config.ts');
const CDK_JSON = BUILT ? resolve('cdk.json') : EXAMPLE_CONFIG;

/** The file that has the config if no other is named. An app that uses the package may have a module. */
export const CONFIG_FILE = BUILT && existsSync(MODULE) ? MODULE : CDK_JSON;

const HOW_TO_GET_ONE = `'${PROGRAM} init DIR' writes an app with a config, and --config names another file`;

/** The context of this repository's cdk.json: its config, and the feature flags of a synth. */
export function readContext(): Readonly<Record<string, unknown>> {
  return Object(loadModule(EXAMPLE_CONFIG)).context ?? {};
}

/** The file of the config of a local run, which takes the example's in a folder without a config. */
export function localConfigFile(): string {
  return existsSync(CONFIG_FILE) && contentOf(CONFIG_FILE) !== undefined ? CONFIG_FILE : EXAMPLE_CONFIG;
}

/**
 * Reads a config that is not parsed yet: a JSON file that is one or has it as cdk.json does, or the default
 * export of a module.
 *
 * @throws InvalidConfig if the file has none
 */
export function readConfigFile(file = CONFIG_FILE): unknown {
  const content = contentOf(file);
  if (content !== undefined) return content;
  throw new InvalidConfig([`it has no ${CONFIG_KEY} in its context; ${HOW_TO_GET_ONE}`]);
}

/** @throws InvalidConfig with every fault */
export function readConfig(file = CONFIG_FILE): Config {
  return parseConfig(readConfigFile(file));
}

/** @returns undefined if it is a cdk.json of another app */
function contentOf(file: string): unknown {
  const loaded = Object(loadModule(resolve(file)));
  const content = 'default' in loaded ? loaded.default : loaded;
  const { context } = Object(content);
  return context || basename(file) === 'cdk.json' ? context?.[CONFIG_KEY] : content;
}

function loadModule(path: string): unknown {
  if (!existsSync(path)) throw new InvalidConfig([`there is no such file; ${HOW_TO_GET_ONE}`]);
  const isJson = path.endsWith('.json');
  try {
    // `require` loads a module, also in TypeScript, at once: a command needs its config before it begins.
    return isJson ? JSON.parse(readFileSync(path, 'utf8')) : createRequire(import.meta.url)(path);
  } catch (error) {
    const [message] = (error as Error).message.split('\n', 1);
    throw new InvalidConfig([`it ${isJson ? 'is not JSON' : 'cannot be loaded'}: ${message}`]);
  }
}
