import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { PolicyStatement, type Role } from 'aws-cdk-lib/aws-iam';
import { describe, expect, it } from 'vitest';
import { parseConfig, readContext } from '../../infra/config.ts';
import { addPolicyChecks } from '../../infra/policy-checks.ts';
import { ExportStack } from '../../infra/stack.ts';
import { CONTEXT } from '../support/stack.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** The stack as `cdk synth` checks it, but for the schemas of CloudFormation. */
function stackWithChecks(changes: Readonly<Record<string, unknown>> = {}): { app: App; stack: ExportStack } {
  const app = new App({
    context: readContext(),
    builtinCloudFormationValidation: false,
    outdir: temporaryDirectory(),
  });
  const stack = new ExportStack(app, parseConfig({ ...CONTEXT, ...changes }));
  addPolicyChecks(app, stack);
  return { app, stack };
}

describe("cdk-nag's AwsSolutions pack", () => {
  it.each([
    ['as it is', {}],
    [
      'with a key of the customer’s, and somebody to tell',
      { kms_key: 'create', alarm_emails: ['ops@example.com'] },
    ],
  ])('finds nothing in the stack %s that is not acknowledged', (_, changes) => {
    const { app } = stackWithChecks(changes);
    expect(() => app.synth()).not.toThrow();
    const { pluginReports } = reportOf(app);
    expect(pluginReports).toEqual([
      expect.objectContaining({ pluginName: 'AwsSolutions', conclusion: 'success' }),
    ]);
  });

  it('fails the synth of another wildcard beside those that are acknowledged', () => {
    const { app, stack } = stackWithChecks();
    const role = stack.node.findChild('Functions').node.findChild('SaveReportRole') as Role;
    role.addToPolicy(new PolicyStatement({ actions: ['s3:GetObject'], resources: ['*'] }));
    expect(() => app.synth()).toThrow("'AwsSolutions::AwsSolutions-IAM5[Resource::*]'");
  });
});

function reportOf(app: App) {
  return JSON.parse(readFileSync(join(app.outdir, 'validation-report.json'), 'utf8'));
}
