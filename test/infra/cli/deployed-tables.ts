import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import { platformName } from '../../../functions/decisions/platform-request.ts';
import { catalogTable } from '../../../functions/workflow/catalog-table.ts';
import { readConfig } from '../../../infra/config.ts';
import { startGlue } from '../../../infra/local/glue.ts';
import { ACCOUNT, CREDENTIALS } from '../../../infra/local/s3/server.ts';
import { OUTPUTS } from '../../../infra/outputs.ts';
import { tablesOf } from '../../../infra/tables.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { BUCKET, type Folder } from './deliveries.ts';

/** Stands for AWS: the catalog with the tables of cdk.json, and a folder with the outputs of a deployment. */
export async function deployTables({ endpoint }: Folder) {
  const { exports, stack, base_url, revision } = readConfig();
  const glue = await startGlue({ directory: temporaryDirectory() });
  for (const schema of tablesOf(exports, { platform: platformName(base_url), revision })) {
    const table = catalogTable(schema, BUCKET);
    glue.tables.set(table.Name, table);
  }
  const cwd = temporaryDirectory();
  const outputs = {
    [OUTPUTS.stateMachine]: `arn:aws:states:us-east-1:${ACCOUNT}:stateMachine:exports`,
    [OUTPUTS.bucket]: BUCKET,
    [OUTPUTS.database]: glue.database,
  };
  await mkdir(join(cwd, 'cdk.out'));
  await writeFile(join(cwd, 'cdk.out/outputs.json'), JSON.stringify({ [stack]: outputs }));
  vi.stubEnv('AWS_ENDPOINT_URL_S3', endpoint);
  vi.stubEnv('AWS_ENDPOINT_URL_GLUE', glue.endpoint);
  vi.stubEnv('AWS_ACCESS_KEY_ID', CREDENTIALS.accessKeyId);
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', CREDENTIALS.secretAccessKey);
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await glue.close();
  });
  return { glue, cwd };
}
