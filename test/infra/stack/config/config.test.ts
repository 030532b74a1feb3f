import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../../../infra/stack/config/config.ts';
import { CONTEXT, configFaults } from '../../../support/stack.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const { accounts } = CONTEXT;
const [daily, backfill] = CONTEXT.exports;
const ADVERTISER = 'c7e1f3d5-2b4a-4c6d-8e9f-3a5b7c9d1e03';
const LIST = {
  name: 'campaigns',
  accounts: ['acme'],
  kind: 'list',
  resource: 'campaigns',
  runs: [{ schedule: 'rate(1 day)' }],
};

describe('the config', () => {
  it('needs the platform, its revision and the accounts, and has defaults for the rest', () => {
    const { base_url, revision, accounts } = CONTEXT;
    expect(parseConfig({ base_url: `${base_url}/`, revision, accounts })).toEqual({
      base_url,
      revision,
      accounts,
      stack: 'ad-report-export',
      exports: [],
      max_download_bytes: 53_687_091_200,
      max_curate_bytes: 4_294_967_296,
      memory_mb: {},
      curate_minutes: 15,
      tables: true,
      final_after_days: 6,
      log_retention_days: 90,
      max_accounts: 10,
      alarm_emails: [],
    });
  });

  it('names every fault at once, including those of its exports', () => {
    const faults = configFaults({
      stack: '1st',
      base_url: 'http://api.platform.example',
      revision: '2026-02-30',
      accounts: {
        Acme: {},
        acme: { time_zone: 'Mars/Olympus', currency: 'eur', advertiser_ids: 'every', region: 'EU' },
        globex: {},
      },
      exports: [
        {
          ...daily,
          metrics: [],
          runs: [
            { period: 'never', schedule: 'daily' },
            { period: 'yesterday', schedule: { expression: 'rate(1 day)', zone: 'UTC' }, time_zone: 'UTC+1' },
            { period: 'yesterday', ready_by: '9:00', tell: 'sometimes' },
          ],
        },
        { ...backfill, accounts: ['globex', 'initech'], account: 'globex', schedule: 'rate(1 day)' },
        { ...backfill, name: undefined, runs: [{}], accounts: [] },
      ],
      max_download_bytes: 0,
      max_curate_bytes: 5_100_273_665,
      tables: 'none',
      download_hosts: ['https://files.example'],
      log_retention_days: 91,
      alarm_emails: ['ops@example.com', 'nobody'],
      runbook_url: 'http://wiki.example/runbook',
      kms_key: 'alias/exports',
      basurl: 'x',
    });
    const named = `
      stack base_url revision accounts.Acme accounts.acme.time_zone accounts.acme.currency
      accounts.acme.advertiser_ids accounts.acme.region accounts.globex.advertiser_ids
      exports[0].metrics exports[0].runs[0].period exports[0].runs[0].schedule.expression
      exports[0].runs[1].schedule.zone exports[0].runs[1].time_zone exports[0].runs[2].ready_by
      exports[0].runs[2].tell exports[1].account exports[1].accounts exports[1].schedule
      exports[2].accounts exports[2].name exports[2].start_date exports[2].end_date max_download_bytes
      max_curate_bytes tables download_hosts[0] log_retention_days alarm_emails[1]
      runbook_url kms_key basurl`;
    const places = faults.map((fault) => fault.replace(/: .*/, ''));
    expect(places.sort()).toEqual(named.trim().split(/\s+/).sort());
  });

  it.each<[object, ...string[]]>([
    [{ stack: 'Ads' }, 'stack: must be 1 to 63 characters of a-z, 0-9 and -, the first a letter'],
    [{ basurl: 'x' }, 'basurl: is not a setting (did you mean base_url?)'],
    [{ accounts: {}, exports: [] }, 'accounts: must not be empty'],
    [{ memory_mb: { CurateReport: 1_024 } }, 'memory_mb.CurateReport: must be at least 1769'],
    [{ memory_mb: { ExportList: 10_241 } }, 'memory_mb.ExportList: must be at most 10240'],
    [{ memory_mb: { Curate: 3_000 } }, 'memory_mb.Curate: is not a setting'],
    [{ curate_minutes: 2.5 }, 'curate_minutes: must be whole minutes'],
    [{ log_retention_days: 30, keep_reports_days: 7.5 }, 'keep_reports_days: must be a whole number'],
    [{ curate_minutes: 1 }, 'curate_minutes: must be at least 2'],
    [{ curate_minutes: 16 }, 'curate_minutes: must be at most 15'],
    [
      { kms_key: 'arn:aws:kms:eu-central-1:111122223333:key/1a2b3c4d-0000-1111-2222-333344445555' },
      'kms_key: must be "create"; a key of yours is the prop encryptionKey',
    ],
    [
      { exports: [{ ...daily, accounts: ['acne'] }] },
      'exports[0].accounts: acne is not one of accounts (acme, globex)',
    ],
    ...['eur', 'ZZZ'].map((code): [object, string] => [
      { accounts: { ...accounts, acme: { ...accounts.acme, currency: code } } },
      'accounts.acme.currency: must be the code of a currency in ISO 4217, such as EUR',
    ]),
    [{ accounts: { ...accounts, acme: {} } }, 'accounts.acme.advertiser_ids: is missing'],
    [
      { accounts: { ...accounts, globex: { advertiser_ids: [ADVERTISER, ADVERTISER] } } },
      `accounts.globex.advertiser_ids: must not repeat ${ADVERTISER}`,
    ],
    [
      { exports: [{ ...daily, accounts: undefined, advertiser_ids: [ADVERTISER] }] },
      'exports[0].advertiser_ids: needs an export of one account, and this one has 2',
    ],
    [
      { exports: [daily, { ...backfill, accounts: undefined, name: 'daily' }] },
      'exports[1].name: there is another export acme/daily',
    ],
    [
      { exports: [{ ...backfill, end_date: undefined, runs: [{ schedule: 'rate(1 day)' }] }] },
      'exports[0].start_date: cannot be combined with runs, which have a period',
      'exports[0].runs[0].period: is missing',
    ],
    [
      { exports: [{ ...LIST, snapshot_date: '2026-10-01' }] },
      'exports[0].snapshot_date: cannot be combined with runs, which have a period',
    ],
    [
      { exports: [{ ...daily, only_missing: true }] },
      'exports[0].only_missing: cannot be combined with runs, which have a period',
    ],
    ...['grant_type', 'refresh_token', 'client_secret'].map((name): [object, string] => [
      { refresh_parameters: { [name]: 'x', audience: 'y' } },
      `refresh_parameters.${name}: must not be set here: the export sends it itself`,
    ]),
  ])('refuses %j: %s', (changes, ...faults) => {
    expect(configFaults({ ...CONTEXT, ...changes })).toEqual(faults);
  });

  it('accepts the schedule of a list, which is a snapshot of the day on which it is made', () => {
    expect(configFaults({ ...CONTEXT, exports: [LIST] })).toEqual([]);
  });

  const UNSAFE = ['https://user:hunter2@api.platform.example/v1', 'https://api.platform.example/v1#top'];
  it.each(UNSAFE)('refuses the base_url %j', (base_url) => {
    const faults = configFaults({ ...CONTEXT, base_url });
    expect(faults.map((fault) => fault.split(':', 1)[0])).toContain('base_url');
    expect(faults.join()).not.toContain('hunter2');
  });

  it('has each export once for each account, with a request and a schedule for each run', () => {
    const runs = [
      { period: 'last_28_days', schedule: 'cron(0 6 * * ? *)' },
      { period: 'previous_month', schedule: { expression: 'rate(1 day)', enabled: false }, time_zone: 'UTC' },
      { period: 'yesterday' },
    ];
    const { exports } = parseConfig({ ...CONTEXT, exports: [{ name: 'daily', metrics: ['spend'], runs }] });
    const ofAcme = { name: 'daily', account: 'acme', ...accounts.acme, metrics: ['spend'] };
    const ofGlobex = { name: 'daily', account: 'globex', ...accounts.globex, metrics: ['spend'] };
    expect(exports).toEqual([
      {
        ...ofAcme,
        period: 'last_28_days',
        runs: [
          {
            request: { ...ofAcme, period: 'last_28_days' },
            schedule: { expression: 'cron(0 6 * * ? *)', enabled: true, time_zone: 'Europe/Berlin' },
          },
          {
            request: { ...ofAcme, period: 'previous_month', time_zone: 'UTC' },
            schedule: { expression: 'rate(1 day)', enabled: false, time_zone: 'UTC' },
          },
          { request: { ...ofAcme, period: 'yesterday' } },
        ],
      },
      expect.objectContaining({ ...ofGlobex, period: 'last_28_days' }),
    ]);
  });

  it('lets an export name its own time zone for its days, and its own advertisers', () => {
    const inNewYork = { ...daily, time_zone: 'America/New_York', advertiser_ids: [ADVERTISER] };
    const [entry] = parseConfig({ ...CONTEXT, exports: [inNewYork] }).exports;
    expect(entry?.runs[0]).toMatchObject({
      request: { time_zone: 'America/New_York', advertiser_ids: [ADVERTISER] },
      schedule: { time_zone: 'Europe/Berlin' },
    });
  });
});

it('the CDK app fails the synth of an invalid config with its faults and without a stack trace', () => {
  const config = join(temporaryDirectory(), 'prod.json');
  writeFileSync(config, JSON.stringify({ ...CONTEXT, revision: 'latest', accounts: {} }));
  const app = fileURLToPath(new URL('../../../../infra/app.ts', import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [app], {
    env: { ...process.env, CDK_CONTEXT_JSON: JSON.stringify({ config }) },
    encoding: 'utf8',
  });
  expect(status).toBe(1);
  expect(stderr).toMatch(/prod\.json: .*\n/);
  expect(stderr).toContain('\n  revision: must be');
  expect(stderr).toContain('\n  accounts: must not be empty');
  expect(stderr).not.toContain('    at ');
});
