import type { ConfigInput } from 'ad-report-export';

// node_modules/ad-report-export/infra/CONFIG.md describes every setting.
export default {
  // The name of the stack. The names of its secrets begin with it.
  stack: 'ad-report-export',
  base_url: 'https://api.platform.example/v1',
  revision: '2026-09-01',
  // Each account has a credential of its own.
  accounts: {
    acme: { time_zone: 'Europe/Berlin', advertiser_ids: 'all' },
    globex: {
      advertiser_ids: ['0b9d4c2a-86f1-4e57-a3c8-1d2e5f7a9b02', 'c7e1f3d5-2b4a-4c6d-8e9f-3a5b7c9d1e03'],
    },
  },
  // The runs say when. An alarm tells of days that are not there by ready_by.
  exports: [
    {
      name: 'daily-campaigns',
      accounts: ['acme'],
      metrics: ['spend', 'impressions', 'number_of_purchases'],
      dimensions: ['campaign_id', 'campaign_name'],
      runs: [{ period: 'last_28_days', schedule: 'cron(0 6 * * ? *)', ready_by: '09:00' }],
    },
    {
      name: 'monthly-totals',
      accounts: ['globex'],
      metrics: ['spend', 'impressions'],
      runs: [{ period: 'previous_month', schedule: 'cron(0 7 2 * ? *)', ready_by: '12:00' }],
    },
  ],
} satisfies ConfigInput;
