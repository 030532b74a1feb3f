import { statSync } from 'node:fs';
import { Annotations, type App, type CfnResource, Validations } from 'aws-cdk-lib';
import { CfnFunction } from 'aws-cdk-lib/aws-lambda';
import { CfnBucket } from 'aws-cdk-lib/aws-s3';
import { CfnStateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import type { CloudFormationStackArtifact } from 'aws-cdk-lib/cx-api';
import { AwsSolutionsChecks } from 'cdk-nag';
import {
  ADVERTISER_LISTS,
  EXPORTS_PREFIX,
  FAILURE,
  LEASES_PREFIX,
  MANIFEST,
  PLANS,
} from '../functions/workflow/keys.ts';
import { metricType, TABLES_PREFIX } from '../functions/workflow/table.ts';
import { type Config, InvalidConfig, RESULTS_PREFIX } from './config/config.ts';
import { type ConfiguredExport, tableSource } from './config/exports.ts';
import { databaseName } from './constructs/export-tables.ts';
import type { ExportStack } from './stack.ts';

// The checks of `cdk synth` that a local run leaves out.

/** A construct of the stack, the rule that it may break, and why. */
type Acknowledgement = readonly [construct: string, rule: string, reason: string];

const ACKNOWLEDGED: readonly Acknowledgement[] = [
  [
    'Exports',
    'S1',
    'CloudTrail data events, which an organization turns on for all its buckets, record who reads a report. Access logs would need a second bucket that is just as readable, and are less complete.',
  ],
  [
    'Secrets',
    'SMG4',
    'The platform issues credentials and has no way to rotate them. GetToken renews the token when it expires.',
  ],
  [
    'Schedules',
    'SQS3',
    'It is itself the dead-letter queue of EventBridge Scheduler, which the rule does not consider.',
  ],
];

/** Fails the synth on every finding of cdk-nag's AwsSolutions pack that is not acknowledged here. */
export function addPolicyChecks(app: App, stack: ExportStack): void {
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  for (const [construct, rule, reason] of [...ACKNOWLEDGED, ...wildcards(stack)])
    Validations.of(stack.node.findChild(construct)).acknowledge({
      id: `AwsSolutions::AwsSolutions-${rule}`,
      reason,
    });
}

/** The wildcards in policies, each by its resource. Any other wildcard is still a finding. */
function wildcards(stack: ExportStack): Acknowledgement[] {
  const [bucket] = logicalIds(stack, CfnBucket);
  const objects = `<${bucket}.Arn>/${EXPORTS_PREFIX}*`;
  const keys =
    'The keys contain the account, the export and the dates of each window, all under this prefix.';
  const besides = 'The object of this name, next to the reports of any account, export and window.';
  const months = 'The objects of all tables: one per account and month.';
  const catalog = `arn:<AWS::Partition>:glue:<AWS::Region>:<AWS::AccountId>:table`;
  const tables = "The tables of this stack's own database. A list of them would outgrow the policy.";
  const versions = 'The versions of one function of this stack.';
  const deliveries =
    'Log deliveries and X-Ray traces have no resource that a permission could be limited to.';
  const accounts = 'The secrets of this stack, two per account. A list of them would outgrow the policy.';
  const secrets = `arn:<AWS::Partition>:secretsmanager:<AWS::Region>:<AWS::AccountId>:secret:${stack.stackName}`;
  const children = 'The child executions of its own Distributed Map, which are named at run time.';
  const machines = ['Workflow', 'ReadyChecks'].filter((id) => stack.node.tryFindChild(id));
  const allowed: Acknowledgement[] = [
    ['Functions', objects, keys],
    ['Functions', `${objects}/${FAILURE}`, besides],
    ['Functions', `${objects}/${MANIFEST}`, besides],
    ['Functions', `${objects}/${PLANS}*`, 'The plans of any account and export, named after their days.'],
    [
      'Functions',
      `${objects}/${ADVERTISER_LISTS}*`,
      'The lists of any account and export, named after their time.',
    ],
    ['Functions', `<${bucket}.Arn>/${TABLES_PREFIX}*`, months],
    ['Functions', `<${bucket}.Arn>/${LEASES_PREFIX}*`, 'The leases of all accounts, one object each.'],
    ['Functions', `${catalog}/${databaseName(stack.stackName)}/*`, tables],
    ['Functions', `${secrets}/*/credential-??????`, accounts],
    ['Functions', `${secrets}/*/token-??????`, accounts],
    ...machines.flatMap((machine) => [
      ...logicalIds(stack, CfnFunction).map((id) => [machine, `<${id}.Arn>:*`, versions] as const),
      [machine, '*', deliveries] as const,
    ]),
    ...childExecutions(stack).map((arn) => ['Workflow', arn, children] as const),
  ];
  if (stack.node.tryFindChild('Tables'))
    allowed.push(
      ['Tables', `<${bucket}.Arn>/${TABLES_PREFIX}*`, months],
      ['Tables', `<${bucket}.Arn>/${RESULTS_PREFIX}*`, 'The results of all queries of the workgroup.'],
      ['Tables', `${catalog}/${databaseName(stack.stackName)}/*`, tables],
      [
        'Tables',
        '*',
        'Lists of workgroups and catalogs have no resource, and drivers write the name of a catalog in any case.',
      ],
      [
        'Tables',
        `arn:<AWS::Partition>:cloudformation:<AWS::Region>:<AWS::AccountId>:stack/${stack.stackName}/*`,
        'The id of this stack, which only its creation tells.',
      ],
    );
  return allowed.map(([construct, resource, reason]) => [construct, `IAM5[Resource::${resource}]`, reason]);
}

function childExecutions(stack: ExportStack): string[] {
  const [machine] = logicalIds(stack, CfnStateMachine);
  const name = `{"Fn::Select":[6,{"Fn::Split":[":",{"Ref":"${machine}"}]}]}`;
  const executions = `arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:execution:${name}`;
  return [`${executions}:*`, `${executions}/*:*`];
}

function logicalIds(stack: ExportStack, type: abstract new (...args: never[]) => CfnResource): string[] {
  const resources = stack.node.findAll().filter((node): node is CfnResource => node instanceof type);
  return resources.map((resource) => stack.resolve(resource.logicalId));
}

/** CloudFormation refuses a larger template. */
const MAX_TEMPLATE_BYTES = 1_000_000;

/** @throws InvalidConfig if CloudFormation would refuse the template for its size */
export function checkTemplate({ templateFullPath }: CloudFormationStackArtifact): void {
  const { size } = statSync(templateFullPath);
  if (size <= MAX_TEMPLATE_BYTES) return;
  throw new InvalidConfig([
    `exports: make a template of ${size} bytes, and CloudFormation takes ${MAX_TEMPLATE_BYTES}. Set advertiser_ids to "all" ` +
      'instead of long lists, or deploy some exports in a second stack, with another name in stack.',
  ]);
}

/**
 * Warns about metrics whose type is a guess, and about what an existing topic has to allow: without it,
 * alarms are lost, and only their own history says so.
 */
export function addWarnings(stack: ExportStack, config: Config): void {
  const { exports, tables, alarm_topic_arn } = config;
  if (alarm_topic_arn !== undefined)
    Annotations.of(stack).addWarningV2(
      'ad-report-export:topic',
      `alarms notify ${alarm_topic_arn}, which the stack does not change. Its policy must allow cloudwatch.amazonaws.com ` +
        `sns:Publish for the alarms ${stack.stackName}-*. If it is encrypted, the policy of its key must allow ` +
        'cloudwatch.amazonaws.com kms:Decrypt and kms:GenerateDataKey*, which the key that AWS manages for SNS does not.',
    );
  for (const each of tables ? exports : []) {
    const guessed = guessedMetrics(each);
    if (guessed.length === 0) continue;
    const { account, name } = each;
    Annotations.of(stack).addWarningV2(
      `ad-report-export:type:${account}.${name}`,
      `export ${name} of account ${account} stores ${guessed.join(', ')} as double, which rounds, because the names tell no ` +
        'type. Set each type in columns now: a table never changes a type.',
    );
  }
}

/** Metrics of an export's table whose type follows neither from the config nor from their name. */
function guessedMetrics(entry: ConfiguredExport): string[] {
  const { request } = tableSource(entry) ?? {};
  if (request?.kind !== 'report') return [];
  const typed = Object.entries(entry.columns ?? {}).flatMap(([name, { type }]) =>
    type ? [name.toLowerCase()] : [],
  );
  return request.metrics.filter(
    (name) => metricType(name) === undefined && !typed.includes(name.toLowerCase()),
  );
}
