import { expect, it } from 'vitest';
import { requestHash } from '../../../../functions/decisions/request-hash.ts';
import { parseRequest } from '../../../../functions/workflow/request/request.ts';
import { type InvalidConfig, parseConfig } from '../../../../infra/stack/config/config.ts';
import { requestOf } from '../../../../infra/stack/config/exports.ts';
import { LIST } from '../../../support/requests.ts';

const PLATFORM = 'api.platform.example/v1';
const [ACME, GLOBEX, INITECH] = [
  '5f0c1b9e-3a74-4d1b-9c52-7e8d2f6a1b01',
  '0b9d4c2a-86f1-4e57-a3c8-1d2e5f7a9b02',
  'c7e1f3d5-2b4a-4c6d-8e9f-3a5b7c9d1e03',
];
const ACME_HASH = '4d8d8f8bb9da2cf5aa7ef1620a00c71c4f186ad4436358c99b8dfa0aa9fb664a';
const SIX = 'cron(0 6 * * ? *)';
const SPEND = { metrics: ['spend', 'clicks'], columns: { clicks: 'bigint' } };
const DAILY = { name: 'daily', period: 'last_28_days', ...SPEND };
const MONTHLY = { name: 'monthly', account: 'acme', period: 'previous_month', metrics: ['clicks', 'spend'] };

const ATTRIBUTION = { attribution: '7d' };
const IN_BERLIN = { expression: SIX, time_zone: 'Europe/Berlin' };
const PAUSED = { expression: SIX, enabled: false };
const WEEKLY = { expression: 'rate(7 days)', time_zone: 'Europe/Berlin', expect_every_hours: 168 };

/** A config of version 0.2.0. */
const OLD = {
  base_url: `https://${PLATFORM}`,
  revision: '2026-09-01',
  accounts: ['acme', 'globex', 'initech'],
  time_zones: { globex: 'Europe/Berlin', initech: 'America/New_York' },
  currency: { acme: 'EUR', globex: 'EUR', initech: 'USD' },
  reserve_token_concurrency: true,
  alarm_emails: ['ops@example.com'],
  exports: [
    { ...DAILY, account: 'acme', advertiser_ids: [ACME], schedule: IN_BERLIN },
    { ...DAILY, account: 'globex', advertiser_ids: [GLOBEX], schedule: { expression: SIX } },
    { ...DAILY, account: 'initech', advertiser_ids: [INITECH], options: ATTRIBUTION, schedule: PAUSED },
    { ...MONTHLY, table: 'daily', advertiser_ids: [ACME], schedule: WEEKLY },
    { ...LIST, account: 'initech', schedule: { expression: 'rate(1 day)', time_zone: 'UTC' } },
    { name: 'sales', account: 'initech', kind: 'purchases', period: 'yesterday', advertiser_id: INITECH },
  ],
};

/** The hash, time zone and schedule of each export that version 0.2.0 made of it. */
const FROM_OLD: readonly (readonly [id: string, hash: string, zone: string, schedule?: string])[] = [
  ['acme/daily', ACME_HASH.slice(0, 8), 'Europe/Berlin', SIX],
  ['globex/daily', 'c3a55cc0', 'Europe/Berlin', SIX],
  ['initech/daily', 'b55914da', 'America/New_York', SIX],
  ['acme/monthly', ACME_HASH.slice(0, 8), 'Europe/Berlin', 'rate(7 days)'],
  ['initech/campaigns', '30e8bafd', 'UTC', 'rate(1 day)'],
  ['initech/sales', 'e068919c', 'America/New_York'],
];

/** The config that the refusal of an old one prints. */
function convert(old: unknown) {
  try {
    parseConfig(old);
  } catch (error) {
    const [fault = '', ...others] = (error as InvalidConfig).faults;
    expect(others).toEqual([]);
    expect(fault).toMatch(/^it has the form of version 0\.2\.0\. In the new form, it is:\n\{\n/);
    return JSON.parse(fault.slice(fault.indexOf('\n')));
  }
}

it('a config of the old form is refused with the new form, which has the same requests and schedules', () => {
  const converted = convert(OLD);
  const { exports, alarm_emails, accounts } = parseConfig(converted);
  const found = exports.map((entry) => {
    const { request } = parseRequest(requestOf(entry), new Date());
    const hash = requestHash(request, { platform: PLATFORM, revision: OLD.revision });
    return [`${entry.account}/${entry.name}`, hash.slice(0, 8), entry.time_zone, entry.runs[0]?.schedule];
  });
  const scheduled = FROM_OLD.map(([id, hash, time_zone, expression]) => {
    const enabled = id !== 'initech/daily';
    return [id, hash, time_zone, expression && { expression, time_zone, enabled }];
  });
  expect(found).toEqual(scheduled);
  expect(exports.map(({ period }) => period)).toEqual(
    OLD.exports.map((entry) => ('period' in entry ? entry.period : undefined)),
  );
  expect(alarm_emails).toEqual(OLD.alarm_emails);
  expect(accounts.initech).toEqual({
    time_zone: 'America/New_York',
    currency: 'USD',
    advertiser_ids: [INITECH],
  });
  // Exports that differ by account only become one.
  expect(converted.exports[0]).toMatchObject({ name: 'daily', accounts: ['acme', 'globex'] });
  expect(convert(converted)).toBeUndefined();
});
