import assert from 'node:assert/strict';
import { ACCOUNTS, earlierConfig, presentConfig } from '../config.ts';
import { emptyBucket, readOutputs, readStackOutputs } from '../deployed.ts';
import type { Project } from '../project.ts';
import {
  assertDelivered,
  countDays,
  type DeployedStage,
  readDays,
  type Stage,
  storeCredential,
} from '../stage.ts';

/** After its start, a run of two accounts has this time. */
const MINUTES_TO_DELIVER = 2;

/** For the runs, and the rest of a minute. */
const SPARE_MINUTES = 3;

/** Deploys an earlier commit, and updates its stack to this checkout. */
export async function deployStack(stage: Stage): Promise<DeployedStage> {
  const { report, earlier, present, names, platform, minutesToDeploy } = stage;
  const place = { stack: names.stack, base_url: platform.baseUrl };
  const first = earlierConfig(place);
  const runFirst = (project: Project) =>
    Promise.all(first.exports.map(({ name }) => project.read(['run', name])));
  const withCredential = ACCOUNTS.slice(0, 2);

  let before: unknown;
  if (earlier)
    await report.step('deploy an earlier commit, secret set, run', async () => {
      await earlier.deploy(first);
      for (const account of withCredential) await storeCredential(stage, earlier, account);
      const runs = await runFirst(earlier);
      before = await readDays(earlier);
      return runs.map(({ name, rows }) => `${rows} rows of ${name}`).join(', ');
    });

  const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000);
  // An update, runs, and the deployment of the observer, which hears what the run announces, end before.
  const untilStart = SPARE_MINUTES + minutesToDeploy * 2.5;
  const start = inMinutes(untilStart);
  const config = presentConfig(place, start, inMinutes(untilStart + MINUTES_TO_DELIVER));
  await report.step(earlier ? 'update to this checkout, run' : 'deploy, secret set', async () => {
    // The forms of objects differ between the two commits, so the update begins with an empty bucket.
    if (earlier) await emptyBucket(await findBucket(names.stack));
    await present.deploy(config);
    if (!earlier) {
      for (const account of withCredential) await storeCredential(stage, present, account);
      return 'a new stack';
    }
    assertDelivered(...(await runFirst(present)));
    assert.deepEqual(await readDays(present), before);
    const { there, ...others } = await countDays(present, 'daily-campaigns');
    assert.deepEqual(Object.values(others).filter(Number), []);
    assert.ok(there > 0);
    return 'the credentials stay; with an empty bucket, runs bring days with the same sums as before';
  });

  const outputs = await readOutputs(names.stack);
  await report.step('a role for each policy, and an observer', async () => {
    stage.sessions.use(await stage.observer.deploy(outputs));
    return 'commands run from now on with the policy that they need, and no other';
  });
  return { ...stage, config, outputs };
}

/** Of the earlier commit, which may have other outputs. */
async function findBucket(stack: string): Promise<string> {
  const outputs = await readStackOutputs(stack);
  const [, bucket = ''] = Object.entries(outputs).find(([output]) => output.includes('BucketName')) ?? [];
  return bucket;
}
