import { randomUUID } from 'node:crypto';
import { App } from 'aws-cdk-lib';
import { DISABLE_ASSET_STAGING_CONTEXT } from 'aws-cdk-lib/cx-api';
import { expect, it } from 'vitest';
import { readContext } from '../../../infra/stack/config/read-config.ts';
import { ExportStack } from '../../../infra/stack/stack.ts';
import { checkTemplate } from '../../../infra/stack/synth-checks.ts';
import { BUNDLES, CONTEXT, readable, resourcesOf, synthesizeStack } from '../../support/stack.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

type Stack = ReturnType<typeof synthesizeStack>;

/** Names of 64 characters, the longest. */
const ACCOUNTS = Array.from({ length: 200 }, (_, at) => `${at}`.padEnd(64, 'x'));

/** Metrics that the dictionary knows, so that each has a long comment in the catalog. */
const METRICS = Array.from({ length: 30 }, (_, at) => `number_of_conversions_${at}`);

/** Daily exports of all accounts that must be ready, with names of 64 characters and a table each. */
function exportsWith(metrics: number, count: number) {
  return Array.from({ length: count }, (_, at) => ({
    name: `${at}`.padEnd(64, 'y'),
    metrics: METRICS.slice(0, metrics),
    runs: [{ period: 'last_28_days', schedule: `cron(${at % 60} 6 * * ? *)`, ready_by: '09:00' }],
  }));
}

/** Every option, as long as it may be. */
const OPTIONS = {
  stack: 's'.repeat(63),
  accounts: Object.fromEntries(ACCOUNTS.map((name) => [name, CONTEXT.accounts.acme])),
  kms_key: 'create',
  alarm_emails: ['ops@example.com', 'other@example.com'],
  runbook_url: `https://wiki.example/${'r'.repeat(100)}`,
  download_hosts: Array.from({ length: 20 }, (_, at) => `*.files-${at}.storage.example`),
  refresh_parameters: { audience: 'a'.repeat(200) },
};

/** Characters as IAM counts them, without white space, with every reference resolved to a long value. */
function characters(document: unknown): number {
  // No Region, account or partition has more than 20.
  const text = JSON.stringify(readable(document)).replaceAll(/<AWS::[^<>]+>/g, 'x'.repeat(20));
  return text.replaceAll(/<[^<>]+>/g, 'x'.repeat(160)).length;
}

function inlinePolicies(stack: Stack): number[] {
  const policies = [...resourcesOf(stack, 'AWS::IAM::Policy').values()];
  return [...resourcesOf(stack, 'AWS::IAM::Role').keys()].map((role) => {
    const ofRole = policies.filter(({ Properties }) => readable(Properties.Roles[0]) === `<${role}>`);
    return ofRole.reduce((total, { Properties }) => total + characters(Properties.PolicyDocument), 0);
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
  ['template', 1_000_000, ({ template }) => [JSON.stringify(template).length]],
  ['inline policies of a role', 10_240, inlinePolicies],
  [
    'managed policy',
    6_144,
    (stack) =>
      propertiesOf(stack, 'AWS::IAM::ManagedPolicy').map(({ PolicyDocument }) => characters(PolicyDocument)),
  ],
  [
    'environment of a function',
    4_096,
    (stack) =>
      propertiesOf(stack, 'AWS::Lambda::Function').map(({ Environment }) =>
        characters(Environment.Variables),
      ),
  ],
  [
    'input of a schedule',
    256 * 1024,
    (stack) =>
      propertiesOf(stack, 'AWS::Scheduler::Schedule').map(({ Target }) => Buffer.byteLength(Target.Input)),
  ],
  ['name of a secret', 512, (stack) => lengths(stack, 'AWS::SecretsManager::Secret', 'Name')],
  ['name of an alarm', 255, (stack) => lengths(stack, 'AWS::CloudWatch::Alarm', 'AlarmName')],
  ['description of an alarm', 1_024, (stack) => lengths(stack, 'AWS::CloudWatch::Alarm', 'AlarmDescription')],
];

it('a stack of 200 accounts with three daily exports stays within the limits of AWS', () => {
  const stack = synthesizeStack({ ...OPTIONS, exports: exportsWith(30, 3) });
  for (const [name, limit, valuesOf] of LIMITS) {
    const largest = Math.max(...valuesOf(stack));
    expect(largest, name).toBeGreaterThan(0);
    expect(largest, name).toBeLessThanOrEqual(limit);
  }
});

it('a template that CloudFormation would refuse for its size fails the synth', () => {
  const context = { ...readContext(), [DISABLE_ASSET_STAGING_CONTEXT]: true };
  const app = new App({ context, builtinCloudFormationValidation: false, outdir: temporaryDirectory() });
  const advertiser_ids = Array.from({ length: 100 }, () => randomUUID());
  const accounts = Object.fromEntries(ACCOUNTS.slice(100).map((name) => [name, { advertiser_ids }]));
  const config = {
    ...CONTEXT,
    ...OPTIONS,
    kms_key: 'create' as const,
    accounts,
    exports: exportsWith(30, 3),
  };
  const { stackName } = new ExportStack(app, config, BUNDLES);
  const artifact = app.synth().getStackByName(stackName);
  const bytes = Buffer.byteLength(JSON.stringify(artifact.template));
  expect(() => checkTemplate(artifact)).toThrow(
    `a template of ${bytes} bytes, and CloudFormation takes 1000000`,
  );
});
