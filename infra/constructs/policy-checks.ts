import { Stack, Validations } from 'aws-cdk-lib';
import { CfnManagedPolicy, CfnPolicy } from 'aws-cdk-lib/aws-iam';
import type { Construct, IConstruct } from 'constructs';

/** Rules that a child of the construct breaks, and why. */
const ACKNOWLEDGED: Readonly<Record<string, readonly [rule: string, reason: string]>> = {
  Exports: [
    'S1',
    'CloudTrail data events, which an organization turns on for all its buckets, record who reads a report. Access logs would need a second bucket that is just as readable, and are less complete.',
  ],
  Secrets: [
    'SMG4',
    'The platform issues credentials and has no way to rotate them. GetToken renews the token when it expires.',
  ],
  Schedules: [
    'SQS3',
    'It is itself the dead-letter queue of EventBridge Scheduler, which the rule does not consider.',
  ],
};

/** Resources of policies that end with a wildcard, and why. */
type Wildcard = readonly [resource: RegExp, reason: string];

const WINDOWS: Wildcard = [/\/exports\/\*$/, 'The keys contain account, export and dates of each window.'];
const BESIDES: Wildcard = [
  /\/exports\/\*\/_\w+(\.json|\/\*)$/,
  'The objects of this name beside the reports.',
];
const MONTHS: Wildcard = [/\/tables\/\*$/, 'The objects of all tables: one per account and month.'];
const LEASES: Wildcard = [/\/leases\/\*$/, 'The leases of all accounts, one object each.'];
const RESULTS: Wildcard = [/\/query-results\/\*$/, 'The results of all queries of the workgroup.'];
const SCHEMAS: Wildcard = [/:table\/[^/]+\/\*$/, 'A list of the tables would outgrow the policy.'];
const SECRETS: Wildcard = [
  /:secret:[^*]+\/\*\/\w+-\?{6}$/,
  'A list of the accounts would outgrow the policy.',
];
const VERSIONS: Wildcard = [/^<\w+\.Arn>:\*$/, 'The versions of one function of this stack.'];
const EXECUTIONS: Wildcard = [/:(execution|mapRun):.+:\*$/, 'The executions are named at run time.'];
const STACK: Wildcard = [/:stack\/[^*]+\/\*$/, 'The id of this stack, which only its creation tells.'];
const DELIVERIES: Wildcard = [/^\*$/, 'Log deliveries and X-Ray traces have no resource to name.'];
const INTERFACES: Wildcard = [/^\*$/, 'Lambda makes the network interfaces of functions.'];
const LISTS: Wildcard = [/^\*$/, 'Lists of workgroups have no resource. Drivers write catalogs in any case.'];

/**
 * Acknowledges findings of cdk-nag's AwsSolutions pack in this construct, also for an app that has the pack
 * itself. Without it, this does nothing. Any other wildcard is still a finding.
 */
export function acknowledgeFindings(scope: Construct, isInVpc: boolean): void {
  const wildcards: Readonly<Record<string, readonly Wildcard[]>> = {
    Functions: [WINDOWS, BESIDES, MONTHS, LEASES, SCHEMAS, SECRETS, ...(isInVpc ? [INTERFACES] : [])],
    Workflow: [VERSIONS, EXECUTIONS, DELIVERIES],
    ReadyChecks: [VERSIONS, DELIVERIES],
    Tables: [MONTHS, RESULTS, SCHEMAS, STACK, LISTS],
    Operator: [WINDOWS, MONTHS, LEASES, SCHEMAS, SECRETS, STACK, EXECUTIONS],
  };
  const acknowledge = (construct: IConstruct, rule: string, reason: string) =>
    Validations.of(construct).acknowledge({ id: `AwsSolutions::AwsSolutions-${rule}`, reason });
  for (const [child, [rule, reason]] of Object.entries(ACKNOWLEDGED))
    acknowledge(scope.node.findChild(child), rule, reason);
  const validate = () => {
    for (const [child, allowed] of Object.entries(wildcards))
      for (const policy of scope.node.tryFindChild(child)?.node.findAll() ?? [])
        for (const resource of resourcesIn(policy)) {
          const [, reason] = allowed.find(([pattern]) => pattern.test(resource)) ?? [];
          if (reason !== undefined) acknowledge(policy, `IAM5[Resource::${resource}]`, reason);
        }
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
