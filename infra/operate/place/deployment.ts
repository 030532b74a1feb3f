import { executionLogsOf, OUTPUTS } from '../../stack/config/config.ts';
import { CommandFailed, createAwsFailure, UsageError } from './errors.ts';
import { hasRuns } from './has-runs.ts';
import { loadConfig } from './load-config.ts';

const INSTEAD = "run 'npx cdk deploy', or give --stack and --region";

/** The options --stack and --region. */
interface Target {
  readonly stack?: string | undefined;
  readonly region?: string | undefined;
}

let target: Target = {};
/** The folder on which the command would work with --local. */
let folderInstead: string | undefined;
let onFirstFound: ((place: string) => void) | undefined;

/**
 * Sets the stack that this process's command works on.
 *
 * @param options `onFound` gets the stack's name, Region and AWS account once, before the stack is changed;
 *   `instead` is the folder on which the command would work with --local
 */
export function setTarget(
  { stack, region }: Target,
  {
    onFound,
    instead,
  }: { readonly onFound?: ((place: string) => void) | undefined; readonly instead?: string | undefined } = {},
): void {
  folderInstead = instead;
  target = { ...(stack !== undefined && { stack }), ...(region !== undefined && { region }) };
  onFirstFound = onFound;
}

/**
 * The end of a message about something that the stack or the config does not have: somebody may have
 * forgotten --local.
 *
 * @param name of an export that is not in the config. Default: the stack cannot be read
 */
export function hintAtLocal(name?: string): string {
  if (folderInstead === undefined || !hasRuns(folderInstead, name)) return '';
  const runs = name === undefined ? 'runs of this machine' : 'runs of it';
  return `. The folder ${folderInstead} has ${runs}: to work on them, add --local`;
}

/** The options with which another command works on the same stack. */
export function targetOptions(): Target {
  return target;
}

/** The name in --stack, or else in the config. @throws UsageError if the config is faulty */
export function stackName(): string {
  return target.stack ?? loadConfig().stack;
}

/** For the SDK: the Region in --region; empty for the Region of the environment. */
export function targetRegion(): { region?: string } {
  const { region } = target;
  return region === undefined ? {} : { region };
}

/**
 * Finds the stack by CloudFormation, with the credentials and the Region of the environment. A file of the
 * last deployment could name the stack of another AWS account.
 *
 * @throws UsageError if there is no such stack
 * @throws CommandFailed if AWS refuses the call
 */
export async function readDeployment() {
  const stack = stackName();
  const outputs = await describeStack(stack);
  const arn = outputs[OUTPUTS.stateMachine];
  if (arn === undefined)
    throw new UsageError([
      `the stack ${stack} has no ${OUTPUTS.stateMachine}: it is not a stack of this program. Give another --stack`,
    ]);
  const [, , , region = '', awsAccount = ''] = arn.split(':');
  /** For messages: its name, Region and AWS account. */
  const place = `the stack ${stack} in ${region} of AWS account ${awsAccount}`;
  onFirstFound?.(place);
  onFirstFound = undefined;
  return { place, region, awsAccount, outputs };
}

type Deployment = Awaited<ReturnType<typeof readDeployment>>;

/** @throws UsageError if the stack has no such output */
export function requireOutput({ place, outputs }: Deployment, output: keyof typeof OUTPUTS): string {
  const value = outputs[OUTPUTS[output]];
  if (value !== undefined) return value;
  const missing = output === 'sandboxUrl' ? 'the sandbox' : 'tables';
  throw new UsageError([
    `${place} has no ${OUTPUTS[output]}: deploy it with ${missing}, or give another --stack`,
  ]);
}

/** The deployed stack's. @throws UsageError */
export async function readStateMachineArn(): Promise<string> {
  return requireOutput(await readDeployment(), 'stateMachine');
}

async function describeStack(stack: string) {
  // A local run needs no AWS SDK.
  const { CloudFormation } = await import('@aws-sdk/client-cloudformation');
  const cloudFormation = new CloudFormation(targetRegion());
  const region = await cloudFormation.config.region().catch(() => undefined);
  if (region === undefined)
    throw new UsageError([`there is no AWS Region: set AWS_REGION, or give --region${hintAtLocal()}`]);
  try {
    const describe = async (StackName: string) => {
      const { Stacks: [description] = [] } = await cloudFormation.describeStacks({ StackName });
      return description;
    };
    const description = await describe(stack).catch(async (error) => {
      // A stack of another name may have the export. CloudFormation finds it by a resource of a known name.
      const of = { PhysicalResourceId: executionLogsOf(stack) };
      const { StackResources: [logs] = [] } = await cloudFormation
        .describeStackResources(of)
        .catch(() => ({ StackResources: [] }));
      if (logs?.StackName === undefined) throw error;
      return describe(logs.StackName);
    });
    const outputs = description?.Outputs ?? [];
    return Object.fromEntries(outputs.map(({ OutputKey = '', OutputValue }) => [OutputKey, OutputValue]));
  } catch (error) {
    if (/does not exist/.test((error as Error).message))
      throw new UsageError([`there is no stack ${stack} in ${region}: ${INSTEAD}${hintAtLocal()}`]);
    const failure = createAwsFailure(error, `describe the stack ${stack}`, 'cloudformation:DescribeStacks');
    throw new CommandFailed(failure.happened, failure.todo.replace(/\.$/, `${hintAtLocal()}.`), {
      cause: error,
    });
  }
}
