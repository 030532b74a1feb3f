import { CloudFormation } from '@aws-sdk/client-cloudformation';
import type { AwsCli } from '../aws-cli.ts';
import { STEPS } from '../steps/names.ts';
import type { Target } from './target.ts';

/** The stack of `cdk bootstrap`. */
const TOOLKIT = 'CDKToolkit';

/** By the steps of `steps/`, which fail without it. */
const PROVED = [
  ['the roles of the functions, and arm64', STEPS.runSandbox],
  ['the certificate and the public addresses of a platform and of S3', STEPS.runSandbox],
  ["Athena's engine on the tables", STEPS.look],
  ['the role of EventBridge Scheduler', STEPS.schedule],
  ["the state machine's role, and the managed rule by which it waits for the accounts", STEPS.schedule],
  ['that a name is taken for 90 days', STEPS.twice],
  ["the checks' role, and 15 minutes between two checks", STEPS.late],
  ['the form of a message for a chat service such as Slack, by https', STEPS.late],
  ['alarms, and the policy of their topic', STEPS.alarm],
  ['the policies for people, by IAM itself', STEPS.runbook],
  ['a stop that ends the windows, and a redrive', STEPS.redrive],
] as const;

const NOT_SHOWN = [
  ['a broken download, a held day, a login', "the sandbox's stack has no faults and no consent page"],
  ['how a chat service draws a message', 'its form is compared with what AWS documents'],
  ['keys of KMS, Lake Formation, VPC endpoints', 'the rehearsed config has none'],
  ['quotas, the lifecycle of objects, the dead-letter queue', 'it would take days, or a fault of AWS'],
] as const;

/**
 * Looks at the AWS account and the Region of this process's environment. Creates nothing.
 *
 * @throws Error if there are no credentials, no Region, or no CDK
 */
export async function openAws({ call }: AwsCli): Promise<Target> {
  const region = await new CloudFormation().config.region().catch(() => {
    throw new Error('There is no AWS Region: set AWS_REGION, or a Region in the profile.');
  });
  process.env.AWS_REGION = region;
  const { Account: account } = await call(['sts', 'get-caller-identity']);
  const { Stacks: [toolkit] = [] } = await new CloudFormation()
    .describeStacks({ StackName: TOOLKIT })
    .catch(() => ({ Stacks: [] }));
  if (!toolkit)
    throw new Error(`The AWS account has no ${TOOLKIT} in ${region}: run 'npx cdk bootstrap' first.`);
  return {
    account,
    region,
    isComplete: true,
    proved: PROVED,
    notShown: NOT_SHOWN,
    platform: undefined,
    versions: { region },
    refusals: () => [],
    // It stays, so it is no part of what a rehearsal creates.
    bootstrap: async () => "CDK's stack was there before",
  };
}
