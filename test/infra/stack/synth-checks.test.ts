import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { Annotations, Match } from 'aws-cdk-lib/assertions';
import { PolicyStatement, type Role } from 'aws-cdk-lib/aws-iam';
import { describe, expect, it } from 'vitest';
import { CONFIG_KEY, type ConfigInput } from '../../../infra/stack/config/config.ts';
import { readContext } from '../../../infra/stack/config/read-config.ts';
import { ExportStack } from '../../../infra/stack/stack.ts';
import { addPolicyChecks } from '../../../infra/stack/synth-checks.ts';
import { BUNDLES, CONTEXT } from '../../support/stack.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** The stack of a config with the checks of `cdk synth`, without CloudFormation's schema validation. */
function stackOf(config: ConfigInput) {
  const app = new App({
    context: readContext(),
    builtinCloudFormationValidation: false,
    outdir: temporaryDirectory(),
  });
  const stack = new ExportStack(app, config, BUNDLES);
  addPolicyChecks(app);
  return { app, stack };
}

const stackWithChecks = (changes: Readonly<Record<string, unknown>> = {}) =>
  stackOf({ ...CONTEXT, ...changes });

it('cdk.json can be deployed as it is shipped, without a finding or a warning', () => {
  const { app, stack } = stackOf(Object(readContext()[CONFIG_KEY]));
  expect(() => app.synth()).not.toThrow();
  expect(reportOf(app).pluginReports).toMatchObject([{ conclusion: 'success' }]);
  expect(Annotations.fromStack(stack).findWarning('*', Match.anyValue())).toEqual([]);
});

describe("cdk-nag's AwsSolutions pack", () => {
  it.each([
    ['without a KMS key', {}],
    ['without tables', { tables: false }],
    ['with a KMS key and an e-mail address', { kms_key: 'create', alarm_emails: ['ops@example.com'] }],
  ])('finds nothing unacknowledged in the stack %s', (_, changes) => {
    const { app } = stackWithChecks(changes);
    expect(() => app.synth()).not.toThrow();
    const { pluginReports } = reportOf(app);
    expect(pluginReports).toEqual([
      expect.objectContaining({ pluginName: 'AwsSolutions', conclusion: 'success' }),
    ]);
  });

  it('fails the synth when a policy has a wildcard that is not acknowledged', () => {
    const { app, stack } = stackWithChecks();
    const role = stack.node
      .findChild('Default')
      .node.findChild('Functions')
      .node.findChild('SaveReportRole') as Role;
    role.addToPolicy(new PolicyStatement({ actions: ['s3:GetObject'], resources: ['*'] }));
    expect(() => app.synth()).toThrow("'AwsSolutions::AwsSolutions-IAM5[Resource::*]'");
  });
});

const [daily] = CONTEXT.exports;
const metrics = ['spend', 'Joy', 'number_of_purchases', 'frequency', 'mood'];
const guessed = { ...daily, metrics, columns: { MOOD: 'double', frequency: { from: 'Freq.' } } };

it.each([
  ['a metric whose type is a guess', { exports: [guessed] }, [/stores Joy, frequency as double/]],
  ['none without a table', { exports: [{ ...guessed, table: false, columns: undefined }] }, []],
  ['none in a stack without tables', { exports: [guessed], tables: false }, []],
])('the warnings are about %s', (_, changes, expected) => {
  const { stack } = stackWithChecks(changes);
  const texts = Annotations.fromStack(stack)
    .findWarning('*', Match.anyValue())
    .map(({ entry }) => entry.data);
  expect(texts).toEqual(expected.map((text) => expect.stringMatching(text)));
});

function reportOf(app: App) {
  return JSON.parse(readFileSync(join(app.outdir, 'validation-report.json'), 'utf8'));
}
