import { readFile } from 'node:fs/promises';
import { OUTPUTS, readConfig } from '../config/config.ts';
import { UsageError } from './errors.ts';

/** `npm run deploy` writes the stack's outputs to this file. */
export const OUTPUTS_FILE = 'cdk.out/outputs.json';

const STATE_MACHINE_ARN = /^arn:aws[a-z-]*:states:[a-z0-9-]+:\d{12}:stateMachine:.+$/;

/** For commands that can do without a deployment. */
export const ARN_OR_LOCAL = 'give --state-machine. For the runs of this machine, use --local';

/** An output of the stack that was deployed from this checkout; undefined if none was. */
export async function readOutput(output: keyof typeof OUTPUTS): Promise<string | undefined> {
  try {
    const outputs: Record<string, Record<string, string>> = JSON.parse(await readFile(OUTPUTS_FILE, 'utf8'));
    return outputs[readConfig().stack]?.[OUTPUTS[output]];
  } catch {
    return undefined;
  }
}

/** The deployed stack's Region and AWS account; empty if they are unknown, so that the SDK uses its own settings. */
export async function readDeployedPlace(): Promise<{ region?: string; awsAccount?: string }> {
  const [, , , region, awsAccount] = (await readOutput('stateMachine'))?.split(':') ?? [];
  return { ...(region && { region }), ...(awsAccount && { awsAccount }) };
}

/**
 * @param named the ARN in --state-machine; by default that of the deployed stack
 * @param instead what to do without a deployment, after "or"
 * @throws UsageError
 */
export async function readStateMachineArn(named: string | undefined, instead: string): Promise<string> {
  if (named !== undefined && !STATE_MACHINE_ARN.test(named))
    throw new UsageError([`--state-machine ${named} is not the ARN of a state machine`]);
  const arn = named ?? (await readOutput('stateMachine'));
  if (arn) return arn;
  throw new UsageError([`${OUTPUTS_FILE} names no state machine: run 'npm run deploy', or ${instead}`]);
}
