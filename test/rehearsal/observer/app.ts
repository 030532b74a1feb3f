import { join } from 'node:path';
import { App, CfnOutput, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Rule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import { AccountRootPrincipal, ManagedPolicy, Role } from 'aws-cdk-lib/aws-iam';
import { Architecture, Code, FunctionUrlAuthType, Function as Lambda, Runtime } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { BlockPublicAccess, Bucket } from 'aws-cdk-lib/aws-s3';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { LambdaSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { EVENT_SOURCE } from '../../../infra/stack/constructs/workflow-states.ts';
import { type ObserverContext, POLICIES, type PolicyName } from './context.ts';

/**
 * The stack beside the one that is rehearsed: a role for each of its policies, which has nothing else, and a
 * function that keeps what the stack tells others: its events, the text of its mails, and its messages in the
 * form for a chat service.
 */
class Observer extends Stack {
  constructor(scope: App, { name, topicArn, policyArns }: ObserverContext) {
    super(scope, name, { description: 'Looks at a rehearsal, and is removed with it' });
    for (const policy of POLICIES) this.addRole(policy, policyArns[policy]);

    // The rehearsal removes it, with its objects.
    const bucket = new Bucket(this, 'Told', {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      enforceSSL: true,
      removalPolicy: RemovalPolicy.RETAIN,
    });
    const keep = new Lambda(this, 'Keep', {
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      code: Code.fromAsset(join(import.meta.dirname, 'keep')),
      handler: 'index.handler',
      timeout: Duration.seconds(30),
      environment: { BUCKET: bucket.bucketName },
      logGroup: new LogGroup(this, 'Logs', { removalPolicy: RemovalPolicy.DESTROY }),
    });
    bucket.grantPut(keep);
    new Rule(this, 'Events', {
      eventPattern: { source: [EVENT_SOURCE] },
      targets: [new LambdaFunction(keep)],
    });
    Topic.fromTopicArn(this, 'Topic', topicArn).addSubscription(new LambdaSubscription(keep));
    const { url } = keep.addFunctionUrl({ authType: FunctionUrlAuthType.NONE });
    // The rehearsal subscribes it, because somebody has to confirm that.
    new CfnOutput(this, 'ChatUrl', { value: url });
    new CfnOutput(this, 'Bucket', { value: bucket.bucketName });
  }

  private addRole(policy: PolicyName, arn: string): void {
    const role = new Role(this, policy, {
      assumedBy: new AccountRootPrincipal(),
      managedPolicies: [ManagedPolicy.fromManagedPolicyArn(this, `${policy}Policy`, arn)],
    });
    new CfnOutput(this, `${policy}Role`, { value: role.roleArn });
  }
}

const app = new App();
new Observer(app, JSON.parse(app.node.tryGetContext('observer')));
