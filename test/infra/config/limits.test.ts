import { describe, expect, it } from 'vitest';
import { MAX_REQUEST_BYTES } from '../../../functions/workflow/request/request.ts';
import { InvalidConfig } from '../../../infra/config/config.ts';
import { machineOf } from '../../support/bounds.ts';
import { CONTEXT, readable, resourcesOf, synthesizeStack } from '../../support/stack.ts';

type Stack = ReturnType<typeof synthesizeStack>;
type Changes = Readonly<Record<string, unknown>>;

const [daily] = CONTEXT.exports;

/** Accounts with names of this length. 64 is the longest. */
function accounts(count: number, length = 64): string[] {
  return Array.from({ length: count }, (_, at) => `${at}`.padEnd(length, 'x'));
}

/** Exports of the accounts in turn, each with a name of 64 characters. */
function scheduled(count: number, of: readonly string[], changes: Changes = {}): Changes[] {
  return Array.from({ length: count }, (_, at) => ({
    ...daily,
    name: `${at}`.padEnd(64, 'y'),
    account: of[at % of.length],
    ...changes,
  }));
}

function stackOf(count: number, schedules: number, nameLength = 64): Changes {
  const names = accounts(count, nameLength);
  return { accounts: names, exports: scheduled(schedules, names) };
}

const KEY_ARN = 'arn:aws-us-gov:kms:us-gov-west-1:111122223333:key/1a2b3c4d-0000-1111-2222-333344445555';

const EVERY_OPTION = {
  stack: 's'.repeat(63),
  kms_key: 'create',
  alarm_emails: ['ops@example.com', 'other@example.com'],
  runbook_url: `https://wiki.example/${'r'.repeat(100)}`,
  download_hosts: Array.from({ length: 20 }, (_, at) => `*.files-${at}.storage.example`),
  refresh_parameters: { audience: 'a'.repeat(200) },
};

const CONFIGS: [string, Changes][] = [
  ['1 account and 115 schedules', stackOf(1, 115)],
  ['30 accounts, 115 schedules and every option', { ...EVERY_OPTION, ...stackOf(30, 115) }],
  ['40 accounts and the ARN of a key', { ...stackOf(40, 40), kms_key: KEY_ARN }],
  [
    '60 accounts with names of 50 characters and 120 schedules without tables',
    { ...stackOf(60, 120, 50), tables: false },
  ],
  ['150 accounts with names of 20 characters and every option', { ...EVERY_OPTION, ...stackOf(150, 30, 20) }],
];

/** The longest values, except ARNs of 160 characters, where the longest in a policy has 140. */
const LONGEST: Readonly<Record<string, string>> = {
  '<AWS::Partition>': 'aws-us-gov',
  '<AWS::Region>': 'ap-southeast-2',
  '<AWS::AccountId>': '111122223333',
};

/** Characters as IAM counts them, without white space, with every reference resolved to its longest value. */
function characters(document: unknown): number {
  const text = JSON.stringify(readable(document));
  return text.replaceAll(/<[^<>]+>/g, (reference) => LONGEST[reference] ?? 'x'.repeat(160)).length;
}

function inlinePolicies(stack: Stack): number[] {
  const policies = [...resourcesOf(stack, 'AWS::IAM::Policy').values()];
  return [...resourcesOf(stack, 'AWS::IAM::Role').keys()].map((role) => {
    const own = policies.filter(({ Properties }) => readable(Properties.Roles[0]) === `<${role}>`);
    return own.reduce((total, { Properties }) => total + characters(Properties.PolicyDocument), 0);
  });
}

function environments(stack: Stack): number[] {
  return propertiesOf(stack, 'AWS::Lambda::Function').map(({ Environment }) =>
    Object.entries(Environment.Variables)
      .map(([name, value]) => name.length + (typeof value === 'string' ? Buffer.byteLength(value) : 63))
      .reduce((total, bytes) => total + bytes, 0),
  );
}

function propertiesOf(stack: Stack, type: string): Stack['template'][] {
  return Object.values<Stack['template']>(stack.template.Resources)
    .filter(({ Type }) => Type === type)
    .map(({ Properties }) => Properties);
}

function lengths(stack: Stack, type: string, property: string): number[] {
  return propertiesOf(stack, type).map((properties) => (properties[property] ?? '').length);
}

function metricsOf({ Metrics = [] }: { Metrics?: { MetricStat?: unknown }[] }): number {
  return Metrics.filter(({ MetricStat }) => MetricStat).length;
}

/** Each limit with the values that count against it. Sizes are in bytes or characters. */
const LIMITS: [string, number, (stack: Stack) => number[]][] = [
  ['resources of a stack', 500, ({ template }) => [Object.keys(template.Resources).length]],
  ['template', 1_000_000, ({ template }) => [JSON.stringify(template, undefined, 1).length]],
  ['outputs', 200, ({ template }) => [Object.keys(template.Outputs).length]],
  ['logical id', 255, ({ template }) => Object.keys(template.Resources).map((id) => id.length)],
  ['managed policies', 0, (stack) => [resourcesOf(stack, 'AWS::IAM::ManagedPolicy').size]],
  ['inline policies of a role', 10_240, inlinePolicies],
  [
    'trust policy of a role',
    2_048,
    (stack) => propertiesOf(stack, 'AWS::IAM::Role').map((role) => characters(role.AssumeRolePolicyDocument)),
  ],
  [
    'policy of the key',
    32_768,
    (stack) => propertiesOf(stack, 'AWS::KMS::Key').map((key) => characters(key.KeyPolicy)),
  ],
  ['environment of a function', 4_096, environments],
  ['definition of the state machine', 1_048_576, (stack) => [JSON.stringify(machineOf(stack)).length]],
  [
    'input of a schedule',
    262_144,
    (stack) => propertiesOf(stack, 'AWS::Scheduler::Schedule').map(({ Target }) => characters(Target.Input)),
  ],
  ['name of a schedule', 64, (stack) => lengths(stack, 'AWS::Scheduler::Schedule', 'Name')],
  ['name of a group of schedules', 64, (stack) => lengths(stack, 'AWS::Scheduler::ScheduleGroup', 'Name')],
  ['name of a secret', 512, (stack) => lengths(stack, 'AWS::SecretsManager::Secret', 'Name')],
  ['name of an alarm', 255, (stack) => lengths(stack, 'AWS::CloudWatch::Alarm', 'AlarmName')],
  ['description of an alarm', 1_024, (stack) => lengths(stack, 'AWS::CloudWatch::Alarm', 'AlarmDescription')],
  ['metrics of an alarm', 10, (stack) => propertiesOf(stack, 'AWS::CloudWatch::Alarm').map(metricsOf)],
  ['name of a workgroup', 128, (stack) => lengths(stack, 'AWS::Athena::WorkGroup', 'Name')],
  ['query', 262_144, (stack) => lengths(stack, 'AWS::Athena::NamedQuery', 'QueryString')],
  ['name of the log group', 512, (stack) => lengths(stack, 'AWS::Logs::LogGroup', 'LogGroupName')],
];

it.each(CONFIGS)('the stack of %s stays within the limits of AWS', (_, changes) => {
  const stack = synthesizeStack(changes);
  const most = LIMITS.map(([name, limit, valuesOf]) => ({
    name,
    limit,
    most: Math.max(0, ...valuesOf(stack)),
  }));
  expect(most.filter((each) => each.most > each.limit)).toEqual([]);
});

describe('a stack that would exceed a limit fails the synth and names field and limit:', () => {
  const manyHosts = Array.from({ length: 200 }, (_, at) => `files-${at}.storage.example`);
  const long = { options: { filter: 'f'.repeat(MAX_REQUEST_BYTES - 500) } };
  const someAccounts = accounts(2);

  it.each<[string, Changes, RegExp[]]>([
    ['60 accounts with names of 64 characters', stackOf(60, 0), [/^accounts: .* PlanExport .* 4096$/]],
    [
      '150 accounts with names of 64 characters and 70 schedules',
      stackOf(150, 70),
      [/^accounts: .* PlanExport .* 4096$/, /^accounts: .* CloudFormation allows 500; /],
    ],
    [
      '150 schedules',
      stackOf(2, 150),
      [/^exports: .* CloudFormation allows 500; /, /^exports: .* CloudFormation allows 1000000; /],
    ],
    [
      '500 e-mail addresses',
      { alarm_emails: Array.from({ length: 500 }, (_, at) => `ops${at}@example.com`) },
      [/^alarm_emails: .* CloudFormation allows 500; /],
    ],
    ['many download hosts', { download_hosts: manyHosts }, [/^download_hosts: .* SaveReport .* 4096$/]],
    [
      'long refresh parameters',
      { refresh_parameters: { audience: 'a'.repeat(4_000) } },
      [/^refresh_parameters: .* GetToken .* 4096$/],
    ],
    [
      'a long address of the runbook',
      { runbook_url: `https://wiki.example/${'r'.repeat(4_000)}` },
      [/^runbook_url: .* DescribeFailure .* 4096$/, /^runbook_url: .* CloudWatch allows 1024$/],
    ],
    [
      'schedules with long requests',
      { accounts: someAccounts, exports: scheduled(40, someAccounts, long) },
      [/^exports: .* CloudFormation allows 1000000; /],
    ],
    [
      '36: a schedule with a request that a state cannot carry',
      { exports: [{ ...daily, options: { filter: 'f'.repeat(250_000) } }] },
      [/^exports\[0\]: the request has 25\d{4} bytes, more than the 30000 /],
    ],
  ])('%s', (_, changes, faults) => {
    expect(faultsOf(changes)).toEqual(faults.map((fault) => expect.stringMatching(fault)));
  });
});

function faultsOf(changes: Changes): readonly string[] {
  try {
    synthesizeStack(changes);
    return [];
  } catch (error) {
    if (error instanceof InvalidConfig) return error.faults;
    throw error;
  }
}
