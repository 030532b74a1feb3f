import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { CONFIG_KEY, InvalidConfig, parseConfig, readConfig } from '../../infra/config.ts';
import { CONTEXT } from '../support/stack.ts';

function faultsOf(context: unknown): readonly string[] {
  try {
    parseConfig(context);
  } catch (error) {
    if (error instanceof InvalidConfig) return error.faults;
    throw error;
  }
  return [];
}

/** The faults of a config that differs from a good one. */
function faultsWith(changes: Readonly<Record<string, unknown>>): readonly string[] {
  return faultsOf({ ...CONTEXT, ...changes });
}

const [daily, backfill] = CONTEXT.exports;

describe('the config', () => {
  it('of cdk.json can be deployed as it is shipped', () => {
    expect(readConfig().exports.map(({ name }) => name)).toEqual(['daily-campaigns', 'monthly-totals']);
  });

  it('has defaults for all that is a matter of taste', () => {
    const { base_url, revision, accounts } = CONTEXT;
    expect(parseConfig({ base_url, revision, accounts })).toEqual({
      ...{ base_url, revision, accounts },
      stack: 'ad-report-export',
      exports: [],
      reserve_token_concurrency: true,
      max_download_bytes: 53_687_091_200,
      log_retention_days: 90,
      alarm_emails: [],
    });
  });

  it('names every fault at once, those of its exports included', () => {
    const faults = faultsOf({
      stack: '1st',
      base_url: 'http://api.platform.example',
      revision: '2026-02-30',
      accounts: ['Acme', 'globex', 'globex'],
      exports: [
        { ...daily, metrics: [], schedule: { expression: 'daily', zone: 'UTC' } },
        { ...backfill, account: 'initech' },
        { ...backfill, name: undefined, schedule: { expression: 'rate(1 day)', time_zone: 'Mars/Olympus' } },
      ],
      reserve_token_concurrency: 'yes',
      max_download_bytes: 0,
      download_hosts: ['https://files.example'],
      log_retention_days: 91,
      alarm_emails: ['ops@example.com', 'nobody'],
      runbook_url: 'http://wiki.example/runbook',
      kms_key: 'alias/exports',
      basurl: 'x',
    });
    for (const field of [
      'stack',
      'base_url',
      'revision',
      'accounts[0]',
      'accounts',
      'exports[0].schedule.expression',
      'exports[0].schedule.zone',
      'exports[0].metrics',
      'exports[0].account',
      'exports[1].account',
      'exports[2].schedule.time_zone',
      'exports[2].name',
      'exports[2].period',
      'reserve_token_concurrency',
      'max_download_bytes',
      'download_hosts[0]',
      'log_retention_days',
      'alarm_emails[1]',
      'runbook_url',
      'kms_key',
      'basurl',
    ]) {
      expect(
        faults.filter((fault) => fault.startsWith(`${field}: `)),
        field,
      ).not.toEqual([]);
    }
  });

  it('says of each fault what it is: missing, of another type, or of another form', () => {
    const { revision, ...without } = CONTEXT;
    expect(faultsOf({ ...without, reserve_token_concurrency: 'no', kms_key: 'alias/exports' })).toEqual([
      'revision: is missing',
      'reserve_token_concurrency: must be of type boolean',
      'kms_key: must be "create" or the ARN of a KMS key',
    ]);
  });

  it('refuses what would only show when the stack is synthesized, deployed or used', () => {
    expect(faultsWith({ alarm_emails: ['ops@example.com', 'ops@example.com'] })).toEqual([
      'alarm_emails: must not repeat an address',
    ]);
    const schedule = { expression: 'rate(1 day)', time_zone: '+01:00' };
    expect(faultsWith({ exports: [{ ...daily, schedule }] })).toContainEqual(
      'exports[0].schedule.time_zone: must be an IANA time zone, such as Europe/Berlin',
    );
    for (const name of ['grant_type', 'refresh_token', 'client_secret'])
      expect(faultsWith({ refresh_parameters: { [name]: 'x', grant_types: 'y' } })).toEqual([
        expect.stringMatching(new RegExp(`^refresh_parameters\\.${name}: `)),
      ]);
  });

  it('refuses a legacy API key of an account that it does not list', () => {
    expect(faultsWith({ legacy_api_key_accounts: ['acme', 'acne'] })).toEqual([
      `legacy_api_key_accounts[1]: acne is not one of accounts (${CONTEXT.accounts.join(', ')})`,
    ]);
  });

  it.each([undefined, null, 'text', [], 7])('that is %j is refused', (context) => {
    expect(faultsOf(context)).not.toEqual([]);
  });

  it.each([
    'http://api.platform.example',
    'https://127.0.0.1/v1',
    'https://10.0.0.1/v1',
    'https://[::1]/v1',
    'https://169.254.169.254/',
    'https://localhost/v1',
    'https://user:hunter2@api.platform.example/v1',
    'https://api.platform.example/v1?key=1',
    'https://api.platform.example/v1#top',
    'ftp://api.platform.example',
    'api.platform.example',
    '',
  ])('refuses the base_url %j', (base_url) => {
    const faults = faultsWith({ base_url });
    expect(faults.map((fault) => fault.split(':', 1)[0])).toContain('base_url');
    expect(faults.join()).not.toContain('hunter2');
  });

  it('joins the base_url and a path with one slash', () => {
    expect(parseConfig({ ...CONTEXT, base_url: 'https://api.platform.example/v1/' }).base_url).toBe(
      'https://api.platform.example/v1',
    );
  });

  it('refuses a schedule with fixed dates, which would export the same days for ever', () => {
    const scheduled = { ...backfill, schedule: { expression: 'rate(1 day)' } };
    expect(faultsWith({ exports: [scheduled] })).toEqual([expect.stringMatching(/^exports\[0\]\.period: /)]);
  });

  it.each([
    true,
    '2026-11-21T06:00:00Z',
  ])('refuses a schedule with only_missing %s, which would deliver nothing in the end', (only_missing) => {
    expect(faultsWith({ exports: [{ ...daily, only_missing }] })).toEqual([
      expect.stringMatching(/^exports\[0\]\.only_missing: .*schedule/),
    ]);
    expect(faultsWith({ exports: [{ ...backfill, only_missing }] })).toEqual([]);
    expect(faultsWith({ exports: [{ ...daily, only_missing: false }] })).toEqual([]);
  });

  it('refuses an account that it does not list', () => {
    expect(faultsWith({ accounts: ['globex'] })).toEqual([
      'exports[0].account: acme is not one of accounts (globex)',
    ]);
  });

  it('refuses two exports of one name within an account, and only there', () => {
    const again = { ...backfill, name: 'daily' };
    expect(faultsWith({ exports: [daily, again] })).toEqual([]);
    expect(faultsWith({ exports: [daily, { ...again, account: 'acme' }] })).toEqual([
      'exports[1].name: the account has another export daily',
    ]);
  });

  it.each([
    'cron(0 6 * * ? *)',
    'cron(0/15 6-9,18 ? JAN-NOV MON#1,5L 2026-2030)',
    'cron(0 6 L,15W * ? *)',
    'rate(12 hours)',
  ])('accepts the schedule %s', (expression) => {
    expect(faultsWith({ exports: [{ ...daily, schedule: { expression } }] })).toEqual([]);
  });

  it.each([
    'cron(0 6 * * ?)',
    'cron(0 6 * * * *)',
    'cron(0 6 ? * ? *)',
    'cron(0 6 1 * MON *)',
    'cron(0 6 * * ? never)',
    'cron(0/x 6 * * ? *)',
    'rate(0 days)',
    'at(2026-01-01T00:00:00)',
  ])('refuses the schedule %s', (expression) => {
    expect(faultsWith({ exports: [{ ...daily, schedule: { expression } }] })).toEqual([
      expect.stringMatching(/^exports\[0\]\.schedule\.expression: must be cron\(/),
    ]);
  });

  it('expects a scheduled export every 24 hours unless it says otherwise', () => {
    const { expression } = daily?.schedule ?? {};
    const hourly = { ...daily, name: 'hourly', schedule: { expression, expect_every_hours: 1 } };
    const { exports } = parseConfig({ ...CONTEXT, exports: [daily, hourly] });
    expect(exports.map(({ schedule }) => schedule?.expect_every_hours)).toEqual([24, 1]);
  });

  it("counts a period's days in the schedule's time zone unless the request names another", () => {
    const zones = (exports: readonly unknown[]) =>
      parseConfig({ ...CONTEXT, exports }).exports.map(({ time_zone }) => time_zone);
    expect(zones([daily, { ...daily, name: 'other', time_zone: 'Asia/Tokyo' }])).toEqual([
      'Europe/Berlin',
      'Asia/Tokyo',
    ]);
  });
});

describe('the CDK app', () => {
  it('fails the synth of a wrong config with its faults and no stack trace', () => {
    const context = { [CONFIG_KEY]: { ...CONTEXT, revision: 'latest', accounts: [] } };
    const app = fileURLToPath(new URL('../../infra/app.ts', import.meta.url));
    const { status, stderr } = spawnSync(process.execPath, [app], {
      env: { ...process.env, CDK_CONTEXT_JSON: JSON.stringify(context) },
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(stderr).toContain('\n  revision: must be');
    expect(stderr).toContain('\n  accounts: must not be empty');
    expect(stderr).not.toContain('    at ');
  });
});
