import { ArnFormat, Aws, Duration, Stack } from 'aws-cdk-lib';
import { Policy, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import type { Construct } from 'constructs';
import { MIN_WAIT } from '../../../functions/decisions/waits.ts';
import { type AccountEnd, ALREADY_STARTED, type WindowState } from '../../../functions/workflow/states.ts';
import { retries } from './retries.ts';
import { CAUGHT } from './workflow-states.ts';

/**
 * A window ends within 24 h in the worst case, so 100 windows, one at a time, end within 100 days. The
 * export's own states, which list the advertisers, take a day more. Nearly all exports end within minutes.
 */
export const EXECUTION_TIMEOUT = Duration.days(101);

/** A window at its start. */
const PLANNED = {
  status: 'planned',
  wait_seconds: MIN_WAIT,
  throttled: 0,
  reports: [],
} as const satisfies Partial<WindowState>;

/**
 * An export of accounts, also of one, is an execution of this state machine for each. Each announces its end.
 * The others continue when one fails. Stopping this execution stops them.
 */
export function exportAccounts(scope: Construct): sfn.Map {
  const exportAccount = new sfn.CustomState(scope, 'ExportAccount', {
    // CDK's own task would name this state machine, and so itself.
    stateJson: {
      Type: 'Task',
      Resource: `arn:${Aws.PARTITION}:states:::states:startExecution.sync:2`,
      Parameters: {
        'StateMachineArn.$': '$$.StateMachine.Id',
        'Name.$': '$.execution',
        'Input.$': '$.input',
      },
      TimeoutSeconds: EXECUTION_TIMEOUT.toSeconds(),
      ResultPath: null,
    },
  });
  for (const retry of retries.ExportAccount) exportAccount.addRetry(retry);
  const end = (id: string, outcome: AccountEnd['outcome'], more = {}) =>
    new sfn.Pass(scope, id, {
      parameters: { 'account.$': '$.account', 'execution.$': '$.execution', outcome, ...more },
    });
  return new sfn.Map(scope, 'ExportAccounts', {
    itemsPath: '$.accounts',
    maxConcurrencyPath: '$.max_accounts',
    itemSelector: {
      'account.$': '$$.Map.Item.Value.account',
      'execution.$': '$$.Map.Item.Value.name',
      // The request comes last, as in `requestsIn`.
      'input.$': 'States.JsonMerge($$.Map.Item.Value.facts, $.request, false)',
    },
    resultSelector: {
      'accounts.$': '$',
      'has_failed.$': "States.ArrayContains($[*].outcome, 'failed')",
      'has_repeated.$': "States.ArrayContains($[*].outcome, 'repeated')",
    },
  }).itemProcessor(
    exportAccount
      .addCatch(end('AccountRepeated', 'repeated'), {
        errors: [ALREADY_STARTED],
        resultPath: sfn.JsonPath.DISCARD,
      })
      .addCatch(end('AccountFailed', 'failed', { 'error.$': `${CAUGHT}.Error` }), { resultPath: CAUGHT })
      .next(end('AccountDelivered', 'delivered')),
  );
}

/**
 * Each window is a child execution with a history of its own: a history holds 25,000 events, and a window
 * can write 23,000. The other windows continue when one dies without a result; PublishExport reports it.
 */
export function exportWindows(scope: Construct, windowStates: sfn.IChainable): sfn.DistributedMap {
  return new sfn.DistributedMap(scope, 'ExportWindows', {
    itemsPath: '$.windows',
    maxConcurrencyPath: '$.request.max_parallel',
    toleratedFailurePercentage: 100,
    itemSelector: {
      'execution.$': '$.execution',
      'request.$': '$.request',
      'warnings.$': '$.warnings',
      'advertisers.$': '$.advertisers',
      'export_warnings.$': 'States.ArrayLength($.warnings)',
      'window.$': '$$.Map.Item.Value',
      ...PLANNED,
    },
    resultPath: '$.results',
  }).itemProcessor(windowStates);
}

/**
 * The executions of windows, or the runs of the Distributed Map that starts them. They belong to
 * `<state machine>/<label of the Distributed Map>`.
 */
export function childExecutions(machine: sfn.StateMachine, resource: 'execution' | 'mapRun'): string {
  const stack = Stack.of(machine);
  const arnFormat = ArnFormat.COLON_RESOURCE_NAME;
  const { resourceName: name } = stack.splitArn(machine.stateMachineArn, arnFormat);
  return stack.formatArn({ service: 'states', resource, resourceName: `${name}/*:*`, arnFormat });
}

/**
 * CDK lets the Distributed Map redrive the executions of windows, but describe and stop only executions of
 * the state machine itself. Executions of accounts are among these, and a rule of EventBridge tells of their
 * end.
 */
export function allowChildExecutions(machine: sfn.StateMachine): void {
  const actions = ['states:DescribeExecution', 'states:StopExecution'];
  // A separate policy: it names the state machine, which depends on its role's default policy.
  new Policy(machine, 'ChildExecutionsPolicy', {
    roles: [machine.role],
    statements: [new PolicyStatement({ actions, resources: [childExecutions(machine, 'execution')] })],
  });
  const resourceName = 'StepFunctionsGetEventsForStepFunctionsExecutionRule';
  const resources = [Stack.of(machine).formatArn({ service: 'events', resource: 'rule', resourceName })];
  const ofRule = ['events:PutTargets', 'events:PutRule', 'events:DescribeRule'];
  // In the default policy: Step Functions makes the rule when the state machine is created or updated.
  machine.addToRolePolicy(new PolicyStatement({ actions: ofRule, resources }));
}
