import { type Config, InvalidConfig, readConfig } from '../config/config.ts';
import { UsageError } from './errors.ts';

/** The faults of cdk.json, for commands that report them together with those of their options. */
export function configFaults(): string[] {
  try {
    readConfig();
    return [];
  } catch (error) {
    if (error instanceof InvalidConfig) return describeFaults(error);
    throw error;
  }
}

/** The config in cdk.json. @throws UsageError with every fault */
export function loadConfig(): Config {
  try {
    return readConfig();
  } catch (error) {
    throw error instanceof InvalidConfig ? new UsageError(describeFaults(error)) : error;
  }
}

function describeFaults({ faults }: InvalidConfig): string[] {
  return faults.map((fault) => `cdk.json: ${fault}`);
}
