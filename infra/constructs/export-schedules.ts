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
import { Construct } from 'constructs';
import type { ConfiguredExport, Schedule as ConfiguredSchedule } from '../config.ts';
import { grantKey } from './encryption-key.ts';

/** A start that fails is tried again this often within the hour. The default is 185 times, for a day. */
const START_ATTEMPTS = 3;
const START_WITHIN = Duration.hours(1);

/** As long as SQS allows: whoever is on holiday still finds the request that was not started. */
const KEEP_UNSTARTED = Duration.days(14);

interface ExportSchedulesProps {
  readonly exports: readonly ConfiguredExport[];
  readonly stateMachine: IStateMachine;
  readonly encryptionKey?: IKey | undefined;
}

/** Starts exports by the clock, each with its whole request; what cannot be started lands in the queue. */
export class ExportSchedules extends Construct {
  readonly unstarted: Queue;

  constructor(scope: Construct, id: string, props: ExportSchedulesProps) {
    super(scope, id);
    const { exports, stateMachine, encryptionKey: key } = props;
    this.unstarted = new Queue(this, 'Unstarted', {
      ...(key
        ? { encryption: QueueEncryption.KMS, encryptionMasterKey: key }
        : { encryption: QueueEncryption.SQS_MANAGED }),
      enforceSSL: true,
      retentionPeriod: KEEP_UNSTARTED,
    });
    const group = new ScheduleGroup(this, 'Group', { removalPolicy: RemovalPolicy.DESTROY });
    const role = this.role(group);
    grantKey(role, key, 'sqs', ['kms:Decrypt', 'kms:GenerateDataKey']);
    for (const { schedule, ...request } of exports) {
      if (!schedule) continue;
      // Neither name can hold the dot, so no two exports share an id.
      new Schedule(this, `${request.account}.${request.name}`, {
        scheduleGroup: group,
        description: `Export ${request.name} of account ${request.account}`,
        schedule: expressionOf(schedule),
        target: this.start(stateMachine, role, request),
      });
    }
  }

  /** For the schedules of this group and no others. */
  private role({ scheduleGroupArn }: ScheduleGroup): Role {
    const conditions = {
      StringEquals: { 'aws:SourceAccount': Stack.of(this).account, 'aws:SourceArn': scheduleGroupArn },
    };
    return new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('scheduler.amazonaws.com', { conditions }),
    });
  }

  /** `scheduled_at` makes a period mean the same dates however late the start succeeds. */
  private start(stateMachine: IStateMachine, role: Role, request: Readonly<Record<string, unknown>>) {
    return new StepFunctionsStartExecution(stateMachine, {
      role,
      input: ScheduleTargetInput.fromObject({ ...request, scheduled_at: ContextAttribute.scheduledTime }),
      retryAttempts: START_ATTEMPTS,
      maxEventAge: START_WITHIN,
      deadLetterQueue: this.unstarted,
    });
  }
}

function expressionOf({ expression, time_zone }: ConfiguredSchedule): ScheduleExpression {
  return ScheduleExpression.expression(expression, TimeZone.of(time_zone ?? 'UTC'));
}
