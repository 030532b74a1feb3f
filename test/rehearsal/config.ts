import { EXAMPLE_ADVERTISERS } from '../../infra/lab/sandbox/sandbox-options.ts';

/** The account that has no credential at first is the last one. */
export const ACCOUNTS = ['acme', 'globex', 'initech'];

/** Seconds after which a report is READY: at the first poll, or long enough to stop its export before. */
export const [SOON, LATE] = [{ secondsToReady: 5 }, { secondsToReady: 120 }];

export const [FIRST, SECOND, THIRD] = EXAMPLE_ADVERTISERS;
export const METRICS = ['spend', 'impressions'];

const daily = {
  name: 'daily-campaigns',
  advertiser_ids: [FIRST],
  metrics: METRICS,
  dimensions: ['campaign_id'],
};
const monthly = { name: 'monthly-totals', advertiser_ids: [SECOND, THIRD], metrics: METRICS };
const shared = { name: 'shared', accounts: ['acme', 'initech'], metrics: METRICS };
const about = (advertiser_ids: unknown) => ({ advertiser_ids });
const lookBack = { period: 'last_7_days', schedule: 'cron(0 6 * * ? *)' };

interface Place {
  readonly stack: string;
  readonly base_url: string;
}

export type RehearsedConfig = ReturnType<typeof presentConfig>;

/** The config of the first deployment, by the earlier commit. */
export function earlierConfig(place: Place) {
  return {
    ...place,
    revision: '2026-09-01',
    accounts: { acme: about('all'), globex: about([SECOND]) },
    exports: [
      { ...daily, accounts: ['acme'], runs: [lookBack] },
      { ...monthly, accounts: ['globex'], runs: [{ period: 'previous_month' }] },
    ],
  };
}

/**
 * The same exports, one of each other kind, and one of two accounts.
 *
 * @param start of the export of two accounts
 * @param ready when it must be there
 */
export function presentConfig(place: Place, start: Date, ready: Date) {
  const schedule = `cron(${start.getUTCMinutes()} ${start.getUTCHours()} * * ? *)`;
  const run = { period: 'yesterday', schedule, ready_by: ready.toISOString().slice(11, 16) };
  return {
    ...earlierConfig(place),
    accounts: { acme: about('all'), globex: about([SECOND]), initech: about([THIRD]) },
    exports: [
      { ...daily, accounts: ['acme'], reconcile: true, runs: [lookBack] },
      { ...monthly, accounts: ['globex'], runs: [{ period: 'previous_month' }] },
      { ...shared, runs: [run] },
      { name: 'campaigns', accounts: ['acme'], kind: 'list', resource: 'campaigns' },
      { name: 'orders', accounts: ['acme'], kind: 'purchases', advertiser_id: FIRST, period: 'yesterday' },
    ],
  };
}
