import { describe, expect, it } from 'vitest';
import { METRICS } from '../../../../functions/workflow/measure.ts';
import { OUTPUTS } from '../../../../infra/config/config.ts';
import { allowedIn, CONTEXT, readable, resourcesOf, synthesizeStack } from '../../../support/stack.ts';

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
      'NoFreshData-acme.daily',
      'ReportsResubmitted',
      'TableProblems',
      'TokensRefused',
    ]);
    for (const [name, { AlarmActions, OKActions }] of alarms)
      expect(readable([AlarmActions, OKActions]), name).toEqual([['<AlarmTopic>'], ['<AlarmTopic>']]);
  });

  it('link to the runbook of the config', () => {
    const runbook_url = 'https://wiki.example/runbook';
    const elsewhere = synthesizeStack({ runbook_url });
    for (const { Properties } of resourcesOf(elsewhere, 'AWS::CloudWatch::Alarm').values()) {
      expect(Properties.AlarmDescription).toContain(`What to do: ${runbook_url}#`);
    }
  });

  it('go off at a value of 1, and not without data', () => {
    for (const [name, alarm] of alarms) {
      if (name.startsWith('NoFreshData')) continue;
      expect(alarm, name).toMatchObject({
        ComparisonOperator: 'GreaterThanOrEqualToThreshold',
        Threshold: 1,
        TreatMissingData: 'notBreaching',
      });
    }
  });

  it.each([
    ['ReportsResubmitted', 'Retries', [{ Name: 'kind', Value: 'ReportResubmitted' }]],
    ['TokensRefused', 'Retries', [{ Name: 'kind', Value: 'TokenRefused' }]],
    ['TableProblems', 'TableProblems', []],
    ['DaysHeld', 'DaysHeld', []],
  ])('%s watches a metric by all of its dimensions', (name, metric, dimensions) => {
    expect(alarms.get(name)).toMatchObject({
      Namespace: 'AdReportExport',
      MetricName: metric,
      Statistic: 'Sum',
      Dimensions: [...dimensions, { Name: 'service', Value: 'exports-test' }],
    });
    expect(Object.keys(METRICS)).toContain(metric);
  });
});

/** A metric of the export daily, per hour. */
function metricOf(id: string, name: string, statistic: string) {
  const Dimensions = [
    { Name: 'account', Value: 'acme' },
    { Name: 'export', Value: 'daily' },
    { Name: 'service', Value: 'exports-test' },
  ];
  const Metric = { Namespace: 'AdReportExport', MetricName: name, Dimensions };
  return { Id: id, ReturnData: false, MetricStat: { Period: 3600, Stat: statistic, Metric } };
}

/** The alarm NoFreshData of the export daily with these runs. */
function alarmOf(...runs: readonly object[]) {
  const other = synthesizeStack({ exports: [{ ...CONTEXT.exports[0], runs }] });
  return resourcesOf(other, 'AWS::CloudWatch::Alarm').get('AlarmsNoFreshDataacmedaily')?.Properties;
}

describe('a scheduled export', () => {
  it('is overdue after its expected hours and four more, even without any data', () => {
    expect(alarms.get('NoFreshData-acme.daily')).toMatchObject({
      AlarmDescription:
        'Export daily of account acme has delivered no fresh data for 28 hours. What to do: infra/RUNBOOK.md#nofreshdata',
      ComparisonOperator: 'LessThanThreshold',
      Threshold: 1,
      EvaluationPeriods: 28,
      TreatMissingData: 'breaching',
    });
  });

  it('counts a delivery as fresh if its newest rows are at most three days old, or of unknown age', () => {
    expect(alarms.get('NoFreshData-acme.daily')?.Metrics).toMatchObject([
      { Expression: '(FILL(deliveries, 0) >= 1) - (age > 259200)' },
      metricOf('deliveries', 'Deliveries', 'Sum'),
      metricOf('age', 'Freshness', 'Minimum'),
    ]);
  });

  it.each([
    ['last_28_days', 3],
    ['last_3_days', 3],
    ['previous_month', 3 + 31],
  ])('of %s must deliver rows, at most %i days old', (period, days) => {
    expect(alarmOf({ period, schedule: 'rate(1 hour)' })?.Metrics).toMatchObject([
      { Expression: `((FILL(deliveries, 0) - empty) >= 1) - (age > ${days * 86_400})` },
      metricOf('deliveries', 'Deliveries', 'Sum'),
      metricOf('age', 'Freshness', 'Minimum'),
      metricOf('empty', 'EmptyDeliveries', 'Sum'),
    ]);
  });

  it.each([
    ['rate(12 hours)', 24],
    ['cron(0 6 ? * MON-FRI *)', 72],
    ['cron(0 * ? * MON-FRI *)', 49],
    ['rate(6 days)', 144],
  ])('is expected as often as %s starts it, and at least once a day', (schedule, hours) => {
    expect(alarmOf({ period: 'yesterday', schedule })?.EvaluationPeriods).toBe(hours + 4);
  });

  it('with several runs is expected as often as the run that starts most often', () => {
    const monthly = { period: 'previous_month', schedule: 'cron(0 7 2 * ? *)' };
    expect(alarmOf(monthly, { period: 'last_28_days', schedule: 'rate(2 days)' })).toMatchObject({
      EvaluationPeriods: 52,
      Metrics: [{ Expression: expect.stringContaining(`age > ${3 * 86_400}`) }, {}, {}, {}],
    });
  });

  it.each([
    ['is paused', { expression: 'rate(1 day)', enabled: false }],
    ['starts less often than CloudWatch looks back', 'cron(0 7 2 * ? *)'],
  ])('has no alarm if it %s', (_, schedule) => {
    expect(alarmOf({ period: 'yesterday', schedule })).toBeUndefined();
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

  it('of the config is used as it is, and the stack names it in its outputs', () => {
    const alarm_topic_arn = 'arn:aws:sns:eu-central-1:111122223333:on-call';
    const other = synthesizeStack({ alarm_topic_arn });
    for (const { Properties } of resourcesOf(other, 'AWS::CloudWatch::Alarm').values())
      expect(Properties.AlarmActions).toEqual([alarm_topic_arn]);
    const types = Object.values<{ Type: string }>(other.template.Resources).map(({ Type }) => Type);
    expect(types.filter((type) => type.startsWith('AWS::SNS'))).toEqual([]);
    expect(other.template.Outputs[OUTPUTS.alarmTopic].Value).toBe(alarm_topic_arn);
  });
});

describe('a Slack channel', () => {
  const other = synthesizeStack({ slack: { workspace_id: 'T0123ABCD', channel_id: 'C0123ABCD' } });

  it('shows the alarms, under a name that no other Region has', () => {
    const [channel] = resourcesOf(other, 'AWS::Chatbot::SlackChannelConfiguration').values();
    expect(readable(channel?.Properties)).toMatchObject({
      ConfigurationName: 'exports-test-<AWS::Region>',
      SlackWorkspaceId: 'T0123ABCD',
      SlackChannelId: 'C0123ABCD',
      SnsTopicArns: ['<AlarmTopic>'],
    });
  });

  it('lets its members do nothing', () => {
    const [channel] = resourcesOf(other, 'AWS::Chatbot::SlackChannelConfiguration').values();
    expect(readable(channel?.Properties)).toMatchObject({
      IamRoleArn: '<SlackConfigurationRole.Arn>',
      GuardrailPolicies: ['arn:<AWS::Partition>:iam::aws:policy/CloudWatchReadOnlyAccess'],
    });
    expect(allowedIn(other, 'SlackConfigurationRole')).toEqual([]);
    const role = resourcesOf(other, 'AWS::IAM::Role').get('SlackConfigurationRole');
    expect(role?.Properties).not.toHaveProperty('ManagedPolicyArns');
  });
});
