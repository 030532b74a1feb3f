import { CloudFormation } from '@aws-sdk/client-cloudformation';
import type { AwsCli } from '../aws-cli.ts';
import type { Target } from './target.ts';

/** The stack of `cdk bootstrap`. */
const TOOLKIT = 'CDKToolkit';

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
    minutesToDeploy: 12,
    isComplete: true,
    notShown: NOT_SHOWN,
    platform: undefined,
    versions: { region },
    refusals: () => [],
    // It stays, so it is no part of what a rehearsal creates.
    bootstrap: async () => "CDK's stack was there before",
  };
}
