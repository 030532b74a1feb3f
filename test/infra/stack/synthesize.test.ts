import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { synthesizeStack } from '../../support/stack.ts';

const stack = synthesizeStack();
const functionIds = Object.entries<{ Type: string }>(stack.template.Resources)
  .filter(([, { Type }]) => Type === 'AWS::Lambda::Function')
  .map(([id]) => id);

/** What holds data: another logical id would leave a new, empty resource in its place. */
const HOLDS_DATA =
  /^AWS::(KMS::Key|SecretsManager::Secret|S3::Bucket|SQS::Queue|Logs::LogGroup|StepFunctions::StateMachine)$/;

const KEPT = `
  Key961B73FD Secretsacmecredential69D57179 SecretsacmetokenE316DD6C Secretsglobexcredential3BBB315D
  SecretsglobextokenA0500FB6 ExportsBucket54D5CE64 FunctionsLogsF51B461F ExecutionLogs6FEE23C8
  WorkflowStateMachine8F1B1C15 SchedulesDeadLetterQueue84E31400`;

it('an update keeps each resource that holds data', () => {
  const { Resources } = synthesizeStack({ kms_key: 'create' }).template;
  const ids = Object.keys(Resources).filter((id) => HOLDS_DATA.test(Resources[id].Type));
  expect(ids).toEqual(KEPT.trim().split(/\s+/));
});

describe('a synth in this process', () => {
  // In another process, because vitest would give the bundle a `require` and this environment. Lambda's Node
  // 24 runtime imports the bundle too, and refuses a handler with a third parameter, which would be a
  // callback.
  it('bundles each function with all that it needs, and importing one reads no setting', () => {
    const files = functionIds.map((id) => join(stack.codeOf(id), 'index.cjs'));
    expect(new Set(files).size).toBe(files.length);
    const script = `for (const file of ${JSON.stringify(files)}) {
      const { handler } = await import(file);
      console.log(typeof handler, handler.length);
    }`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      env: {},
      encoding: 'utf8',
    });
    expect({ stdout, stderr }).toEqual({ stdout: 'function 2\n'.repeat(files.length), stderr: '' });
  });
});
