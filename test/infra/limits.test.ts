import { expect, it } from 'vitest';
import { CONTEXT, readable, resourcesOf, synthesizeStack } from '../support/stack.ts';

type Stack = ReturnType<typeof synthesizeStack>;

/** Names of 64 characters, the longest. */
const ACCOUNTS = Array.from({ length: 30 }, (_, at) => `${at}`.padEnd(64, 'x'));

/** The largest stack that the reference promises, with every option. */
const LARGEST = {
  stack: 's'.repeat(63),
  accounts: ACCOUNTS,
  exports: Array.from({ length: 115 }, (_, at) => ({
    ...CONTEXT.exports[0],
    name: `${at}`.padEnd(64, 'y'),
    account: ACCOUNTS[at % ACCOUNTS.length],
  })),
  kms_key: 'create',
  alarm_emails: ['ops@example.com', 'other@example.com'],
  slack: { workspace_id: 'T0123ABCD', channel_id: 'C0123ABCD' },
  runbook_url: `https://wiki.example/${'r'.repeat(100)}`,
  download_hosts: Array.from({ length: 20 }, (_, at) => `*.files-${at}.storage.example`),
  refresh_parameters: { audience: 'a'.repeat(200) },
};

/** Characters as IAM counts them, without white space, with every reference resolved to a long value. */
function characters(document: unknown): number {
  return JSON.stringify(readable(document)).replaceAll(/<[^<>]+>/g, 'x'.repeat(160)).length;
}

function inlinePolicies(stack: Stack): number[] {
  const policies = [...resourcesOf(stack, 'AWS::IAM::Policy').values()];
  return [...resourcesOf(stack, 'AWS::IAM::Role').keys()].map((role) => {
    const own = policies.filter(({ Properties }) => readable(Properties.Roles[0]) === `<${role}>`);
    return own.reduce((total, { Properties }) => total + characters(Properties.PolicyDocument), 0);
  });
}

function propertiesOf(stack: Stack, type: string): Stack['template'][] {
  return Object.values<Stack['template']>(stack.template.Resources)
    .filter(({ Type }) => Type === type)
    .map(({ Properties }) => Properties);
}

function lengths(stack: Stack, type: string, property: string): number[] {
  return propertiesOf(stack, type).map((properties) => (properties[property] ?? '').length);
}

/** Each limit with the values that count against it. Sizes are in bytes or characters. */
const LIMITS: [string, number, (stack: Stack) => number[]][] = [
  ['resources of a stack', 500, ({ template }) => [Object.keys(template.Resources).length]],
  ['template', 1_000_000, ({ template }) => [JSON.stringify(template, undefined, 1).length]],
  ['inline policies of a role', 10_240, inlinePolicies],
  [
    'environment of a function',
    4_096,
    (stack) =>
      propertiesOf(stack, 'AWS::Lambda::Function').map(({ Environment }) =>
        characters(Environment.Variables),
      ),
  ],
  ['name of a schedule', 64, (stack) => lengths(stack, 'AWS::Scheduler::Schedule', 'Name')],
  ['name of a secret', 512, (stack) => lengths(stack, 'AWS::SecretsManager::Secret', 'Name')],
  ['name of an alarm', 255, (stack) => lengths(stack, 'AWS::CloudWatch::Alarm', 'AlarmName')],
  ['description of an alarm', 1_024, (stack) => lengths(stack, 'AWS::CloudWatch::Alarm', 'AlarmDescription')],
];

it('the largest stack of the reference stays within the limits of AWS', () => {
  const stack = synthesizeStack(LARGEST);
  for (const [name, limit, valuesOf] of LIMITS)
    expect(Math.max(...valuesOf(stack)), name).toBeLessThanOrEqual(limit);
});
