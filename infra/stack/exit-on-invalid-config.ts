import { InvalidConfig } from './config/config.ts';

/**
 * Runs the code of a CDK app. The message of an InvalidConfig is all that a person needs, so it is printed
 * without a stack trace, and the process fails. Any other error is thrown.
 *
 * @param file that has the config, for the message
 */
export function exitOnInvalidConfig(create: () => void, file?: string): void {
  try {
    create();
  } catch (error) {
    if (!(error instanceof InvalidConfig)) throw error;
    process.stderr.write(`${file === undefined ? '' : `${file}: `}${error.message}\n`);
    process.exitCode = 1;
  }
}
