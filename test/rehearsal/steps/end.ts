import assert from 'node:assert/strict';
import { Glue } from '@aws-sdk/client-glue';
import { SecretsManager } from '@aws-sdk/client-secrets-manager';
import { SFN } from '@aws-sdk/client-sfn';
import { ACCOUNTS, METRICS } from '../config.ts';
import { listKeys } from '../deployed.ts';
import { removeStack } from '../removal.ts';
import { assertDelivered, countDays, type DeployedStage } from '../stage.ts';

/** Changes the config, and deletes the stack. */
export async function changeAndDelete(stage: DeployedStage): Promise<void> {
  const { report } = stage;
  await report.step('update of the config', () => changeConfig(stage));
  await report.step('deletion', () => deleteStack(stage));
}

async function changeConfig({ present, config }: DeployedStage): Promise<string> {
  const { globex: _removed, ...accounts } = config.accounts;
  const [daily, , ...others] = config.exports;
  const exports = [{ ...daily, metrics: [...METRICS, 'clicks'] }, ...others];
  await present.deploy({ ...config, accounts, exports });
  const { missing, older } = await countDays(present, 'daily-campaigns');
  assert.deepEqual({ missing, hasOlder: older > 0 }, { missing: 0, hasOlder: true });
  assertDelivered(await present.read(['run', 'daily-campaigns']));
  const sql = 'SELECT count(*) AS "rows", count(clicks) AS clicks FROM daily_campaigns';
  const [{ rows, clicks }] = (await present.read(['query', sql])).rows;
  assert.equal(clicks, rows);
  return 'a metric more, whose values come with the next run, and an account less';
}

async function deleteStack({ present, sessions, names, outputs }: DeployedStage): Promise<string> {
  // The roles have the policies of the stack.
  sessions.use(undefined);
  await removeStack(names.observer);
  await present.cdk(['destroy', '--app', 'cdk.out', '--force']);
  const isOurs = ({ Name = '' }: { readonly Name?: string | undefined }) =>
    Name.startsWith(`${names.stack}/`);
  const { SecretList = [] } = await new SecretsManager().listSecrets({ MaxResults: 100 });
  const credentials = ACCOUNTS.map((account) => `${names.stack}/${account}/credential`);
  const secrets = SecretList.filter(isOurs).map(({ Name }) => Name);
  assert.deepEqual(secrets.toSorted(), credentials);
  const { DatabaseList = [] } = await new Glue().getDatabases({});
  assert.ok(!DatabaseList.some(({ Name }) => Name === outputs.database));
  const { stateMachines = [] } = await new SFN().listStateMachines({});
  assert.ok(!stateMachines.some(({ stateMachineArn }) => stateMachineArn === outputs.stateMachine));
  const objects = await listKeys(outputs.bucket);
  assert.ok(objects.length > 0);
  return `the bucket with ${objects.length} objects and the credentials of ${credentials.length} accounts remain`;
}
