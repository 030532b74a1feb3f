import { relative } from 'node:path';
import { type Config, InvalidConfig } from '../../stack/config/config.ts';
import { CONFIG_FILE, localConfigFile, readConfig } from '../../stack/config/read-config.ts';
import { UsageError } from './errors.ts';

let configOptionFile: string | undefined;
let isLocal = false;

/** Sets the file in --config, whose config this process's command reads. */
export function setConfigFile(file: string | undefined, local: boolean): void {
  configOptionFile = file;
  isLocal = local;
}

/** The file in --config, or else the app's. */
export function configFile(): string {
  return configOptionFile ?? (isLocal ? localConfigFile() : CONFIG_FILE);
}

/** The file of the config, for messages. */
export function configName(): string {
  return relative('', configFile());
}

/** The option with which another command reads the same config. */
export function configOption(): { config?: string } {
  return configOptionFile === undefined ? {} : { config: configOptionFile };
}

/** The config in {@link configFile}. @throws UsageError with every fault */
export function loadConfig(): Config {
  try {
    return readConfig(configFile());
  } catch (error) {
    if (!(error instanceof InvalidConfig)) throw error;
    throw new UsageError(error.faults.map((fault) => `${configName()}: ${fault}`));
  }
}
