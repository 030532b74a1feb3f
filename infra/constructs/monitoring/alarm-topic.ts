import { Annotations, Stack } from 'aws-cdk-lib';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import type { Construct } from 'constructs';

interface AlarmTopicProps {
  /** The stack in the config. */
  readonly stack: string;
  /** An existing topic, which stays as it is. By default, one is created. */
  readonly topic?: ITopic | undefined;
  /** Each address gets an e-mail that asks for confirmation. */
  readonly emails: readonly string[];
  /** CloudWatch cannot use the key that AWS manages for SNS. SNS still encrypts its disks. */
  readonly encryptionKey?: IKey | undefined;
}

/** The topic that alarms notify. If the stack creates it, nothing but its alarms may publish to it. */
export function createAlarmTopic(
  scope: Construct,
  id: string,
  { stack, topic: given, emails, encryptionKey }: AlarmTopicProps,
): ITopic {
  if (given) {
    warnOfPolicy(scope, given, stack);
    return given;
  }
  const topic = new Topic(scope, id, {
    enforceSSL: true,
    ...(encryptionKey && { masterKey: encryptionKey }),
  });
  topic.addToResourcePolicy(
    new PolicyStatement({
      sid: 'AlarmsOfThisStack',
      principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
      actions: ['sns:Publish'],
      resources: [topic.topicArn],
      conditions: ofAlarms(scope, stack),
    }),
  );
  for (const email of emails) topic.addSubscription(new EmailSubscription(email));
  return topic;
}

/**
 * Without what the policy of an existing topic has to allow, alarms are lost, and only their own history says
 * so. A statement added here would replace the policy that SNS gives a topic, on which others may rely.
 */
function warnOfPolicy(scope: Construct, { node }: ITopic, stack: string): void {
  Annotations.of(scope).addWarningV2(
    'ad-report-export:topic',
    `alarms notify the topic ${node.path}, which the construct does not change. Unless it still has the policy that SNS gives a new ` +
      `topic, its policy must allow cloudwatch.amazonaws.com sns:Publish for the alarms ${stack}-*. If it is encrypted, the ` +
      'policy of its key must allow cloudwatch.amazonaws.com kms:Decrypt and kms:GenerateDataKey*, which the key that AWS ' +
      'manages for SNS does not.',
  );
}

/** Conditions of a policy: CloudWatch speaks for an alarm of this stack. */
export function ofAlarms(scope: Construct, stack: string) {
  const { partition, region, account } = Stack.of(scope);
  return {
    StringEquals: { 'aws:SourceAccount': account },
    ArnLike: { 'aws:SourceArn': `arn:${partition}:cloudwatch:${region}:${account}:alarm:${stack}-*` },
  };
}
