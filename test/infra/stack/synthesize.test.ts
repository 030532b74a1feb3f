import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { synthesizeStack } from '../../support/stack.ts';

const stack = synthesizeStack();
const functionIds = Object.entries<{ Type: string }>(stack.template.Resources)
  .filter(([, { Type }]) => Type === 'AWS::Lambda::Function')
  .map(([id]) => id);

/** Resources that may get another logical id: their names are not fixed, and they hold nothing. */
const REPLACEABLE = /::(Role|Policy|BucketPolicy|QueuePolicy|TopicPolicy|Function|NamedQuery)$/;

/** The logical ids of all others since release 0.2.0. */
const KEPT = `
  Key961B73FD Secretsacmecredential69D57179 SecretsacmetokenE316DD6C Secretsglobexcredential3BBB315D
  SecretsglobextokenA0500FB6 ExportsBucket54D5CE64 TablesDatabaseAABD3FAE TablesWorkgroup2B713C02
  TablesReaderD7985826 Tablesdaily25370031 Tablesbackfill54A8BB1D Tablesledger704BFB4D
  ExecutionLogs6FEE23C8 WorkflowStateMachine8F1B1C15 SchedulesDeadLetterQueue84E31400 SchedulesGroupD276B6F4
  Schedulesacmedaily9AF10782 AlarmTopicD01E77F9 AlarmsExportsFailed6C8317ED
  AlarmsExportsTimedOut504D1FD4 AlarmsExportsNotStartedFE52BA81
  AlarmsTableProblems49BE9525 AlarmsDaysHeldD195D24F KeeperD1EBA005`;

// CloudFormation creates a resource with a new logical id before it deletes the old one of the same name.
// If an id has to change, CHANGELOG.md says how to update a stack.
it('an update keeps each resource that has a fixed name or holds data', () => {
  const { Resources } = synthesizeStack({ kms_key: 'create' }).template;
  // It replaces the groups of the functions.
  const added = ['FunctionsLogsF51B461F', 'Operator41AE602D'];
  const ids = Object.keys(Resources).filter(
    (id) => !REPLACEABLE.test(Resources[id].Type) && !added.includes(id),
  );
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
