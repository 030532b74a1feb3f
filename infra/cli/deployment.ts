import { readFile } from 'node:fs/promises';
import { OUTPUTS } from '../config/config.ts';
import { createAwsFailure, UsageError } from './errors.ts';
import { loadConfig } from './options.ts';

/** `npm run deploy` writes the outputs of its stack to this file, which spares commands a call of CloudFormation. */
export const OUTPUTS_FILE = 'cdk.out/outputs.json';

const INSTEAD =
  "run 'npm run deploy', or give --stack and --region. For the runs of this machine, use --local";

/** The options --stack and --region. */
interface Target {
  readonly stack?: string;
  readonly region?: string;
}

type Outputs = Readonly<Record<string, string | undefined>>;

/** A deployed stack. */
interface Deployment {
  /** For messages: its name, Region and AWS account, and the file that says so. */
  readonly place: string;
  readonly region: string;
  readonly awsAccount: string;
  readonly outputs: Outputs;
}

let target: Target = {};

/** Sets the stack that this process's command works on. */
export function setTarget({ stack, region }: Target): void {
  target = { ...(stack !== undefined && { stack }), ...(region !== undefined && { region }) };
}

/** The options with which another command works on the same stack. */
export function targetOptions(): string[] {
  return Object.entries(target).flatMap(([name, value]) => [`--${name}`, value]);
}

/** The name in --stack, or else in cdk.json. @throws UsageError if cdk.json is faulty */
export function stackName(): string {
  return target.stack ?? loadConfig().stack;
}

/** For the SDK: the Region in --region or of the last deployment from this folder; empty for that of the environment. */
export async function readRegion(): Promise<{ region?: string }> {
  const { region = regionOf(await readOutputsFile(stackName())) } = target;
  return region === undefined ? {} : { region };
}

/**
 * Finds the stack: in the file of the last deployment from this folder, if it is the same stack and Region, or else by
 * CloudFormation.
 *
 * @throws UsageError if there is no such stack
 * @throws CommandFailed if AWS refuses the call
 */
export async function readDeployment(): Promise<Deployment> {
  const stack = stackName();
  const kept = await readOutputsFile(stack);
  const isKept = kept !== undefined && (target.region ?? regionOf(kept)) === regionOf(kept);
  const outputs = isKept ? kept : await describeStack(stack);
  const [, , , region = '', awsAccount = ''] = outputs[OUTPUTS.stateMachine]?.split(':') ?? [];
  const source = isKept ? ` (${OUTPUTS_FILE})` : '';
  const place = `the stack ${stack} in ${region} of AWS account ${awsAccount}${source}`;
  return { place, region, awsAccount, outputs };
}

/** @throws UsageError if the stack has no such output */
export function requireOutput({ place, outputs }: Deployment, output: keyof typeof OUTPUTS): string {
  const value = outputs[OUTPUTS[output]];
  if (value !== undefined) return value;
  throw new UsageError([
    `${place} has no ${OUTPUTS[output]}: deploy it with tables, or give another --stack`,
  ]);
}

/** The deployed stack's. @throws UsageError */
export async function readStateMachineArn(): Promise<string> {
  return requireOutput(await readDeployment(), 'stateMachine');
}

async function readOutputsFile(stack: string): Promise<Outputs | undefined> {
  try {
    return JSON.parse(await readFile(OUTPUTS_FILE, 'utf8'))[stack];
  } catch {
    return undefined;
  }
}

function regionOf(outputs: Outputs | undefined): string | undefined {
  return outputs?.[OUTPUTS.stateMachine]?.split(':')[3];
}

async function describeStack(stack: string): Promise<Outputs> {
  // Loaded only here: most commands find the file.
  const { CloudFormation } = await import('@aws-sdk/client-cloudformation');
  const cloudFormation = new CloudFormation(target.region === undefined ? {} : { region: target.region });
  const region = await cloudFormation.config.region().catch(() => undefined);
  if (region === undefined) throw new UsageError([`there is no AWS Region: ${INSTEAD}`]);
  try {
    const { Stacks: [found] = [] } = await cloudFormation.describeStacks({ StackName: stack });
    const outputs = found?.Outputs ?? [];
    return Object.fromEntries(outputs.map(({ OutputKey = '', OutputValue }) => [OutputKey, OutputValue]));
  } catch (error) {
    if (/does not exist/.test((error as Error).message))
      throw new UsageError([`there is no stack ${stack} in ${region}: ${INSTEAD}`]);
    throw createAwsFailure(error, `describe the stack ${stack}`, 'cloudformation:DescribeStacks');
  }
}
