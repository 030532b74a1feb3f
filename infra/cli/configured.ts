import { type Config, InvalidConfig, readConfig } from '../config.ts';
import { UsageError } from './usage.ts';

/** What is wrong with cdk.json, for a command that names the faults of its options beside them. */
export function configFaults(): string[] {
  try {
    readConfig();
    return [];
  } catch (error) {
    if (error instanceof InvalidConfig) return error.faults.map((fault) => `cdk.json: ${fault}`);
    throw error;
  }
}

/** The config, as a command needs it. @throws UsageError with every fault */
export function configHere(): Config {
  const faults = configFaults();
  if (faults.length > 0) throw new UsageError(faults);
  return readConfig();
}
