import { relative } from 'node:path';
import { type Config, InvalidConfig } from '../config/config.ts';
import { CDK_JSON, readConfig } from '../config/read-config.ts';
import { UsageError } from './errors.ts';

let file = CDK_JSON;

/** Sets the file whose config this process's command reads. */
export function setConfigFile(named = CDK_JSON): void {
  file = named;
}

/** The config in --config, or else in cdk.json. @throws UsageError with every fault */
export function loadConfig(): Config {
  try {
    return readConfig(file);
  } catch (error) {
    if (!(error instanceof InvalidConfig)) throw error;
    throw new UsageError(error.faults.map((fault) => `${relative('', file)}: ${fault}`));
  }
}
