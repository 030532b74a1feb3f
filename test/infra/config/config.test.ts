import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { CONFIG_KEY, InvalidConfig, parseConfig, readConfig } from '../../../infra/config/config.ts';
import { CONTEXT } from '../../support/stack.ts';

function faultsOf(context: unknown, region?: string): readonly string[] {
  try {
    parseConfig(context, region);
  } catch (error) {
    if (error instanceof InvalidConfig) return error.faults;
    throw error;
  }
  return [];
}

/** The faults of a valid config after these changes. */
function faultsWith(changes: Readonly<Record<string, unknown>>): readonly string[] {
  return faultsOf({ ...CONTEXT, ...changes });
}

const [daily, backfill] = CONTEXT.exports;
const RATE = { expression: 'rate(1 day)' };
const LIST = { name: 'campaigns', account: 'acme', kind: 'list', resource: 'campaigns', schedule: RATE };

describe('the config', () => {
  it('of cdk.json can be deployed as it is', () => {
    expect(readConfig().exports.map(({ name }) => name)).toEqual(['daily-campaigns', 'monthly-totals']);
  });

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
      tables: true,
      time_zones: {},
      currency: {},
      log_retention_days: 90,
      alarm_emails: [],
    });
  });

  it.each([
    ['github:acme/exports', 'https://github.com/acme/exports'],
    ['acme/exports', 'https://github.com/acme/exports'],
    ['https://git.example/acme/exports', 'https://git.example/acme/exports'],
    [{ type: 'git', url: 'git+https://github.com/acme/exports.git' }, 'https://github.com/acme/exports'],
    [{ type: 'git', url: 'git@github.com:acme/exports.git' }, undefined],
    [undefined, undefined],
  ])('links to the runbook of the repository in package.json: %j', (repository, home) => {
    const expected = home && `${home}/blob/HEAD/infra/RUNBOOK.md`;
    expect(parseConfig(CONTEXT, undefined, repository ?? null).runbook_url).toBe(expected);
    const runbook_url = 'https://wiki.example/runbook';
    expect(parseConfig({ ...CONTEXT, runbook_url }, undefined, repository ?? null)).toHaveProperty(
      'runbook_url',
      runbook_url,
    );
  });

  it('names every fault at once, including those of its exports', () => {
    const faults = faultsOf({
      stack: '1st',
      base_url: 'http://api.platform.example',
      revision: '2026-02-30',
      accounts: ['Acme', 'globex', 'globex'],
      exports: [
        { ...daily, metrics: [], schedule: { expression: 'daily', zone: 'UTC', expect_every_hours: 0 } },
        { ...backfill, account: 'initech' },
        { ...backfill, name: undefined, schedule: { ...RATE, time_zone: 'Mars/Olympus' } },
      ],
      max_download_bytes: 0,
      max_curate_bytes: 5_100_273_665,
      tables: 'none',
      download_hosts: ['https://files.example'],
      log_retention_days: 91,
      alarm_emails: ['ops@example.com', 'nobody'],
      alarm_topic_arn: 'arn:aws:sns:eu-central-1:111122223333:on-call.fifo',
      slack: { workspace_id: 'C0123ABCD', channel_id: '#ads', webhook: 'https://hooks.slack.example' },
      runbook_url: 'http://wiki.example/runbook',
      kms_key: 'alias/exports',
      basurl: 'x',
    });
    expect(faults.map((fault) => fault.replace(/: .*/, '')).sort()).toEqual(
      [
        'stack',
        'base_url',
        'revision',
        'accounts[0]',
        'accounts',
        'exports[0].schedule.expression',
        'exports[0].schedule.zone',
        'exports[0].schedule.expect_every_hours',
        'exports[0].metrics',
        'exports[0].account',
        'exports[1].account',
        'exports[2].schedule.time_zone',
        'exports[2].name',
        'exports[2].period',
        'max_download_bytes',
        'max_curate_bytes',
        'tables',
        'download_hosts[0]',
        'log_retention_days',
        'alarm_emails[1]',
        'alarm_emails',
        'alarm_topic_arn',
        'slack.workspace_id',
        'slack.channel_id',
        'slack.webhook',
        'runbook_url',
        'kms_key',
        'basurl',
      ].sort(),
    );
  });

  it.each([
    [
      'capitals in the name of the stack, which would share its database with another one',
      { stack: 'Ads' },
      'stack: must be 1 to 63 characters of a-z, 0-9 and -, the first a letter',
    ],
    ['an unknown field', { basurl: 'x' }, 'basurl: is not a setting (did you mean base_url?)'],
    [
      'an export of an account that is not listed',
      { accounts: ['globex'] },
      'exports[0].account: acme is not one of accounts (globex)',
    ],
    [
      'the time zone of an account that is not listed',
      { time_zones: { acne: 'UTC' } },
      'time_zones: acne is not one of accounts (acme, globex)',
    ],
    [
      'the currency of an account that is not listed',
      { currency: { acne: 'EUR' } },
      'currency: acne is not one of accounts (acme, globex)',
    ],
    ...['eur', 'ZZZ'].map((code): [string, object, string] => [
      `the currency ${code}`,
      { currency: { acme: code } },
      'currency.acme: must be the code of a currency in ISO 4217, such as EUR',
    ]),
    [
      'two exports of one name in an account',
      { exports: [daily, { ...backfill, account: 'acme', name: 'daily' }] },
      'exports[1].name: the account has another export daily',
    ],
    [
      'a schedule with fixed dates',
      { exports: [{ ...backfill, schedule: RATE }] },
      'exports[0].period: is missing; a schedule with fixed dates would export the same days every time',
    ],
    [
      'a schedule with a fixed day of the snapshot',
      { exports: [{ ...LIST, snapshot_date: '2026-10-01' }] },
      'exports[0].snapshot_date: a schedule would export the same day every time',
    ],
    ...[true, '2026-11-21T06:00:00Z'].map((only_missing): [string, object, string] => [
      `a schedule with only_missing ${only_missing}`,
      { exports: [{ ...daily, only_missing }] },
      'exports[0].only_missing: cannot be combined with a schedule, which would deliver nothing once everything is delivered',
    ]),
    ...['grant_type', 'refresh_token', 'client_secret'].map((name): [string, object, string] => [
      `the refresh parameter ${name}`,
      { refresh_parameters: { [name]: 'x', audience: 'y' } },
      `refresh_parameters.${name}: must not be set here: the export sends it itself`,
    ]),
  ])('refuses %s', (_, changes, fault) => {
    expect(faultsWith({ ...changes })).toEqual([fault]);
  });

  it.each<[string | undefined, readonly RegExp[]]>([
    ['eu-central-1', []],
    ['us-east-1', [/^alarm_topic_arn: is in eu-central-1, but must be in us-east-1/, /^kms_key: is in eu/]],
    ['us-gov-west-1', [/^alarm_topic_arn/, /^kms_key/, /^slack: AWS has no chat service in us-gov-west-1/]],
    ['cn-north-1', [/^alarm_topic_arn/, /^kms_key/, /^slack/]],
    ['', []],
    [undefined, []],
  ])('refuses what would not work in the Region, if it is known to which one the stack goes: %j', (region, faults) => {
    const elsewhere = {
      alarm_topic_arn: 'arn:aws:sns:eu-central-1:111122223333:on-call',
      kms_key: 'arn:aws:kms:eu-central-1:111122223333:key/1a2b3c4d',
      slack: { workspace_id: 'T0123ABCD', channel_id: 'C0123ABCD' },
    };
    expect(faultsOf({ ...CONTEXT, ...elsewhere }, region)).toEqual(
      faults.map((fault) => expect.stringMatching(fault)),
    );
    expect(faultsOf({ ...CONTEXT, kms_key: 'create' }, region)).toEqual([]);
  });

  it('accepts the schedule of a list, which is a snapshot of the day on which it is made', () => {
    expect(faultsWith({ exports: [LIST] })).toEqual([]);
  });

  it.each([
    'http://api.platform.example',
    'https://127.0.0.1/v1',
    'https://user:hunter2@api.platform.example/v1',
    'https://api.platform.example/v1?key=1',
    'https://api.platform.example/v1#top',
    'api.platform.example',
  ])('refuses the base_url %j', (base_url) => {
    const faults = faultsWith({ base_url });
    expect(faults.map((fault) => fault.split(':', 1)[0])).toContain('base_url');
    expect(faults.join()).not.toContain('hunter2');
  });

  it.each([
    'cron(0 6 * * ? *)',
    'cron(0/15 6-9,18 ? JAN-NOV MON#1,5L 2026-2030)',
    'cron(0 6 L,15W * ? *)',
    'cron(0 6 ? * L *)',
    'cron(0 6 29 2 ? *)',
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

  it.each([
    ['cron(0 25 * * ? *)', 'cannot be read: Invalid value for hour: 25'],
    ['cron(0 6 31 2 ? *)', 'names no day that exists'],
  ])('refuses the values of %s', (expression, fault) => {
    expect(faultsWith({ exports: [{ ...daily, schedule: { expression } }] })).toEqual([
      expect.stringContaining(`exports[0].schedule.expression: ${fault}`),
    ]);
  });

  it("puts exports and schedules into their account's time zone unless they name another one", () => {
    const plain = { ...daily, name: 'plain', schedule: undefined };
    const rated = { ...daily, name: 'rated', schedule: RATE };
    const time_zones = { acme: 'America/New_York' };
    const { exports } = parseConfig({ ...CONTEXT, exports: [daily, plain, rated], time_zones });
    expect(exports.map((each) => [each.time_zone, each.schedule?.time_zone])).toEqual([
      ['Europe/Berlin', 'Europe/Berlin'],
      ['America/New_York', undefined],
      ['America/New_York', 'America/New_York'],
    ]);
  });
});

describe('the CDK app', () => {
  it('fails the synth of an invalid config with its faults and without a stack trace', () => {
    const alarm_topic_arn = 'arn:aws:sns:eu-central-1:111122223333:on-call';
    const context = { [CONFIG_KEY]: { ...CONTEXT, revision: 'latest', accounts: [], alarm_topic_arn } };
    const target = { CDK_DEFAULT_ACCOUNT: '111122223333', CDK_DEFAULT_REGION: 'us-east-1' };
    const app = fileURLToPath(new URL('../../../infra/app.ts', import.meta.url));
    const { status, stderr } = spawnSync(process.execPath, [app], {
      env: { ...process.env, ...target, CDK_CONTEXT_JSON: JSON.stringify(context) },
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(stderr).toContain('\n  revision: must be');
    expect(stderr).toContain('\n  accounts: must not be empty');
    expect(stderr).toContain('\n  alarm_topic_arn: is in eu-central-1');
    expect(stderr).not.toContain('    at ');
  });
});
