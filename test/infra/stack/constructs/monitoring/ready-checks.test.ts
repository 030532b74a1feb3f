import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BETWEEN_CHECKS } from '../../../../../functions/check-ready.ts';
import { prepareAssembly } from '../../../../../infra/lab/local/assembly/assembly.ts';
import { INTERPRETER_FILE } from '../../../../../infra/lab/local/assembly/interpreter.ts';
import { scaledClock } from '../../../../../infra/lab/local/clock.ts';
import { createStateMachine } from '../../../../../infra/lab/local/step-functions/step-functions.ts';
import { OUTPUTS } from '../../../../../infra/stack/config/config.ts';
import {
  allowedIn,
  CONTEXT,
  definitionOf,
  readable,
  resourcesOf,
  synthesizeStack,
} from '../../../../support/stack.ts';

const READY = { schedule: 'cron(30 6 ? * MON-FRI *)', ready_by: '09:00', tell: 'always' };
const runs = [{ period: 'last_28_days', ...READY }, { period: 'yesterday' }];
const exports = [{ name: 'daily', metrics: ['spend'], runs }];
const stack = synthesizeStack({ exports, kms_key: 'create' });
const interpreter = join(prepareAssembly(), INTERPRETER_FILE);

/** The schedule of the only check. */
function scheduleOf(changes: object) {
  const accounts = { ...CONTEXT.accounts, ...changes };
  const all = resourcesOf(synthesizeStack({ exports, accounts }), 'AWS::Scheduler::Schedule');
  return [...all].filter(([id]) => id.startsWith('Schedulesready')).map(([, { Properties }]) => Properties);
}

describe('a run with ready_by', () => {
  it('is checked for all accounts of a time zone, on the days of its schedule', () => {
    const zone = { time_zone: 'Europe/Berlin', advertiser_ids: CONTEXT.accounts.acme.advertiser_ids };
    const [schedule, ...others] = scheduleOf({ acme: zone, globex: zone });
    expect(others).toEqual([]);
    expect(schedule).toMatchObject({
      ScheduleExpression: 'cron(0 9 ? * MON-FRI *)',
      ScheduleExpressionTimezone: 'Europe/Berlin',
      State: 'ENABLED',
    });
    expect(JSON.parse(schedule?.Target.Input)).toMatchObject({
      export: 'daily',
      ready_by: '09:00',
      time_zone: 'Europe/Berlin',
      tell: true,
      expression: 'cron(30 6 ? * MON-FRI *)',
      checked_at: '<aws.scheduler.scheduled-time>',
      requests: [{ accounts: [{ account: 'acme' }, { account: 'globex' }], period: 'last_28_days' }],
    });
    expect(scheduleOf({ acme: zone })).toHaveLength(2);
  });

  it('has a check of its own if another entry of the name has another run', () => {
    const monthly = [{ period: 'previous_month', schedule: 'cron(0 7 2 * ? *)', ready_by: '12:00' }];
    const entries = [
      { ...exports[0], accounts: ['acme'] },
      { ...exports[0], accounts: ['globex'], runs: monthly },
    ];
    const all = resourcesOf(synthesizeStack({ exports: entries }), 'AWS::Scheduler::Schedule');
    const checks = [...all].filter(([id]) => id.startsWith('Schedulesready'));
    expect(checks.map(([, { Properties }]) => Properties.ScheduleExpression)).toEqual([
      'cron(0 9 ? * MON-FRI *)',
      'cron(0 12 2 * ? *)',
    ]);
  });

  it('has an alarm that stays on between two checks, and counts those that failed', () => {
    const alarm = resourcesOf(stack, 'AWS::CloudWatch::Alarm').get('AlarmsReportsLate')?.Properties;
    const metric = (MetricName: string) => ({
      MetricStat: { Period: 2 * BETWEEN_CHECKS, Stat: 'Sum', Metric: { MetricName } },
    });
    expect(readable(alarm?.Metrics)).toMatchObject([
      { Expression: 'SUM(FILL(METRICS(), 0))' },
      metric('LateAccounts'),
      metric('ExecutionsFailed'),
      metric('ExecutionsTimedOut'),
    ]);
  });

  it('has an output with the ARN of its state machine, for the commands of the runbook', () => {
    expect(readable(stack.template.Outputs)).toMatchObject({
      [OUTPUTS.readyChecks]: { Value: '<ReadyChecksStateMachine>' },
    });
  });

  it('may publish to the topic, with its key, and send events', () => {
    const allowed = allowedIn(stack, 'ReadyChecksStateMachineRole');
    expect(allowed).toContain('sns:Publish <AlarmTopic>');
    const through = 'when {"StringEquals":{"kms:ViaService":"sns.<AWS::Region>.amazonaws.com"}}';
    for (const action of ['kms:Decrypt', 'kms:GenerateDataKey'])
      expect(allowed).toContain(`${action} <Key.Arn> ${through}`);
    expect(allowed.filter((line) => line.startsWith('events:PutEvents'))).toHaveLength(1);
  });
});

/** Runs a check whose calls say these things one after the other. */
async function run(...statuses: readonly string[]) {
  const sent: unknown[] = [];
  const calls = [...statuses];
  await using local = createStateMachine({
    arn: 'arn:aws:states:eu-west-1:000000000000:stateMachine:ReadyChecks',
    name: 'ReadyChecks',
    definition: definitionOf(stack, 'ReadyChecks'),
    interpreter,
    clock: scaledClock(100_000),
    async runTask(resource, input) {
      const { Entries, Message, MessageStructure, Subject } = Object(input);
      if (Entries) sent.push(Entries[0].DetailType);
      if (Message) {
        // SNS then sends each protocol its form.
        expect({ MessageStructure, Subject }).toEqual({ MessageStructure: 'json', Subject: 's' });
        sent.push(JSON.parse(Message).default);
      }
      if (!resource.includes('CheckReady')) return {};
      const status = calls.shift();
      const notification = JSON.stringify({ default: `message of ${status}` });
      return { status, readiness: { subject: 's' }, notification };
    },
  });
  const { status } = await local.start('check', { export: 'daily' }).result;
  expect({ status, callsLeft: calls }).toEqual({ status: 'SUCCEEDED', callsLeft: [] });
  return sent;
}

it.each([
  [['done'], []],
  [['ready'], ['Report Ready', 'message of ready']],
  [
    ['late', 'waiting', 'ready'],
    ['Report Late', 'message of late', 'Report Ready', 'message of ready'],
  ],
  [
    ['late', 'done'],
    ['Report Late', 'message of late'],
  ],
])('the state machine of a run that is %s sends %s', async (statuses, sent) => {
  expect(await run(...statuses)).toEqual(sent);
});
