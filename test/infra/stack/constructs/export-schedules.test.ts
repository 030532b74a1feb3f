import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { parseRequests } from '../../../../functions/workflow/request/accounts.ts';
import { CONTEXT, readable, resourcesOf, synthesizeStack } from '../../../support/stack.ts';

const stack = synthesizeStack();
const schedules = resourcesOf(stack, 'AWS::Scheduler::Schedule');
const daily = schedules.get('Schedulesdaily1')?.Properties;

/** The execution's input when the schedule starts it at `instant`. */
function inputAt(instant: string): unknown {
  return JSON.parse(daily?.Target.Input.replace('<aws.scheduler.scheduled-time>', instant));
}

type Resources = Readonly<Record<string, { readonly Type: string }>>;

/** The resources that CloudFormation creates before this one. */
function createdBefore(all: Resources, id: string, before = new Set<string>()): Set<string> {
  const named = JSON.stringify(all[id]).matchAll(/"(?:Ref|Fn::GetAtt|DependsOn)":(\[[^\]]*\]|"[^"]*")/g);
  for (const dependency of [...named].flatMap(([, names = '']) => JSON.parse(names)))
    if (dependency in all && !before.has(dependency)) createdBefore(all, dependency, before.add(dependency));
  return before;
}

describe('schedules', () => {
  it('are created last: one with a rate starts an export at once, whose objects no rollback removes', () => {
    const all: Resources = synthesizeStack({ kms_key: 'create' }).template.Resources;
    const isSchedule = (id: string) => all[id]?.Type === 'AWS::Scheduler::Schedule';
    const [schedules, others] = [true, false].map((is) =>
      Object.keys(all).filter((id) => isSchedule(id) === is),
    );
    for (const id of schedules ?? []) expect([...createdBefore(all, id)].sort()).toEqual(others?.sort());
    for (const id of others ?? []) expect(createdBefore(all, id)).not.toContain(id);
  });

  it('exist for the exports that have one, in their time zone', () => {
    expect([...schedules.keys()]).toEqual(['Schedulesdaily1']);
    expect(daily).toMatchObject({
      ScheduleExpression: 'cron(30 0 * * ? *)',
      ScheduleExpressionTimezone: 'Europe/Berlin',
      FlexibleTimeWindow: { Mode: 'OFF' },
      State: 'ENABLED',
    });
  });

  it('are one for each run, for all accounts of a time zone', () => {
    const runs = [
      { period: 'yesterday', schedule: 'cron(30 0 * * ? *)', time_zone: 'Europe/Berlin' },
      { period: 'yesterday' },
      { period: 'previous_month', schedule: 'cron(0 7 2 * ? *)' },
    ];
    const ofThreeRuns = synthesizeStack({
      exports: [{ name: 'daily', metrics: ['spend'], runs }],
      max_accounts: 20,
    });
    const created = resourcesOf(ofThreeRuns, 'AWS::Scheduler::Schedule');
    const inputOf = (id: string) => JSON.parse(created.get(id)?.Properties.Target.Input);
    expect([...created.keys()]).toEqual(['Schedulesdaily1', 'Schedulesdaily2', 'Schedulesdaily3']);
    const time_zone = 'Europe/Berlin';
    const { acme, globex } = CONTEXT.accounts;
    expect(inputOf('Schedulesdaily1')).toEqual({
      name: 'daily',
      metrics: ['spend'],
      period: 'yesterday',
      run: 'daily#1',
      accounts: [
        { account: 'acme', ...acme },
        { account: 'globex', ...globex, time_zone },
      ],
      max_accounts: 20,
      scheduled_at: '<aws.scheduler.scheduled-time>',
    });
    expect(created.get('Schedulesdaily1')?.Properties).toMatchObject({
      Description: 'Export daily of 2 accounts',
      ScheduleExpressionTimezone: time_zone,
    });
    expect(inputOf('Schedulesdaily3')).toMatchObject({
      accounts: [{ account: 'globex', ...globex }],
      period: 'previous_month',
    });
  });

  it('are several if the accounts of one would not fit into its input', () => {
    const advertiser_ids = Array.from({ length: 700 }, () => randomUUID());
    const accounts = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, { advertiser_ids }]));
    const runs = [{ period: 'yesterday', schedule: 'rate(1 day)' }];
    const ofManyAdvertisers = synthesizeStack({
      accounts,
      exports: [{ name: 'daily', metrics: ['spend'], runs }],
    });
    const inputs = [...resourcesOf(ofManyAdvertisers, 'AWS::Scheduler::Schedule').values()].map(
      ({ Properties }) => JSON.parse(Properties.Target.Input).accounts.length,
    );
    expect(inputs).toEqual([2, 2]);
  });

  it('are there but start nothing while they are paused', () => {
    const [first] = CONTEXT.exports;
    const schedule = { expression: 'cron(30 0 * * ? *)', enabled: false };
    const paused = { ...first, runs: [{ period: 'yesterday', schedule }] };
    const ofPaused = resourcesOf(synthesizeStack({ exports: [paused] }), 'AWS::Scheduler::Schedule');
    expect(ofPaused.get('Schedulesdaily1')?.Properties.State).toBe('DISABLED');
  });

  it('start the state machine with the whole request and the time, so that a second start repeats it', () => {
    const { accounts: _, runs, ...what } = CONTEXT.exports[0] ?? {};
    const accounts = [{ account: 'acme', ...CONTEXT.accounts.acme }];
    const request = { ...what, accounts, max_accounts: 10, period: 'yesterday', run: 'daily#1' };
    expect(readable(daily?.Target.Arn)).toBe('<WorkflowStateMachine>');
    expect(inputAt('2026-03-28T23:30:00Z')).toEqual({ ...request, scheduled_at: '2026-03-28T23:30:00Z' });
  });

  it('leave out what only the stack reads, so that the input is a request', () => {
    const described = { ...CONTEXT.exports[0], columns: { spend: 'bigint' }, date_column: 'day' };
    const ofDescribed = resourcesOf(synthesizeStack({ exports: [described] }), 'AWS::Scheduler::Schedule');
    const input = JSON.parse(ofDescribed.get('Schedulesdaily1')?.Properties.Target.Input);
    expect(() => parseRequests({ ...input, scheduled_at: '2026-01-14T23:30:00Z' }, new Date())).not.toThrow();
  });

  it('retry a start three times within an hour, then keep the request in the queue for two weeks', () => {
    expect(readable(daily?.Target)).toMatchObject({
      RetryPolicy: { MaximumRetryAttempts: 3, MaximumEventAgeInSeconds: 3_600 },
      DeadLetterConfig: { Arn: '<SchedulesDeadLetterQueue.Arn>' },
    });
    const queue = resourcesOf(stack, 'AWS::SQS::Queue').get('SchedulesDeadLetterQueue');
    expect(queue?.Properties).toEqual({
      SqsManagedSseEnabled: true,
      MessageRetentionPeriod: 14 * 24 * 60 * 60,
    });
  });
});
