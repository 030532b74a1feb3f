import { describe, expect, it } from 'vitest';
import { readable, resourcesOf, synthesizeStack } from '../../../../support/stack.ts';

const stack = synthesizeStack({ alarm_emails: ['ops@example.com'] });
const alarms = new Map(
  [...resourcesOf(stack, 'AWS::CloudWatch::Alarm').values()].map(({ Properties }) => [
    String(Properties.AlarmName).replace(/^exports-test-/, ''),
    Properties,
  ]),
);

describe('the alarms', () => {
  it('are these, and each notifies the topic, also when it is over', () => {
    expect([...alarms.keys()].sort()).toEqual([
      'DaysHeld',
      'ExportsFailed',
      'ExportsNotStarted',
      'ExportsTimedOut',
      'TableProblems',
    ]);
    for (const [name, { AlarmActions, OKActions }] of alarms)
      expect(readable([AlarmActions, OKActions]), name).toEqual([['<AlarmTopic>'], ['<AlarmTopic>']]);
  });

  it('link to the runbook of the config', () => {
    const runbook_url = 'https://wiki.example/runbook';
    const elsewhere = resourcesOf(synthesizeStack({ runbook_url }), 'AWS::CloudWatch::Alarm');
    expect(elsewhere.size).toBe(alarms.size);
    for (const { Properties } of elsewhere.values())
      expect(Properties.AlarmDescription).toContain(`What to do: ${runbook_url}#`);
  });

  it('go off at a value of 1, and not without data', () => {
    for (const [name, alarm] of alarms) {
      expect(alarm, name).toMatchObject({
        ComparisonOperator: 'GreaterThanOrEqualToThreshold',
        Threshold: 1,
        TreatMissingData: 'notBreaching',
      });
    }
  });

  it.each(['TableProblems', 'DaysHeld'])('%s watches the metric of its name', (name) => {
    expect(alarms.get(name)).toMatchObject({
      Namespace: 'AdReportExport',
      MetricName: name,
      Statistic: 'Sum',
      Dimensions: [{ Name: 'service', Value: 'exports-test' }],
    });
  });
});

describe('the topic', () => {
  it('accepts only alarms of this stack, over TLS', () => {
    const [policy] = resourcesOf(stack, 'AWS::SNS::TopicPolicy').values();
    expect(readable(policy?.Properties.PolicyDocument.Statement)).toEqual([
      {
        Sid: 'AllowPublishThroughSSLOnly',
        Effect: 'Deny',
        Principal: '*',
        Action: 'sns:Publish',
        Resource: '<AlarmTopic>',
        Condition: { Bool: { 'aws:SecureTransport': 'false' } },
      },
      {
        Sid: 'AlarmsOfThisStack',
        Effect: 'Allow',
        Principal: { Service: 'cloudwatch.amazonaws.com' },
        Action: 'sns:Publish',
        Resource: '<AlarmTopic>',
        Condition: {
          StringEquals: { 'aws:SourceAccount': '<AWS::AccountId>' },
          ArnLike: {
            'aws:SourceArn':
              'arn:<AWS::Partition>:cloudwatch:<AWS::Region>:<AWS::AccountId>:alarm:exports-test-*',
          },
        },
      },
    ]);
  });
});
