import { ArnFormat, Stack, Validations } from 'aws-cdk-lib';
import type { StateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import type { Construct } from 'constructs';
import {
  ADVERTISER_LISTS,
  EXPORTS_PREFIX,
  FAILURE,
  LEASES_PREFIX,
  MANIFEST,
  PLANS,
} from '../../functions/workflow/keys.ts';
import { TABLES_PREFIX } from '../../functions/workflow/table.ts';
import { RESULTS_PREFIX } from '../config/config.ts';
import { childExecutions } from './child-executions.ts';
import type { ExportBucket } from './export-bucket.ts';
import type { ExportTables } from './export-tables.ts';
import type { StepFunctions } from './workflow-states.ts';

interface Checked {
  /** The stack in the config. */
  readonly stack: string;
  readonly bucket: ExportBucket;
  readonly tables: ExportTables | undefined;
  readonly stateMachine: StateMachine;
  readonly functions: StepFunctions;
  readonly isInVpc: boolean;
}

/** A child of the construct, the rule that it may break, and why. */
type Acknowledgement = readonly [child: string, rule: string, reason: string];

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

const WINDOWS =
  'The keys contain the account, the export and the dates of each window, all under this prefix.';
const BESIDES = 'The object of this name, next to the reports of any account, export and window.';
const MONTHS = 'The objects of all tables: one per account and month.';
const SCHEMAS = "The tables of this stack's own database. A list of them would outgrow the policy.";
const ACCOUNTS = 'The secrets of this stack, two per account. A list of them would outgrow the policy.';
const STACK = 'The id of this stack, which only its creation tells.';
const VERSIONS = 'The versions of one function of this stack.';
const DELIVERIES = 'Log deliveries and X-Ray traces have no resource that a permission could be limited to.';
const CHILDREN = 'The child executions of its own Distributed Map, which are named at run time.';
const EXECUTIONS = 'The executions of its own state machine, which are named at run time.';
const INTERFACES = 'Lambda makes network interfaces with it, whose ids nobody knows before.';
const LISTS =
  'Lists of workgroups and catalogs have no resource, and drivers write the name of a catalog in any case.';

/**
 * Acknowledges findings of cdk-nag's AwsSolutions pack, for this construct and for apps that check themselves.
 * An app without cdk-nag ignores this.
 */
export function acknowledgeFindings(scope: Construct, checked: Checked): void {
  // A reference to another stack gets its final form just before the validation.
  const acknowledge = () => {
    for (const [child, rule, reason] of [...ACKNOWLEDGED, ...wildcards(scope, checked)]) {
      const found = scope.node.tryFindChild(child);
      if (found) Validations.of(found).acknowledge({ id: `AwsSolutions::AwsSolutions-${rule}`, reason });
    }
    return [];
  };
  scope.node.addValidation({ validate: acknowledge });
}

/** The wildcards in policies, each by its resource. Any other wildcard is still a finding. */
function wildcards(
  scope: Construct,
  { stack, bucket, tables, stateMachine, functions, isInVpc }: Checked,
): Acknowledgement[] {
  const arnOf = (service: string, resource: string, resourceName: string, separator: ':' | '/') =>
    Stack.of(scope).formatArn({
      service,
      resource,
      resourceName,
      arnFormat: separator === ':' ? ArnFormat.COLON_RESOURCE_NAME : ArnFormat.SLASH_RESOURCE_NAME,
    });
  const objects = (keys: string) => bucket.bucket.arnForObjects(keys);
  const windows = `${EXPORTS_PREFIX}*`;
  const secret = (name: string) => arnOf('secretsmanager', 'secret', `${stack}/*/${name}-??????`, ':');
  const schemas = tables && ([arnOf('glue', 'table', `${tables.database}/*`, '/'), SCHEMAS] as const);
  const ofStack = [arnOf('cloudformation', 'stack', `${Stack.of(scope).stackName}/*`, '/'), STACK] as const;
  const versions = Object.values(functions).map(({ functionArn }) => [`${functionArn}:*`, VERSIONS] as const);
  const executions = (['execution', 'mapRun'] as const).map(
    (resource) => [childExecutions(stateMachine, resource), CHILDREN] as const,
  );
  const own = [childExecutions(stateMachine, 'execution', ':*'), EXECUTIONS] as const;
  const files = [
    [objects(windows), WINDOWS],
    [objects(`${TABLES_PREFIX}*`), MONTHS],
    [objects(`${LEASES_PREFIX}*`), 'The leases of all accounts, one object each.'],
    [secret('credential'), ACCOUNTS],
    ...(schemas ? [schemas] : []),
  ] as const;
  const allowed: Readonly<Record<string, readonly (readonly [resource: string, reason: string])[]>> = {
    Functions: [
      ...files,
      [secret('token'), ACCOUNTS],
      [objects(`${windows}/${FAILURE}`), BESIDES],
      [objects(`${windows}/${MANIFEST}`), BESIDES],
      [objects(`${windows}/${PLANS}*`), 'The plans of any account and export, named after their days.'],
      [
        objects(`${windows}/${ADVERTISER_LISTS}*`),
        'The lists of any account and export, named after their time.',
      ],
      ...(isInVpc ? [['*', INTERFACES] as const] : []),
    ],
    Workflow: [...versions, ['*', DELIVERIES], ...executions, own],
    ReadyChecks: [...versions, ['*', DELIVERIES]],
    Tables: [
      [objects(`${TABLES_PREFIX}*`), MONTHS],
      [objects(`${RESULTS_PREFIX}*`), 'The results of all queries of the workgroup.'],
      ...(schemas ? [schemas] : []),
      ['*', LISTS],
      ofStack,
    ],
    Operator: [...files, ofStack, own, ...executions],
  };
  return Object.entries(allowed).flatMap(([child, resources]) =>
    resources.map(
      ([resource, reason]) =>
        [child, `IAM5[Resource::${flatten(Stack.of(scope).resolve(resource))}]`, reason] as const,
    ),
  );
}

/** A resource as cdk-nag's findings have it, such as `<ExportsBucket54D5CE64.Arn>/exports/*`. */
function flatten(value: unknown): string {
  if (typeof value === 'string') return value;
  const { Ref, 'Fn::GetAtt': attribute, 'Fn::ImportValue': imported, 'Fn::Join': join } = Object(value);
  if (Ref) return `<${Ref}>`;
  if (attribute) return `<${attribute.join('.')}>`;
  if (imported) return flatten(imported);
  return join ? join[1].map(flatten).join(join[0]) : JSON.stringify(value);
}
