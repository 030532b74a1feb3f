import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { expect, it, onTestFinished, vi } from 'vitest';
import { platformName } from '../../../functions/decisions/platform-request.ts';
import { catalogTable } from '../../../functions/workflow/catalog-table.ts';
import type { CurateResult } from '../../../infra/cli/curate/curate.ts';
import { runLocalQuery } from '../../../infra/cli/query/local.ts';
import { readConfig } from '../../../infra/config.ts';
import { startGlue } from '../../../infra/local/glue.ts';
import { base64Crc } from '../../../infra/local/s3/body.ts';
import { ACCOUNT, CREDENTIALS, startS3 } from '../../../infra/local/s3/server.ts';
import { OUTPUTS } from '../../../infra/outputs.ts';
import { tablesOf } from '../../../infra/tables.ts';
import { runCommand } from '../../support/cli.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const BUCKET = 'bucket';
const REQUEST = {
  advertiser_ids: ['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e'],
  metrics: ['spend'],
  granularity: 'DAY',
  format: 'JSON',
};

/** A window whose report was delivered. */
interface Delivery {
  readonly name?: string;
  readonly account?: string;
  /** The first and the last day, of October 2026. */
  readonly days: readonly [number, number];
  /** The hour of November 1 in which the report was created. Its rows spend as much a day, unless `spend` is given. */
  readonly created: number;
  readonly spend?: unknown;
  /** Other fields of each row. */
  readonly fields?: Record<string, unknown>;
  readonly request?: Record<string, unknown>;
  readonly platform?: string;
  readonly revision?: string;
  /** Days that kept a newer report at the delivery. */
  readonly kept?: readonly number[];
  /** The hour of the earlier report whose ledger is still there, because CurateReport failed. */
  readonly ledgerOf?: number;
  /** The file that another run has put there since. */
  readonly replacedBy?: string;
}

/** Opens a folder with the buckets of local runs, or of AWS. */
async function openFolder() {
  const out = temporaryDirectory();
  const s3 = await startS3({ directory: out, buckets: [BUCKET] });
  const client = new S3Client({
    endpoint: s3.endpoint,
    region: 'us-east-1',
    credentials: CREDENTIALS,
    forcePathStyle: true,
  });
  onTestFinished(async () => {
    client.destroy();
    await s3.close();
  });
  const put = (Key: string, Body: string, ContentType = 'application/json') =>
    client.send(new PutObjectCommand({ Bucket: BUCKET, Key, Body, ContentType }));
  return { out, endpoint: s3.endpoint, put };
}

type Folder = Awaited<ReturnType<typeof openFolder>>;

const dateOf = (day: number) => `2026-10-${String(day).padStart(2, '0')}`;
const timeOf = (hour: number) => `2026-11-01T${String(hour).padStart(2, '0')}:00:00.000Z`;

/** Leaves what an export leaves: the file, its manifest and its ledger. */
async function deliver({ put }: Folder, delivery: Delivery): Promise<void> {
  const { name = 'daily', account = 'acme', created, days, kept = [], replacedBy } = delivery;
  const [first, last] = days;
  const dates = Array.from({ length: last - first + 1 }, (_, at) => dateOf(first + at));
  const window = { start_date: dateOf(first), end_date: dateOf(last + 1) };
  const spend = delivery.spend ?? created;
  const rows = dates.map((date) => ({ date, spend, ...delivery.fields }));
  const file = JSON.stringify(rows);
  const prefix = `exports/account=${account}/export=${name}/start_date=${window.start_date}/end_date=${window.end_date}`;
  await put(`${prefix}/report.json`, replacedBy ?? file);
  const manifest = {
    ...{ version: '1', account, export: name, kind: 'report', ...window },
    request: { ...window, ...REQUEST, ...delivery.request },
    platform: delivery.platform ?? '127.0.0.1',
    revision: delivery.revision ?? '2026-09-01',
    ...{ report_id: `r-${created}`, report_created_at: timeOf(created), bucket: BUCKET },
    ...{ key: `${prefix}/report.json`, bytes: file.length, content_type: 'application/json' },
    checksum: { algorithm: 'CRC32', type: 'FULL_OBJECT', value: base64Crc(crc32(file)) },
    ...{ copied_at: timeOf(created), published_at: timeOf(created), execution: `e-${created}`, warnings: [] },
  };
  await put(`${prefix}/_manifest.json`, JSON.stringify(manifest));
  const ledgerDays = dates.map((day) => ({ day, ...(kept.map(dateOf).includes(day) && { kept: true }) }));
  const ledger = { report_id: `r-${delivery.ledgerOf ?? created}`, table: { name }, days: ledgerDays };
  await put(`${prefix}/_ledger.json`, JSON.stringify(ledger));
}

async function curate(args: readonly string[], cwd?: string) {
  const { status, stdout, stderr } = await runCommand(['curate', '--json', ...args], '', cwd);
  if (stdout === '') throw new Error(stderr);
  return { status, stderr, result: JSON.parse(stdout) as CurateResult & { faults?: string[] } };
}

/** The sum of each day of October, by its number. */
async function spendIn(out: string, table = 'daily'): Promise<Record<string, number>> {
  const { rows } = await runLocalQuery(`SELECT day(date), spend FROM ${table} ORDER BY date`, out);
  return Object.fromEntries(rows.map(([day, spend]) => [String(day), Number(spend)]));
}

it('shows each day of overlapping windows from the newest report, also if an older one was delivered later', async () => {
  const folder = await openFolder();
  await deliver(folder, { days: [1, 3], created: 5 });
  await deliver(folder, { days: [2, 4], created: 7 });
  await deliver(folder, { days: [3, 6], created: 6 });
  const { out } = folder;
  const { status, result } = await curate(['daily', '--local', '--out', out]);
  expect(status).toBe(0);
  expect(await spendIn(out)).toEqual({ 1: 5, 2: 7, 3: 7, 4: 7, 5: 6, 6: 6 });
  expect(result.windows.map(({ outcome, days, kept }) => [outcome, days, kept])).toEqual([
    ['written', 3, 0],
    ['written', 2, 2],
    ['written', 1, 2],
  ]);
  expect(result.older).toEqual([]);

  // A command that was stopped goes on with what is missing.
  await rm(join(out, BUCKET, 'tables/daily/account=acme/date=2026-10-05'), { recursive: true });
  const again = await curate(['daily', '--local', '--out', out]);
  expect(again.result.windows.map(({ outcome }) => outcome)).toEqual(['unchanged', 'written', 'unchanged']);
  expect(await spendIn(out)).toEqual({ 1: 5, 2: 7, 3: 7, 4: 7, 5: 6, 6: 6 });
});

it('lets only the request that was delivered last write, also if that was outside the range', async () => {
  const folder = await openFolder();
  const request = { advertiser_ids: ['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3f'] };
  await deliver(folder, { days: [1, 4], created: 5 });
  await deliver(folder, { days: [3, 6], created: 7, request });
  const args = ['daily', '--local', '--out', folder.out];
  await curate(args);
  const { result } = await curate([...args, '--from', '2026-10-01', '--to', '2026-10-02']);
  expect(result.windows.map(({ outcome }) => outcome)).toEqual(['other_request']);
  expect(await spendIn(folder.out)).toEqual({ 3: 7, 4: 7, 5: 7, 6: 7 });
});

it('replaces the ledger of an earlier report, which tells nothing about the one that was delivered', async () => {
  const folder = await openFolder();
  await deliver(folder, { days: [1, 2], created: 7, ledgerOf: 5, kept: [2] });
  const { result } = await curate(['daily', '--local', '--out', folder.out]);
  expect(result.older).toEqual([]);
  const window = 'exports/account=acme/export=daily/start_date=2026-10-01/end_date=2026-10-03';
  const ledger = await readFile(join(folder.out, BUCKET, window, '_ledger.json'), 'utf8');
  expect(JSON.parse(ledger)).toMatchObject({ report_id: 'r-7', table: { days: 2 } });
});

it('says which days show an older report, because the newer one of the same window is gone', async () => {
  const folder = await openFolder();
  await deliver(folder, { days: [1, 3], created: 5, kept: [2, 3] });
  await deliver(folder, { days: [3, 4], created: 7 });
  const { status, result } = await curate(['daily', '--local', '--out', folder.out]);
  expect(status).toBe(0);
  const older = [{ account: 'acme', date: '2026-10-02', report_id: 'r-5', created_at: timeOf(5) }];
  expect(result.older).toEqual(older);
  // The ledger of the delivery still tells, when the table is there.
  expect((await curate(['daily', '--local', '--out', folder.out])).result.older).toEqual(older);
});

it('writes the other windows if one was replaced, is no report, does not fit, or is of another request', async () => {
  const folder = await openFolder();
  await deliver(folder, { days: [1, 1], created: 1, request: { metrics: ['spend', 'clicks'] } });
  await deliver(folder, { days: [2, 2], created: 2, replacedBy: '[]' });
  await deliver(folder, { days: [3, 3], created: 3, spend: 'much' });
  await deliver(folder, { days: [4, 4], created: 4 });
  const { status, result } = await curate(['daily', '--local', '--out', folder.out]);
  expect(status).toBe(1);
  expect(result.outcome).toBe('failed');
  expect(result.windows.map(({ outcome }) => outcome)).toEqual([
    'written',
    'failed',
    'replaced',
    'other_request',
  ]);
  expect(result.windows[1]?.problem).toMatch(/much.*spend/);
  expect(await spendIn(folder.out)).toEqual({ 4: 4 });
});

it('rebuilds only the windows of a range, and only those of an account', async () => {
  const folder = await openFolder();
  await deliver(folder, { days: [1, 2], created: 1 });
  await deliver(folder, { days: [3, 4], created: 2 });
  await deliver(folder, { days: [5, 6], created: 3 });
  await deliver(folder, { days: [3, 4], created: 4, account: 'globex' });
  const range = ['--from', '2026-10-02', '--to', '2026-10-05', '--account', 'acme'];
  await curate(['daily', '--local', '--out', folder.out, ...range]);
  expect(await spendIn(folder.out)).toEqual({ 1: 1, 2: 1, 3: 2, 4: 2 });
});

it('shows the newest snapshot of a list', async () => {
  const folder = await openFolder();
  for (const created of [1, 3, 2]) {
    const window = { start_date: dateOf(created), end_date: dateOf(created + 1) };
    const prefix = `exports/account=acme/export=campaigns/start_date=${window.start_date}/end_date=${window.end_date}`;
    const file = `{"id":"c-${created}"}\n`;
    await folder.put(`${prefix}/campaigns.ndjson`, file, 'application/x-ndjson');
    const manifest = {
      ...{ account: 'acme', export: 'campaigns', kind: 'list', ...window },
      request: { resource: 'campaigns', limit: 5000, filters: {} },
      ...{ platform: '127.0.0.1', revision: '2026-09-01', bucket: BUCKET, key: `${prefix}/campaigns.ndjson` },
      ...{
        bytes: file.length,
        checksum: { value: base64Crc(crc32(file)) },
        content_type: 'application/x-ndjson',
      },
      ...{ copied_at: timeOf(created), execution: `e-${created}` },
    };
    await folder.put(`${prefix}/_manifest.json`, JSON.stringify(manifest));
  }
  const { result } = await curate(['campaigns', '--local', '--out', folder.out]);
  expect(result.windows.map(({ outcome }) => outcome)).toEqual(['written', 'unchanged', 'unchanged']);
  const { rows } = await runLocalQuery('SELECT id, account FROM campaigns', folder.out);
  expect(rows).toEqual([['c-3', 'acme']]);
});

/** Stands for AWS: the catalog with the tables of cdk.json, and a folder with the outputs of a deployment. */
async function deploy({ endpoint }: Folder) {
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

it('works on the deployed bucket and catalog, and registers objects that have no partition', async () => {
  const folder = await openFolder();
  const { base_url, revision, exports } = readConfig();
  const [{ name, account, advertiser_ids, metrics, dimensions } = { name: '', account: '' }] = exports;
  const request = { advertiser_ids, metrics, dimensions };
  const fields = { campaign_id: '1', campaign_name: 'c', impressions: 10, number_of_purchases: 1 };
  const delivery = { name, account, request, fields, platform: platformName(base_url), revision };
  await deliver(folder, { ...delivery, days: [1, 2], created: 5 });
  await deliver(folder, { ...delivery, days: [3, 3], created: 6, platform: 'staging.example' });

  const { glue, cwd } = await deploy(folder);
  const { result } = await curate([name], cwd);
  expect(result.windows.map(({ outcome }) => outcome)).toEqual(['other_request', 'written']);
  const table = name.replaceAll('-', '_');
  const days = glue.partitionsOf(table).map(({ Values }) => Values);
  expect(days.sort()).toEqual([
    [account, '2026-10-01'],
    [account, '2026-10-02'],
  ]);
  expect(await spendIn(folder.out, table)).toEqual({ 1: 5, 2: 5 });

  // The export was removed from the config, and is back with a new table.
  const redeployed = await deploy(folder);
  const again = await curate([name], redeployed.cwd);
  expect(again.result).toMatchObject({ outcome: 'done', registered: 2 });
  expect(redeployed.glue.partitionsOf(table)).toHaveLength(2);
});

it('says which permission is missing, without a stack trace', async () => {
  const folder = await openFolder();
  const { exports } = readConfig();
  const [{ name, account } = { name: '', account: '' }] = exports;
  await deliver(folder, { name, account, days: [1, 1], created: 1 });
  const { glue, cwd } = await deploy(folder);
  glue.faults.push({ operation: 'GetTable', answer: 'AccessDeniedException' });
  const { status, stdout, stderr } = await runCommand(['curate', name, '--json'], '', cwd);
  expect([status, JSON.parse(stdout)]).toEqual([
    1,
    {
      ...{ outcome: 'failed', error: 'CommandFailed' },
      happened: `AWS refused to read table ${name} (AccessDeniedException).`,
      todo: expect.stringContaining('They need glue:GetTable'),
    },
  ]);
  expect(stderr).not.toContain('    at ');
});

it.each([
  ['nothing was delivered', ['nothing'], 'no report or list of nothing was delivered'],
  ['--out comes without --local', ['daily', '--out', 'x'], '--out can only be used with --local'],
  ['a date does not exist', ['daily', '--from', '2026-02-30'], 'must be a date that exists'],
])('exits 2 if %s', async (_, args, expected) => {
  const folder = await openFolder();
  await deliver(folder, { days: [1, 1], created: 1 });
  const local = args.includes('--out') ? args : [...args, '--local', '--out', folder.out];
  const { status, stderr } = await runCommand(['curate', ...local]);
  expect([status, stderr]).toEqual([2, expect.stringContaining(expected)]);
});
