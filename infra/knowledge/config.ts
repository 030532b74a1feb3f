import { relative } from 'node:path';
import { type Config, InvalidConfig } from '../config/config.ts';
import { CONFIG_FILE, readConfig } from '../config/read-config.ts';
import { UsageError } from './errors.ts';

let named: string | undefined;

/** Sets the file in --config, whose config this process's command reads. */
export function setConfigFile(file: string | undefined): void {
  named = file;
}

/** The file in --config, or else cdk.json. */
export function configFile(): string {
  return named ?? CONFIG_FILE;
}

/** The option with which another command reads the same config. */
export function configOption(): { config?: string } {
  return named === undefined ? {} : { config: named };
}

/** The config in --config, or else in cdk.json. @throws UsageError with every fault */
export function loadConfig(): Config {
  try {
    return readConfig(configFile());
  } catch (error) {
    if (!(error instanceof InvalidConfig)) throw error;
    throw new UsageError(error.faults.map((fault) => `${relative('', configFile())}: ${fault}`));
  }
}
