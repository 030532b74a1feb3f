import assert from 'node:assert/strict';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Glue } from '@aws-sdk/client-glue';
import { paginateListObjectsV2, S3 } from '@aws-sdk/client-s3';
import { SecretsManager } from '@aws-sdk/client-secrets-manager';
import { SFN } from '@aws-sdk/client-sfn';
import { addDays } from '../../functions/workflow/request/dates.ts';
import type { Sandbox } from '../../infra/lab/sandbox/sandbox.ts';
import { EXAMPLE_ADVERTISERS } from '../../infra/lab/sandbox/settings.ts';
import { AWS_ACCOUNT, AWS_REGION } from './cloud.ts';
import { PLATFORM } from './platform.ts';
import type { Project } from './project.ts';
import type { createReport } from './report.ts';

interface Rehearsal {
  readonly folder: string;
  readonly sandbox: Sandbox;
  readonly report: ReturnType<typeof createReport>;
  readonly present: Project;
  /** The project at an earlier commit. */
  readonly earlier: Project | undefined;
}

export const ACCOUNTS = ['acme', 'globex', 'initech'];

/** Seconds after which a report is READY: at the first poll, or long enough to stop its export before. */
export const [SOON, LATE] = [{ secondsToReady: 5 }, { secondsToReady: 120 }];

/** 25 MB, of which the first download brings two parts of 8 MiB. */
const LARGE = { rows: 400_000, brokenAfter: 18_000_000 };

const DAYS =
  'SELECT "date", count(*) AS n, sum(spend) AS spend FROM daily_campaigns GROUP BY "date" ORDER BY "date"';

const [FIRST, SECOND, THIRD] = EXAMPLE_ADVERTISERS;
const metrics = ['spend', 'impressions'];
const daily = { name: 'daily-campaigns', advertiser_ids: [FIRST], metrics, dimensions: ['campaign_id'] };
const monthly = { name: 'monthly-totals', advertiser_ids: [SECOND, THIRD], metrics };
const shared = { name: 'shared', accounts: ['acme', 'globex'], metrics };
const about = (advertiser_ids: unknown) => ({ advertiser_ids });
const common = { stack: 'ad-report-export', base_url: `https://${PLATFORM}`, revision: '2026-09-01' };

const lookBack = { period: 'last_7_days', schedule: 'cron(0 6 * * ? *)' };

/** The config of the first deployment. */
const EARLIER_CONFIG = {
  ...common,
  accounts: { acme: about('all'), globex: about([SECOND]) },
  exports: [
    { ...daily, accounts: ['acme'], runs: [lookBack] },
    { ...monthly, accounts: ['globex'], runs: [{ period: 'previous_month' }] },
  ],
};

/** The same exports, one of each other kind, and one of two accounts, which starts soon. */
function presentConfig(start: Date, ready: Date) {
  const schedule = `cron(${start.getUTCMinutes()} ${start.getUTCHours()} * * ? *)`;
  const run = { period: 'yesterday', schedule, ready_by: ready.toISOString().slice(11, 16), tell: 'always' };
  return {
    ...common,
    accounts: { acme: about('all'), globex: about([SECOND]), initech: about([THIRD]) },
    exports: [
      { ...daily, accounts: ['acme'], reconcile: true, runs: [lookBack] },
      { ...monthly, accounts: ['globex'], runs: [{ period: 'previous_month' }] },
      { ...shared, runs: [run] },
      { name: 'newcomer', accounts: ['initech'], metrics, period: 'yesterday' },
      { name: 'campaigns', accounts: ['acme'], kind: 'list', resource: 'campaigns' },
      { name: 'orders', accounts: ['acme'], kind: 'purchases', advertiser_id: FIRST, period: 'yesterday' },
    ],
  };
}

/** Goes through the life of a stack, from the bootstrap to what its deletion leaves. */
export async function rehearse({ folder, sandbox, report, present, earlier }: Rehearsal): Promise<void> {
  const { options } = sandbox;
  const today = new Date().toISOString().slice(0, 10);
  const storeCredential = (project: Project, account: string) => {
    const { clientId, clientSecret } = Object(sandbox.credentials.find((each) => each.account === account));
    const stdin = JSON.stringify({ client_id: clientId, client_secret: clientSecret });
    return project.command(['secret', 'set', account], { stdin });
  };
  const readDays = async (project = present) => (await project.read(['query', DAYS])).rows;
  const runFirst = (project: Project) =>
    Promise.all(EARLIER_CONFIG.exports.map(({ name }) => project.read(['run', name])));
  const countsOf = async (name: string) => (await present.read(['missing', name])).counts;

  await report.step('bootstrap', async () => {
    // In a folder without a cdk.json, so that it synthesizes nothing.
    await present.cdk(['bootstrap', `aws://${AWS_ACCOUNT}/${AWS_REGION}`], folder);
    return "CDK's roles and bucket";
  });

  let before: unknown;
  if (earlier)
    await report.step('deploy an earlier commit, secret set, run', async () => {
      await earlier.deploy(EARLIER_CONFIG);
      for (const account of Object.keys(EARLIER_CONFIG.accounts)) await storeCredential(earlier, account);
      const runs = await runFirst(earlier);
      before = await readDays(earlier);
      return runs.map(({ name, rows }) => `${rows} rows of ${name}`).join(', ');
    });

  const [start, ready] = [5, 7].map((minutes) => new Date(Date.now() + minutes * 60_000)) as [Date, Date];
  const config = presentConfig(start, ready);
  await report.step(earlier ? 'update to this checkout, run' : 'deploy, secret set', async () => {
    // The forms of objects differ between the two commits, so the update begins with an empty bucket.
    if (earlier) await emptyBucket();
    await present.deploy(config);
    if (!earlier) {
      for (const account of Object.keys(EARLIER_CONFIG.accounts)) await storeCredential(present, account);
      return 'a new stack';
    }
    assertDelivered(...(await runFirst(present)));
    assert.deepEqual(await readDays(), before);
    const { there, ...others } = await countsOf('daily-campaigns');
    assert.deepEqual(Object.values(others).filter(Number), []);
    assert.ok(there > 0);
    return 'the credentials stay; with an empty bucket, runs bring days with the same sums as before';
  });

  await report.step('run without a credential, explain, secret set, doctor, resume', async () => {
    const { execution } = await present.read(['run', 'newcomer'], { status: 1 });
    const { outcome, error } = await present.read(['explain', execution]);
    assert.deepEqual([outcome, error], ['failed', 'CredentialUnusable']);
    await storeCredential(present, 'initech');
    assert.equal((await present.read(['doctor'])).outcome, 'ok');
    assert.equal((await present.read(['resume', execution])).outcome, 'delivered');
    return 'the export fails with CredentialUnusable, and is delivered when the account has one';
  });

  await report.step('run each kind, and two accounts at once', async () => {
    const names = ['daily-campaigns', 'campaigns', 'orders', 'shared'];
    const [single, list, orders, both] = await Promise.all(names.map((name) => present.read(['run', name])));
    assertDelivered(single, list, orders, ...both.accounts);
    const { rows } = await present.read(['query', 'SELECT DISTINCT account FROM shared']);
    assert.deepEqual([rows.length, single.reconciled.days], [2, 7]);
    return `${single.rows} rows, a list of ${list.rows} items, purchases; two accounts, one with "all"`;
  });

  await report.step('run with a download that breaks off', async () => {
    options.report = { ...SOON, rows: LARGE.rows };
    sandbox.faults.add(`storage reset_after=${LARGE.brokenAfter}`);
    const { outcome, rows, bytes } = await present.read(['run', 'monthly-totals']);
    options.report = SOON;
    const ranges = sandbox.journal.flatMap(({ headers }) => headers.range ?? []);
    assert.deepEqual([outcome, rows, ranges.length], ['delivered', LARGE.rows, 1]);
    return `${bytes} bytes, of which a second call copied ${ranges[0]}`;
  });

  await report.step('status, missing, check, query, page', async () => {
    assert.equal((await present.read(['status'])).exports.length, 7);
    assert.deepEqual([(await countsOf('daily-campaigns')).missing, (await readDays()).length], [0, 7]);
    // Without a range, yesterday is looked at only after 06:00, when its run is due.
    const range = ['--from', addDays(today, -7), '--to', today];
    const [checked] = (await present.read(['check', 'daily-campaigns', ...range])).exports;
    const agree = checked.months.reduce((days: number, month: { agree: number }) => days + month.agree, 0);
    assert.deepEqual([agree, checked.differences], [7, []]);
    await present.command(['page', '--to', join(folder, 'page.html')]);
    return 'seven exports of accounts; seven days of one, which check agrees on, and of which none is missing';
  });

  await report.step('a held day, rebuild --accept-empty', async () => {
    const [, { date }] = await readDays();
    options.report = { ...SOON, rowsOn: (day) => (day === date ? 0 : 6) };
    const { held } = await present.read(['run', 'daily-campaigns']);
    options.report = SOON;
    assert.deepEqual([held, (await countsOf('daily-campaigns')).held, (await readDays()).length], [1, 1, 7]);
    const range = ['--from', date, '--to', addDays(date, 1)];
    const { outcome } = await present.read(['rebuild', 'daily-campaigns', ...range, '--accept-empty']);
    assert.deepEqual([outcome, (await readDays()).length], ['done', 6]);
    return 'the table keeps the day until then';
  });

  await report.step('stop, explain, resume', async () => {
    const created = sandbox.reports().length;
    options.report = LATE;
    const run = present.read(['run', 'daily-campaigns'], { status: 130 });
    await until('a report is created', () => sandbox.reports().length > created);
    options.report = SOON;
    const [execution] = (await present.read(['status', 'daily-campaigns'])).exports[0].running;
    await present.read(['stop', execution]);
    assert.equal((await run).outcome, 'interrupted');
    assert.equal((await present.read(['explain', execution])).outcome, 'stopped');
    assertDelivered(await present.read(['resume', execution]));
    assert.deepEqual((await present.read(['missing', 'daily-campaigns'])).runs, []);
    return 'the rest is delivered, and no run is left that did not finish';
  });

  await report.step('a schedule of two accounts, and its check (ready_by)', async () => {
    const sfn = new SFN();
    const ended = async (id: string, ...fields: string[]) => {
      const { stateMachines = [] } = await sfn.listStateMachines({});
      const { stateMachineArn } = stateMachines.find(({ name }) => name?.includes(id)) ?? {};
      const { executions = [] } = await sfn.listExecutions({ stateMachineArn, statusFilter: 'SUCCEEDED' });
      for (const { executionArn } of executions) {
        const { input = '', output = '' } = await sfn.describeExecution({ executionArn });
        if (fields.every((field) => field in JSON.parse(input))) return JSON.parse(output);
      }
    };
    const result = await until('the scheduled run ends', () => ended('Workflow', 'scheduled_at', 'accounts'));
    assertDelivered(...result.accounts);
    const { checked } = await until('its check ends', () => ended('ReadyChecks', 'checked_at'));
    assert.deepEqual([checked.status, checked.late], ['ready', 0]);
    return 'both accounts are delivered, and the check sends its event and its message';
  });

  await report.step('update of the config', async () => {
    const { initech: _removed, ...accounts } = config.accounts;
    const [first, ...others] = config.exports.filter(({ name }) => name !== 'newcomer');
    const exports = [{ ...first, metrics: [...metrics, 'clicks'] }, ...others];
    await present.deploy({ ...config, accounts, exports });
    const { missing, older } = await countsOf('daily-campaigns');
    assert.deepEqual([missing, older > 0], [0, true]);
    assertDelivered(await present.read(['run', 'daily-campaigns']));
    const sql = 'SELECT count(*) AS "rows", count(clicks) AS clicks FROM daily_campaigns';
    const [{ rows, clicks }] = (await present.read(['query', sql])).rows;
    assert.equal(clicks, rows);
    return 'a metric more, whose values come with the next run, and an account less';
  });

  await report.step('deletion', async () => {
    await present.cdk(['destroy', '--app', 'cdk.out', '--force']);
    const { SecretList = [] } = await new SecretsManager().listSecrets({});
    const credentials = ACCOUNTS.map((account) => `${common.stack}/${account}/credential`);
    assert.deepEqual(SecretList.map(({ Name }) => Name).toSorted(), credentials);
    assert.deepEqual((await new Glue().getDatabases({})).DatabaseList, []);
    assert.deepEqual((await new SFN().listStateMachines({})).stateMachines, []);
    const objects = await listKeys();
    assert.ok(objects.length > 0);
    return `the bucket with ${objects.length} objects and the credentials of ${credentials.length} accounts remain`;
  });
}

const s3 = new S3({ forcePathStyle: true });

async function findBucket(): Promise<string | undefined> {
  const { Buckets = [] } = await s3.listBuckets({});
  return Buckets.map(({ Name = '' }) => Name).find((name) => name.startsWith(common.stack));
}

async function listKeys(Prefix = ''): Promise<string[]> {
  const keys: string[] = [];
  const pages = paginateListObjectsV2({ client: s3 }, { Bucket: await findBucket(), Prefix });
  for await (const { Contents = [] } of pages) keys.push(...Contents.flatMap(({ Key }) => Key ?? []));
  return keys;
}

async function emptyBucket(): Promise<void> {
  const keys = await listKeys();
  assert.ok(keys.length > 0);
  const Bucket = await findBucket();
  for (const Key of keys) await s3.deleteObject({ Bucket, Key });
}

function assertDelivered(...all: { readonly outcome: string }[]): void {
  for (const each of all) assert.equal(each.outcome, 'delivered', JSON.stringify(each));
}

/** @returns the first value of `find` that is one. @throws Error after ten minutes */
async function until<T>(what: string, find: () => T | Promise<T>): Promise<T> {
  for (let tries = 0; tries < 600; tries += 1) {
    const found = await find();
    if (found) return found;
    await wait(1_000);
  }
  throw new Error(`Ten minutes have passed without this: ${what}`);
}
