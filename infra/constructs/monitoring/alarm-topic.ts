import { Stack } from 'aws-cdk-lib';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import type { Construct } from 'constructs';

interface AlarmTopicProps {
  /** An existing topic, which the stack leaves as it is. By default it creates one. */
  readonly arn?: string | undefined;
  /** Each address gets an e-mail that asks for confirmation. */
  readonly emails: readonly string[];
  /** CloudWatch cannot use the key that AWS manages for SNS. SNS still encrypts its disks. */
  readonly encryptionKey?: IKey | undefined;
}

/** The topic that alarms notify. If the stack creates it, nothing but its alarms may publish to it. */
export function createAlarmTopic(
  scope: Construct,
  id: string,
  { arn, emails, encryptionKey }: AlarmTopicProps,
): ITopic {
  if (arn !== undefined) return Topic.fromTopicArn(scope, id, arn);
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
      conditions: ofAlarms(Stack.of(scope)),
    }),
  );
  for (const email of emails) topic.addSubscription(new EmailSubscription(email));
  return topic;
}

/** Conditions of a policy: CloudWatch speaks for an alarm of this stack. */
export function ofAlarms({ partition, region, account, stackName }: Stack) {
  return {
    StringEquals: { 'aws:SourceAccount': account },
    ArnLike: { 'aws:SourceArn': `arn:${partition}:cloudwatch:${region}:${account}:alarm:${stackName}-*` },
  };
}
