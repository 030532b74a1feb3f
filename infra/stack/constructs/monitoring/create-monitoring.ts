import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { IStateMachine, LogOptions, StateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import type { Construct } from 'constructs';
import type { Config } from '../../config/config.ts';
import { runsToCheck } from '../../config/scheduled-runs.ts';
import { encryptExecutions } from '../encryption-key.ts';
import type { ExportSchedules } from '../export-schedules.ts';
import type { StepFunctions } from '../workflow-states.ts';
import { createAlarmTopic } from './alarm-topic.ts';
import { ExportAlarms } from './export-alarms.ts';
import { ReadyChecks } from './ready-checks.ts';

interface MonitoringProps {
  readonly config: Config;
  readonly functions: StepFunctions;
  readonly logs: LogOptions;
  readonly stateMachine: IStateMachine;
  readonly schedules: ExportSchedules;
  /** A topic of the caller. By default, one is created. */
  readonly topic: ITopic | undefined;
  readonly encryptionKey: IKey | undefined;
}

/** Creates what tells people of trouble: the topic, the checks of `ready_by`, and the alarms. */
export function createMonitoring(scope: Construct, props: MonitoringProps) {
  const { config, functions, logs, stateMachine, schedules, encryptionKey } = props;
  const { deadLetterQueue } = schedules;
  const topic = createAlarmTopic(scope, 'AlarmTopic', { config, topic: props.topic, encryptionKey });
  const checked = runsToCheck(config.exports);
  /** Undefined if no run has a time by which it must be ready. */
  let readyChecks: StateMachine | undefined;
  if (checked.length > 0) {
    readyChecks = new ReadyChecks(scope, 'ReadyChecks', { functions, logs, topic }).stateMachine;
    encryptExecutions(readyChecks, encryptionKey);
    schedules.add(readyChecks, checked, 'checked_at');
  }
  new ExportAlarms(scope, 'Alarms', { config, stateMachine, readyChecks, deadLetterQueue, topic });
  return { topic, readyChecks };
}
