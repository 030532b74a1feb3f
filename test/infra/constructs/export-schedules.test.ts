import { describe, expect, it } from 'vitest';
import { parseRequest } from '../../../functions/workflow/request/request.ts';
import { CONTEXT, readable, resourcesOf, synthesizeStack } from '../../support/stack.ts';

const stack = synthesizeStack();
const schedules = resourcesOf(stack, 'AWS::Scheduler::Schedule');
const daily = schedules.get('Schedulesacmedaily')?.Properties;

/** The execution's input when the schedule starts it at `instant`. */
function inputAt(instant: string): unknown {
  return JSON.parse(daily?.Target.Input.replace('<aws.scheduler.scheduled-time>', instant));
}

type Resources = Readonly<Record<string, { readonly Type: string }>>;

/** The resources that CloudFormation creates before this one. */
function createdBefore(all: Resources, id: string, found = new Set<string>()): Set<string> {
  const named = JSON.stringify(all[id]).matchAll(/"(?:Ref|Fn::GetAtt|DependsOn)":(\[[^\]]*\]|"[^"]*")/g);
  for (const other of [...named].flatMap(([, names = '']) => JSON.parse(names)))
    if (other in all && !found.has(other)) createdBefore(all, other, found.add(other));
  return found;
}

describe('schedules', () => {
  it('are created last, because one with a rate starts an export at once, and a bucket with objects cannot be rolled back', () => {
    const slack = { workspace_id: 'T0123ABCD', channel_id: 'C0123ABCD' };
    const all: Resources = synthesizeStack({ kms_key: 'create', slack }).template.Resources;
    const isSchedule = (id: string) => all[id]?.Type === 'AWS::Scheduler::Schedule';
    const [schedules, others] = [true, false].map((is) =>
      Object.keys(all).filter((id) => isSchedule(id) === is),
    );
    for (const id of schedules ?? []) expect([...createdBefore(all, id)].sort()).toEqual(others?.sort());
    for (const id of others ?? []) expect(createdBefore(all, id)).not.toContain(id);
  });

  it('exist for the exports that have one, in their time zone', () => {
    expect([...schedules.keys()]).toEqual(['Schedulesacmedaily']);
    expect(daily).toMatchObject({
      ScheduleExpression: 'cron(30 0 * * ? *)',
      ScheduleExpressionTimezone: 'Europe/Berlin',
      FlexibleTimeWindow: { Mode: 'OFF' },
      State: 'ENABLED',
    });
  });

  it('are there but start nothing while they are paused', () => {
    const [first] = CONTEXT.exports;
    const paused = { ...first, schedule: { ...first?.schedule, enabled: false } };
    const other = resourcesOf(synthesizeStack({ exports: [paused] }), 'AWS::Scheduler::Schedule');
    expect(other.get('Schedulesacmedaily')?.Properties.State).toBe('DISABLED');
  });

  it('start the state machine with the whole request and the scheduled time', () => {
    const { schedule, ...request } = CONTEXT.exports[0] ?? {};
    expect(readable(daily?.Target.Arn)).toBe('<WorkflowStateMachine>');
    expect(inputAt('2026-03-28T23:30:00Z')).toEqual({
      ...request,
      time_zone: 'Europe/Berlin',
      scheduled_at: '2026-03-28T23:30:00Z',
    });
  });

  it('leave out what only the stack reads, so that the input is a request', () => {
    const described = { ...CONTEXT.exports[0], columns: { spend: 'bigint' }, date_column: 'day' };
    const other = resourcesOf(synthesizeStack({ exports: [described] }), 'AWS::Scheduler::Schedule');
    const input = JSON.parse(other.get('Schedulesacmedaily')?.Properties.Target.Input);
    expect(() => parseRequest({ ...input, scheduled_at: '2026-01-14T23:30:00Z' }, new Date())).not.toThrow();
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
