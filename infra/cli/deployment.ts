import { readFile } from 'node:fs/promises';
import { OUTPUTS, readConfig } from '../config/config.ts';
import { UsageError } from './errors.ts';

/** `npm run deploy` writes the stack's outputs to this file. */
export const OUTPUTS_FILE = 'cdk.out/outputs.json';

const STATE_MACHINE_ARN = /^arn:aws[a-z-]*:states:[a-z0-9-]+:\d{12}:stateMachine:.+$/;

/** An output of the stack that was deployed from this checkout; undefined if none was. */
export async function readOutput(output: keyof typeof OUTPUTS): Promise<string | undefined> {
  try {
    const outputs: Record<string, Record<string, string>> = JSON.parse(await readFile(OUTPUTS_FILE, 'utf8'));
    return outputs[readConfig().stack]?.[OUTPUTS[output]];
  } catch {
    return undefined;
  }
}

/**
 * Like {@link readOutput}.
 *
 * @param more what to do without it, after "run 'npm run deploy'"
 * @throws UsageError if there is none
 */
export async function requireOutput(output: keyof typeof OUTPUTS, more: string): Promise<string> {
  const value = await readOutput(output);
  if (value !== undefined) return value;
  throw new UsageError([`${OUTPUTS_FILE} has no ${OUTPUTS[output]}: run 'npm run deploy', ${more}`]);
}

/** The deployed stack's Region and AWS account; empty if they are unknown, so that the SDK uses its own settings. */
export async function readDeployedPlace(): Promise<{ region?: string; awsAccount?: string }> {
  const [, , , region, awsAccount] = (await readOutput('stateMachine'))?.split(':') ?? [];
  return { ...(region && { region }), ...(awsAccount && { awsAccount }) };
}

/** @param named the ARN in --state-machine; by default that of the deployed stack @throws UsageError */
export async function readStateMachineArn(named: string | undefined): Promise<string> {
  if (named === undefined) return requireOutput('stateMachine', 'or give --state-machine');
  if (STATE_MACHINE_ARN.test(named)) return named;
  throw new UsageError([`--state-machine ${named} is not the ARN of a state machine`]);
}
