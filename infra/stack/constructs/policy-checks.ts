import { Stack, Validations } from 'aws-cdk-lib';
import { CfnManagedPolicy, CfnPolicy } from 'aws-cdk-lib/aws-iam';
import type { Construct, IConstruct } from 'constructs';

/** A rule that a child of a construct breaks, and why. */
export type Acknowledged = readonly [child: string, rule: string, reason: string];

const ACKNOWLEDGED: readonly Acknowledged[] = [
  ['Exports', 'S1', 'It would need one more bucket. Turn on CloudTrail data events to know who reads.'],
  ['Secrets', 'SMG4', 'Only the platform can rotate its credentials. GetToken renews an expired token.'],
  ['Schedules', 'SQS3', 'It is itself a dead-letter queue: the one of EventBridge Scheduler.'],
];

/** A resource of policies that ends with a wildcard, the children that may have it, and why. */
export type Wildcard = readonly [resource: RegExp, children: readonly string[], reason: string];

const WILDCARDS: readonly Wildcard[] = [
  [
    /\/exports\/\*$/,
    ['Functions', 'Operator', 'Keeper'],
    'The keys contain account, export and dates of a window.',
  ],
  [/\/exports\/\*\/_\w+(\.json|\/\*)$/, ['Functions'], 'The objects of this name beside the reports.'],
  [/\/tables\/\*$/, ['Functions', 'Tables', 'Operator', 'Keeper'], 'The objects of all tables.'],
  [/\/_pages\/\*$/, ['Functions'], 'The pages of lists of all executions.'],
  [/\/tables\/ledger\/\*$/, ['Functions'], 'The ledger of all exports.'],
  [/\/leases\/\*$/, ['Functions', 'Keeper'], 'The leases of all accounts, one object each.'],
  [/\/query-results\/\*$/, ['Tables'], 'The results of all queries of the workgroup.'],
  [
    /:table\/[^/]+\/\*$/,
    ['Functions', 'Tables', 'Operator', 'Keeper'],
    'A list of the tables would be too long.',
  ],
  [/:secret:[^*]+\/\*\/\w+-\?{6}$/, ['Functions', 'Keeper'], 'A list of the accounts would be too long.'],
  [
    /:stack\/[^*]+\/\*$/,
    ['Tables', 'Operator', 'Keeper'],
    'The id of this stack, which only its creation tells.',
  ],
  [/^<\w+\.Arn>:\*$/, ['Workflow', 'ReadyChecks'], 'The versions of one function of this stack.'],
  [/:(execution|mapRun):.+:\*$/, ['Workflow', 'Operator'], 'The executions are named at run time.'],
  [/:log-group:\*$/, ['Operator'], 'The group is looked for by the beginning of its name.'],
  [/^\*$/, ['Operator'], 'Alarms, schedules and limits of the AWS account are listed.'],
  [/^\*$/, ['Workflow', 'ReadyChecks'], 'Log deliveries and X-Ray traces have no resource to name.'],
  [/^\*$/, ['Tables'], 'Lists of workgroups have no resource. Drivers write catalogs in any case.'],
];

const INTERFACES: Wildcard = [/^\*$/, ['Functions'], 'Lambda makes the network interfaces of functions.'];

/** Acknowledges the findings in an export. */
export function acknowledgeFindings(scope: Construct, isInVpc: boolean): void {
  acknowledge(scope, ACKNOWLEDGED, isInVpc ? [...WILDCARDS, INTERFACES] : WILDCARDS);
}

/**
 * Acknowledges findings of cdk-nag's AwsSolutions pack in a construct, also for an app that has the pack
 * itself. Without it, this does nothing. Any other wildcard is still a finding.
 */
export function acknowledge(
  scope: Construct,
  rules: readonly Acknowledged[],
  wildcards: readonly Wildcard[],
): void {
  const accept = (construct: IConstruct, rule: string, reason: string) =>
    Validations.of(construct).acknowledge({ id: `AwsSolutions::AwsSolutions-${rule}`, reason });
  for (const [child, rule, reason] of rules) accept(scope.node.findChild(child), rule, reason);
  const validate = () => {
    for (const [pattern, children, reason] of wildcards)
      for (const policy of children.flatMap((id) => scope.node.tryFindChild(id)?.node.findAll() ?? []))
        for (const resource of resourcesIn(policy))
          if (pattern.test(resource)) accept(policy, `IAM5[Resource::${resource}]`, reason);
    return [];
  };
  // References to other stacks get their final form just before the validation.
  scope.node.addValidation({ validate });
}

/** The resources of a policy as findings have them, such as `<ExportsBucket54D5CE64.Arn>/exports/*`. */
function resourcesIn(policy: IConstruct): string[] {
  if (!(policy instanceof CfnPolicy || policy instanceof CfnManagedPolicy)) return [];
  const statements: { Resource: unknown }[] = Stack.of(policy).resolve(policy.policyDocument).Statement;
  return statements.flatMap(({ Resource }) => [Resource].flat().map(flatten));
}

function flatten(value: unknown): string {
  if (typeof value === 'string') return value;
  const { Ref, 'Fn::GetAtt': attribute, 'Fn::ImportValue': imported, 'Fn::Join': join } = Object(value);
  if (Ref) return `<${Ref}>`;
  if (attribute) return `<${attribute.join('.')}>`;
  if (imported) return flatten(imported);
  return join ? join[1].map(flatten).join(join[0]) : JSON.stringify(value);
}
