import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { catalogTable } from '../../../../functions/aws/catalog-table.ts';
import { platformName } from '../../../../functions/decisions/request-hash.ts';
import { CREDENTIALS, LOCAL_AWS_ACCOUNT } from '../../../../infra/lab/local/s3/server.ts';
import { setTarget } from '../../../../infra/operate/place/deployment.ts';
import { tablesOf } from '../../../../infra/stack/config/exports.ts';
import { readConfig } from '../../../../infra/stack/config/read-config.ts';
import { runCommand } from '../../../support/cli.ts';
import { startFaultyGlue } from '../../../support/faulty-services.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { BUCKET, deliver, type Folder, openFolder, rebuild, spendIn } from '../days/deliveries.ts';
import { startCloudFormation, startExecutions } from '../executions/step-functions.ts';

// A delivery of the config's first export.
const { base_url, revision, exports } = readConfig();
const { name, account, advertiser_ids, metrics, dimensions } = Object(exports[0]);
const request = { advertiser_ids, metrics, dimensions };
const fields = { campaign_id: '1', campaign_name: 'c', impressions: 10, number_of_purchases: 1 };
const delivery = { name, account, request, fields, platform: platformName(base_url), revision };

/** Stands for AWS: the catalog with the tables of cdk.json, and the outputs of a deployment. */
async function deployTables({ endpoint }: Folder) {
  // No execution runs.
  await startExecutions([]);
  setTarget({});
  const glue = await startFaultyGlue();
  for (const schema of tablesOf(exports, { platform: platformName(base_url), revision }, readConfig())) {
    const table = catalogTable(schema, BUCKET, { description: '', comments: {} });
    glue.tables.set(table.Name, table);
  }
  const stateMachine = `arn:aws:states:us-east-1:${LOCAL_AWS_ACCOUNT}:stateMachine:exports`;
  const outputs = { stateMachine, bucket: BUCKET, database: glue.database };
  await startCloudFormation(readConfig().stack, outputs);
  vi.stubEnv('AWS_ENDPOINT_URL_S3', endpoint);
  vi.stubEnv('AWS_ENDPOINT_URL_GLUE', glue.endpoint);
  vi.stubEnv('AWS_ACCESS_KEY_ID', CREDENTIALS.accessKeyId);
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', CREDENTIALS.secretAccessKey);
  onTestFinished(() => glue.close());
  return glue;
}

it('works on the deployed bucket, with the table of the catalog, in a folder of its own', async () => {
  const folder = await openFolder();
  await deliver(folder, { ...delivery, days: [1, 2], created: 5 });
  await deliver(folder, { ...delivery, days: [3, 3], created: 6, platform: 'staging.example' });
  await deployTables(folder);
  const range = ['--from', '2026-10-01', '--to', '2026-10-04'];
  const missing = async () => {
    const { stdout } = await runCommand(['missing', name, ...range, '--json']);
    return JSON.parse(stdout).ranges;
  };
  const unseen = { start_date: '2026-10-01', end_date: '2026-10-04', days: 3, state: 'behind' };
  const ofStaging = { start_date: '2026-10-03', end_date: '2026-10-04', days: 1, state: 'older' };
  expect(await missing()).toEqual([unseen]);

  // The folder of another process, which may be curating.
  const parent = temporaryDirectory();
  mkdirSync(join(parent, 'curate-report'));
  vi.stubEnv('TMPDIR', parent);
  const { result } = await rebuild([name]);
  expect(readdirSync(parent)).toEqual(['curate-report']);
  expect(result.windows.map(({ outcome }) => outcome)).toEqual(['written', 'written']);
  expect(await spendIn(folder.out, name.replaceAll('-', '_'))).toEqual({ 1: 5, 2: 5, 3: 6 });
  expect(await missing()).toEqual([ofStaging]);
});

it('fails for a month that was written with another type than the table has now', async () => {
  const folder = await openFolder();
  await deliver(folder, { ...delivery, days: [1, 2], created: 5 });
  const glue = await deployTables(folder);
  expect((await rebuild([name])).result.outcome).toBe('done');

  const table = glue.tables.get(name.replaceAll('-', '_'));
  const column = table?.StorageDescriptor.Columns.find(({ Name }) => Name === 'impressions');
  Object.assign(column ?? {}, { Type: 'double' });
  const { status, stderr } = await runCommand(['rebuild', name]);
  expect(status).toBe(1);
  expect(stderr).toContain(
    'column impressions is double now, but was written as bigint.\nWhat to do: run the command rebuild NAME, which names the days that no file gives again',
  );
});

it('names the permission that is missing, without a stack trace', async () => {
  const folder = await openFolder();
  await deliver(folder, { ...delivery, days: [1, 2], created: 5 });
  await deployTables(folder);
  folder.faults.push({ operation: 'ListObjectsV2', answer: 'AccessDenied', times: 9 });
  const { status, stderr } = await runCommand(['rebuild', name]);
  expect(status).toBe(1);
  expect(stderr).toContain('needs s3:ListBucket');
  expect(stderr).not.toContain('    at ');
});

it('makes a table with which check --file compares a mart', async () => {
  const folder = await openFolder();
  await deliver(folder, { ...delivery, days: [1, 2], created: 5 });
  await deployTables(folder);
  await rebuild([name]);
  const mart = join(temporaryDirectory(), 'mart.csv');
  writeFileSync(mart, 'date,spend\n2026-10-01,5\n2026-10-02,10\n');
  const { status, stdout } = await runCommand(['check', name, '--file', mart, '--json']);
  expect({ status, ...JSON.parse(stdout) }).toMatchObject({
    status: 1,
    outcome: 'differs',
    agree: 1,
    different: [{ date: '2026-10-02', guess: { kind: 'factor', factor: 2 } }],
  });
});
