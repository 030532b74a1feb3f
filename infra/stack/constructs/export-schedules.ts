import { Duration, RemovalPolicy, Stack, TimeZone } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import {
  ContextAttribute,
  Schedule,
  ScheduleExpression,
  ScheduleGroup,
  ScheduleTargetInput,
} from 'aws-cdk-lib/aws-scheduler';
import { StepFunctionsStartExecution } from 'aws-cdk-lib/aws-scheduler-targets';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import type { IStateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { Construct, type IConstruct } from 'constructs';
import type { Config } from '../config/config.ts';
import { runsToStart, type ScheduledRun } from '../config/scheduled-runs.ts';
import { grantKey } from './encryption-key.ts';

/** Retries of a failed start, all within the hour. The default is 185 retries in 24 h. */
const START_RETRIES = 3;
const START_WITHIN = Duration.hours(1);

/** The maximum of SQS, so that an operator still finds the request after two weeks of holiday. */
const KEEP_DEAD_LETTERS = Duration.days(14);

/** Starts scheduled exports, each with its whole request. Others go to the dead-letter queue. */
export class ExportSchedules extends Construct {
  readonly deadLetterQueue: Queue;
  private readonly group: ScheduleGroup;
  private readonly role: Role;

  constructor(scope: Construct, id: string, key: IKey | undefined) {
    super(scope, id);
    this.deadLetterQueue = new Queue(this, 'DeadLetterQueue', {
      ...(key
        ? { encryption: QueueEncryption.KMS, encryptionMasterKey: key }
        : { encryption: QueueEncryption.SQS_MANAGED }),
      enforceSSL: true,
      retentionPeriod: KEEP_DEAD_LETTERS,
    });
    this.group = new ScheduleGroup(this, 'Group', { removalPolicy: RemovalPolicy.DESTROY });
    this.createAfter(this.deadLetterQueue);
    const { scheduleGroupArn } = this.group;
    // Only the schedules of this group can assume the role.
    const conditions = {
      StringEquals: { 'aws:SourceAccount': Stack.of(this).account, 'aws:SourceArn': scheduleGroupArn },
    };
    const assumedBy = new ServicePrincipal('scheduler.amazonaws.com', { conditions });
    this.role = new Role(this, 'Role', { assumedBy });
    grantKey(this.role, key, 'sqs', ['kms:Decrypt', 'kms:GenerateDataKey']);
  }

  /** Starts the runs of the config. */
  startExports(stateMachine: IStateMachine, { exports, max_accounts }: Config): void {
    this.add(stateMachine, runsToStart(exports, max_accounts), 'scheduled_at');
  }

  /**
   * Starts executions of a state machine.
   *
   * @param time the field of their input for the scheduled time, which fixes the dates of a period, however
   *   late the start succeeds
   */
  add(stateMachine: IStateMachine, runs: readonly ScheduledRun[], time: 'scheduled_at' | 'checked_at'): void {
    for (const { id, description, schedule, input } of runs) {
      const { expression, time_zone, enabled } = schedule;
      const created = new Schedule(this, id, {
        scheduleGroup: this.group,
        description,
        schedule: ScheduleExpression.expression(expression, TimeZone.of(time_zone ?? 'UTC')),
        enabled,
        target: new StepFunctionsStartExecution(stateMachine, {
          role: this.role,
          input: ScheduleTargetInput.fromObject({ ...input, [time]: ContextAttribute.scheduledTime }),
          retryAttempts: START_RETRIES,
          maxEventAge: START_WITHIN,
          deadLetterQueue: this.deadLetterQueue,
        }),
      });
      created.node.addDependency(this.role);
    }
  }

  /**
   * Creates the schedules after these. A schedule with a rate starts an export as soon as it exists. If
   * anything failed after that, the bucket would have an object, and a rollback could not delete it.
   */
  createAfter(...others: readonly IConstruct[]): void {
    this.group.node.addDependency(...others);
  }
}
