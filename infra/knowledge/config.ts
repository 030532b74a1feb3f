import { type Config, InvalidConfig, readConfig } from '../config/config.ts';
import { UsageError } from './errors.ts';

/** The config in cdk.json. @throws UsageError with every fault */
export function loadConfig(): Config {
  try {
    return readConfig();
  } catch (error) {
    if (!(error instanceof InvalidConfig)) throw error;
    throw new UsageError(error.faults.map((fault) => `cdk.json: ${fault}`));
  }
}
