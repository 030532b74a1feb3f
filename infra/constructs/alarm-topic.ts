import { Stack } from 'aws-cdk-lib';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import type { Construct } from 'constructs';

interface AlarmTopicProps {
  /** Each address gets an e-mail that asks for confirmation. */
  readonly emails: readonly string[];
  /** CloudWatch cannot use the key that AWS manages for SNS. Without this key, SNS still encrypts its disks. */
  readonly encryptionKey?: IKey | undefined;
}

/** The topic to which the stack's alarms, and nothing else, may publish. */
export function createAlarmTopic(
  scope: Construct,
  id: string,
  { emails, encryptionKey }: AlarmTopicProps,
): Topic {
  const topic = new Topic(scope, id, {
    enforceSSL: true,
    ...(encryptionKey && { masterKey: encryptionKey }),
  });
  const { partition, region, account, stackName } = Stack.of(scope);
  topic.addToResourcePolicy(
    new PolicyStatement({
      sid: 'AlarmsOfThisStack',
      principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
      actions: ['sns:Publish'],
      resources: [topic.topicArn],
      conditions: {
        StringEquals: { 'aws:SourceAccount': account },
        ArnLike: { 'aws:SourceArn': `arn:${partition}:cloudwatch:${region}:${account}:alarm:${stackName}-*` },
      },
    }),
  );
  for (const email of emails) topic.addSubscription(new EmailSubscription(email));
  return topic;
}
