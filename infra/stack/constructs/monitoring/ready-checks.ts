import { Duration } from 'aws-cdk-lib';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import { SnsPublish } from 'aws-cdk-lib/aws-stepfunctions-tasks';
import { Construct } from 'constructs';
import { BETWEEN_CHECKS, MAX_CHECKS } from '../../../../functions/check-ready.ts';
import type { CheckedRun } from '../../../../functions/workflow/ready.ts';
import { grantKey } from '../encryption-key.ts';
import { retries } from '../retries.ts';
import { announce, invoke, type StepFunctions } from '../workflow-states.ts';

/** The checks of a run, and a day for checks that are tried again. */
const CHECK_TIMEOUT = Duration.seconds(MAX_CHECKS * BETWEEN_CHECKS).plus(Duration.days(1));

interface ReadyChecksProps extends Partial<sfn.StateMachineProps> {
  readonly functions: StepFunctions;
  readonly topic: ITopic;
}

/**
 * Checks at the time that a run names whether it has delivered. One execution says that it is late, and later
 * that it is there: an event and a message to the topic each time.
 */
export class ReadyChecks extends Construct {
  readonly stateMachine: sfn.StateMachine;

  constructor(scope: Construct, id: string, { functions, topic, ...props }: ReadyChecksProps) {
    super(scope, id);
    const checkReady = invoke(this, 'CheckReady', { functions, resultPath: '$.checked' });
    const isReady = new sfn.Choice(this, 'IsReady');
    const wait = new sfn.Wait(this, 'WaitForRun', {
      time: sfn.WaitTime.duration(Duration.seconds(BETWEEN_CHECKS)),
    });
    const checked = new sfn.Succeed(this, 'Checked');
    const late = announce(this, 'AnnounceLate', 'Report Late', '$.checked.readiness');
    const ready = announce(this, 'AnnounceReady', 'Report Ready', '$.checked.readiness');

    const is = (status: CheckedRun['status']) => sfn.Condition.stringEquals('$.checked.status', status);
    checkReady.next(isReady);
    isReady.when(is('late'), late).when(is('waiting'), wait).when(is('ready'), ready).otherwise(checked);
    late
      .next(tellReady(this, 'TellLate', topic))
      .next(wait)
      .next(checkReady);
    ready.next(tellReady(this, 'TellReady', topic)).next(checked);

    this.stateMachine = new sfn.StateMachine(this, 'StateMachine', {
      definitionBody: sfn.DefinitionBody.fromChainable(checkReady),
      timeout: CHECK_TIMEOUT,
      tracingEnabled: true,
      ...props,
    });
    grantKey(this.stateMachine, topic.masterKey, 'sns', ['kms:Decrypt', 'kms:GenerateDataKey']);
  }
}

/** A state that sends the message for a person. */
function tellReady(scope: Construct, id: string, topic: ITopic): SnsPublish {
  const task = new SnsPublish(scope, id, {
    topic,
    subject: sfn.JsonPath.stringAt('$.checked.readiness.subject'),
    message: sfn.TaskInput.fromJsonPathAt('$.checked.notification'),
    messagePerSubscriptionType: true,
    taskTimeout: sfn.Timeout.duration(Duration.minutes(1)),
    resultPath: sfn.JsonPath.DISCARD,
  });
  for (const retry of retries.Announce) task.addRetry(retry);
  return task;
}
