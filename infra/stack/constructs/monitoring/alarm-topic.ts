import { Annotations, Stack } from 'aws-cdk-lib';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import type { Construct } from 'constructs';
import type { Config } from '../../config/config.ts';

interface AlarmTopicProps {
  readonly config: Config;
  /** A topic of the caller, which stays as it is. By default, one is created. */
  readonly topic: ITopic | undefined;
  /** CloudWatch cannot use the key that AWS manages for SNS. SNS still encrypts its disks. */
  readonly encryptionKey: IKey | undefined;
}

/**
 * The topic that alarms notify. If the stack creates it, only the stack may publish to it: its alarms, and
 * the messages of `ready_by`.
 */
export function createAlarmTopic(
  scope: Construct,
  id: string,
  { config: { stack, alarm_emails }, topic: callersTopic, encryptionKey }: AlarmTopicProps,
): ITopic {
  if (callersTopic) {
    // Without the permission, alarms are lost, and only their own history says so. A statement added here
    // would replace the policy that SNS gives a topic, on which others may rely.
    Annotations.of(scope).addWarningV2(
      'ad-report-export:topic',
      `alarms notify the topic ${callersTopic.node.path}, which stays as it is. Unless it has the policy that SNS gives a new topic, it must ` +
        `allow cloudwatch.amazonaws.com sns:Publish for the alarms ${stack}-*. If it is encrypted, the policy of its key must allow ` +
        'it kms:Decrypt and kms:GenerateDataKey*, which the key that AWS manages for SNS does not.',
    );
    return callersTopic;
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
  for (const email of alarm_emails) topic.addSubscription(new EmailSubscription(email));
  return topic;
}

/** Conditions of a policy: CloudWatch speaks for an alarm of this stack. */
export function ofAlarms(scope: Construct, stack: string) {
  const { partition, region, account } = Stack.of(scope);
  return {
    StringEquals: { 'aws:SourceAccount': account },
    ArnLike: { 'aws:SourceArn': `arn:${partition}:cloudwatch:${region}:${account}:alarm:${stack}-*` },
  };
}
