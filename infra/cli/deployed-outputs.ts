import { readFile } from 'node:fs/promises';
import { readConfig } from '../config.ts';
import { OUTPUTS } from '../outputs.ts';
import type { RunOptions } from './run-options.ts';
import { UsageError } from './usage.ts';

/** Where `npm run deploy` notes the stack's outputs. */
export const OUTPUTS_FILE = 'cdk.out/outputs.json';

const STATE_MACHINE_ARN = /^arn:aws[a-z-]*:states:[a-z0-9-]+:\d{12}:stateMachine:.+$/;

/** An output of the stack as it was deployed from this checkout; undefined where it was not. */
export async function readOutput(output: keyof typeof OUTPUTS): Promise<string | undefined> {
  try {
    const outputs: Record<string, Record<string, string>> = JSON.parse(await readFile(OUTPUTS_FILE, 'utf8'));
    return outputs[readConfig().stack]?.[OUTPUTS[output]];
  } catch {
    return undefined;
  }
}

/** The state machine that was named, or the one that was deployed from this checkout. @throws UsageError */
export async function readStateMachineArn({
  stateMachine,
}: Pick<RunOptions, 'stateMachine'>): Promise<string> {
  if (stateMachine !== undefined && !STATE_MACHINE_ARN.test(stateMachine))
    throw new UsageError([`--state-machine ${stateMachine} is not the ARN of a state machine`]);
  const arn = stateMachine ?? (await readOutput('stateMachine'));
  if (arn) return arn;
  throw new UsageError([
    `${OUTPUTS_FILE} names no state machine: run 'npm run deploy', or give --state-machine`,
  ]);
}

/** Where the stack is, by the ARN of its state machine. The SDK's own settings decide where this is not known. */
export async function deployedIn(): Promise<{ region?: string; awsAccount?: string }> {
  const [, , , region, awsAccount] = (await readOutput('stateMachine'))?.split(':') ?? [];
  return { ...(region && { region }), ...(awsAccount && { awsAccount }) };
}
