import { Stack } from 'aws-cdk-lib';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import type { Construct } from 'constructs';

interface AlarmTopicProps {
  /** Each gets a mail that asks it to confirm. */
  readonly emails: readonly string[];
  /**
   * SNS keeps messages on encrypted disks in any case. The key that AWS manages for SNS would not let CloudWatch in, so
   * beyond that there is the customer's own or none.
   */
  readonly encryptionKey?: IKey | undefined;
}

/** Where the stack's alarms go, and nothing else. */
export function alarmTopic(scope: Construct, id: string, { emails, encryptionKey }: AlarmTopicProps): Topic {
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
