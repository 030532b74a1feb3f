import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { S3 } from '@aws-sdk/client-s3';
import { SecretsManager } from '@aws-sdk/client-secrets-manager';
import shipped from '../../../infra/init/sandbox.ts';
import { OUTPUTS } from '../../../infra/stack/config/config.ts';
import { readStackOutputs } from '../deployed.ts';
import type { Project } from '../project.ts';
import { assertDelivered, type Stage } from '../stage.ts';
import type { Platform } from '../targets/target.ts';
import { STEPS } from './names.ts';

interface Tried {
  readonly served: Platform;
  readonly minutesToDeploy: number;
}

type Trial = Pick<Stage, 'report' | 'present' | 'names'>;

/**
 * Deploys the sandbox and its main stack as a visitor does, and goes from nothing to rows.
 *
 * @returns the platform that the sandbox's stack serves, and how long both deployments took
 */
export async function trySandbox(stage: Trial): Promise<Tried> {
  const { report, present, names } = stage;
  const options = useName(present, names.sandbox);
  const began = Date.now();
  let minutesToDeploy = 0;
  await report.step('cdk deploy --all -c sandbox=true', async () => {
    await present.cdk(['deploy', '--all', ...options, '--require-approval', 'never', '--output', OUT]);
    minutesToDeploy = (Date.now() - began) / 60_000;
    return "the sandbox's stack and a main stack of its own";
  });
  await report.step(STEPS.runSandbox, async () => {
    const of = ['--config', CONFIG];
    const run = await present.read(['run', 'daily-campaigns', ...of]);
    assertDelivered(run);
    const sql = 'SELECT count(*) AS "rows", count(DISTINCT "date") AS days FROM daily_campaigns';
    const [{ rows, days }] = (await present.read(['query', sql, ...of])).rows;
    assert.deepEqual({ rows: Number(rows), days: Number(days) }, { rows: run.rows, days: 28 });
    return `${rows} rows of 28 days, whose file was a pre-signed URL of S3`;
  });
  return { served: await findPlatform(names.sandbox), minutesToDeploy };
}

/** Removes both, with all that they hold. */
export async function destroySandbox({ report, present, names }: Trial): Promise<void> {
  await report.step('cdk destroy --all -c sandbox=true', async () => {
    await present.cdk(['destroy', '--all', ...useName(present, names.sandbox), '--force', '--output', OUT]);
    const filters = [{ Key: 'name' as const, Values: [names.sandbox] }];
    const { SecretList } = await new SecretsManager().listSecrets({ Filters: filters });
    const { Buckets = [] } = await new S3({ forcePathStyle: true }).listBuckets({});
    const buckets = Buckets.filter(({ Name = '' }) => Name.startsWith(names.sandbox));
    assert.deepEqual({ SecretList, buckets }, { SecretList: [], buckets: [] });
    return 'nothing of either remains, objects and secret included';
  });
}

const CONFIG = 'sandbox.json';
const OUT = 'sandbox.out';

/** The shipped config of the sandbox, under a name of its own. @returns options of `cdk` */
function useName({ folder }: Project, stack: string): string[] {
  writeFileSync(join(folder, CONFIG), JSON.stringify({ ...shipped, stack }));
  return ['-c', 'sandbox=true', '-c', `config=${CONFIG}`];
}

/** Its URL is an output of the main stack, and its client a secret. */
async function findPlatform(stack: string): Promise<Platform> {
  const { [OUTPUTS.sandboxUrl]: url = '' } = await readStackOutputs(stack);
  assert.notEqual(url, '');
  const { SecretString = '' } = await new SecretsManager().getSecretValue({
    SecretId: `${stack}/sandbox/credential`,
  });
  const client = JSON.parse(SecretString);
  return { baseUrl: url.replace(/\/$/, ''), clientOf: () => client, sandbox: undefined };
}
