import type { ConfigInput } from 'ad-report-export';

// Two stacks to try the exports of ads.config.ts without a platform: cdk deploy --all -c sandbox=true
export default {
  stack: 'ad-report-export-sandbox',
  // A sandbox of the platform, which is deployed beside this stack. It has only the account `sandbox`.
  base_url: 'sandbox',
  revision: '2026-09-01',
  accounts: {
    sandbox: { time_zone: 'Europe/Berlin', advertiser_ids: 'all' },
  },
  exports: [
    {
      name: 'daily-campaigns',
      metrics: ['spend', 'impressions', 'number_of_purchases'],
      dimensions: ['campaign_id', 'campaign_name'],
      runs: [{ period: 'last_28_days', schedule: 'cron(0 6 * * ? *)', ready_by: '09:00' }],
    },
    {
      name: 'monthly-totals',
      metrics: ['spend', 'impressions'],
      runs: [{ period: 'previous_month', schedule: 'cron(0 7 2 * ? *)', ready_by: '12:00' }],
    },
  ],
} satisfies ConfigInput;
