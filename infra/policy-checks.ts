import { type App, type CfnResource, Validations } from 'aws-cdk-lib';
import { CfnFunction } from 'aws-cdk-lib/aws-lambda';
import { CfnBucket } from 'aws-cdk-lib/aws-s3';
import { CfnStateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { AwsSolutionsChecks } from 'cdk-nag';
import type { IConstruct } from 'constructs';
import { EXPORTS_PREFIX, FAILURE, MANIFEST } from '../functions/workflow/keys.ts';
import type { ExportStack } from './stack.ts';

/** Fails the synth on every finding of cdk-nag's AwsSolutions pack, but for those that are acknowledged here. */
export function addPolicyChecks(app: App, stack: ExportStack): void {
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  acknowledgeBucket(stack);
  acknowledgeSecrets(stack);
  acknowledgeWorkflow(stack);
  acknowledgeSchedules(stack);
}

function acknowledgeBucket(stack: ExportStack): void {
  acknowledge(
    stack.node.findChild('Exports'),
    'S1',
    'Who reads a report is for the data events of CloudTrail, which an organization switches on for all its buckets; access logs would need a second bucket that is as open to be read and less complete.',
  );
  const [bucket] = logicalIds(stack, CfnBucket);
  acknowledge(
    stack.node.findChild('Functions'),
    wildcard(`<${bucket}.Arn>/${EXPORTS_PREFIX}*`),
    'Keys are made of the account, the export and the dates of each window; all of them lie under this one prefix.',
  );
  for (const name of [FAILURE, MANIFEST]) {
    acknowledge(
      stack.node.findChild('Functions'),
      wildcard(`<${bucket}.Arn>/${EXPORTS_PREFIX}*/${name}`),
      'It lies beside the objects of any account, export and window; this names it and nothing else.',
    );
  }
}

function acknowledgeSecrets(stack: ExportStack): void {
  acknowledge(
    stack.node.findChild('Secrets'),
    'SMG4',
    'The platform issues credentials and has no way to rotate them; the token is renewed by GetToken whenever it ends.',
  );
}

function acknowledgeWorkflow(stack: ExportStack): void {
  const workflow = stack.node.findChild('Workflow');
  for (const id of logicalIds(stack, CfnFunction)) {
    acknowledge(
      workflow,
      wildcard(`<${id}.Arn>:*`),
      'The versions of one function of this stack, as grantInvoke gives them.',
    );
  }
  acknowledge(
    workflow,
    wildcard('*'),
    'The delivery of logs and the traces of X-Ray have no resource that a permission could be limited to.',
  );
  const [machine] = logicalIds(stack, CfnStateMachine);
  const executions = `arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:execution:{"Fn::Select":[6,{"Fn::Split":[":",{"Ref":"${machine}"}]}]}`;
  for (const children of [`${executions}:*`, `${executions}/*:*`]) {
    acknowledge(
      workflow,
      wildcard(children),
      'The child executions of its own Distributed Map, whose names are made at run time.',
    );
  }
}

function acknowledgeSchedules(stack: ExportStack): void {
  acknowledge(
    stack.node.findChild('Schedules'),
    'SQS3',
    'It is itself the dead-letter queue, of EventBridge Scheduler, which the rule does not look at.',
  );
}

function acknowledge(scope: IConstruct, rule: string, reason: string): void {
  Validations.of(scope).acknowledge({ id: `AwsSolutions::AwsSolutions-${rule}`, reason });
}

/** The rule's id for one wildcard: any other one in the same policy is still a finding. */
function wildcard(resource: string): string {
  return `IAM5[Resource::${resource}]`;
}

function logicalIds(stack: ExportStack, type: abstract new (...args: never[]) => CfnResource): string[] {
  const resources = stack.node.findAll().filter((node): node is CfnResource => node instanceof type);
  return resources.map((resource) => stack.resolve(resource.logicalId));
}
