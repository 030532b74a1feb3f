import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { BUILT, PROGRAM, ROOT } from '../package.ts';
import { CONFIG_KEY, type Config, InvalidConfig, parseConfig } from './config.ts';

/** The folder of the config: the repository, or the app that uses the package. */
const FOLDER = BUILT ? process.cwd() : ROOT;
const CDK_JSON = join(FOLDER, 'cdk.json');
const MODULE = join(FOLDER, 'ads.config.ts');

/** The file that has the config if no other is named. */
export const CONFIG_FILE = BUILT && existsSync(MODULE) ? MODULE : CDK_JSON;

/**
 * cdk.json's context: the config, and the feature flags that a synth without the CDK CLI needs too.
 *
 * @throws InvalidConfig if the file is not JSON
 */
export function readContext(): Readonly<Record<string, unknown>> {
  return existsSync(CDK_JSON) ? (Object(load(CDK_JSON)).context ?? {}) : {};
}

/**
 * Reads a config that is not parsed yet: a JSON file that is one or has it as cdk.json does, or the default
 * export of a module.
 *
 * @throws InvalidConfig if the file cannot be read
 */
export function readConfigFile(file = CONFIG_FILE): unknown {
  const loaded = Object(load(resolve(file)));
  const content = 'default' in loaded ? loaded.default : loaded;
  return Object(content).context?.[CONFIG_KEY] ?? content;
}

/** @throws InvalidConfig with every fault */
export function readConfig(file = CONFIG_FILE): Config {
  return parseConfig(readConfigFile(file));
}

function load(path: string): unknown {
  if (!existsSync(path))
    throw new InvalidConfig([`there is no such file; '${PROGRAM} init DIR' writes an app that has one`]);
  const isJson = path.endsWith('.json');
  try {
    // `require` loads a module, also in TypeScript, at once: a command needs its config before it begins.
    return isJson ? JSON.parse(readFileSync(path, 'utf8')) : createRequire(import.meta.url)(path);
  } catch (error) {
    const [message] = (error as Error).message.split('\n', 1);
    throw new InvalidConfig([`it ${isJson ? 'is not JSON' : 'cannot be loaded'}: ${message}`]);
  }
}
