import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { FUNCTIONS_FOLDER, prepareAssembly } from '../../infra/lab/local/assembly/assembly.ts';
import { costOf, SECONDS_PER_REPORT } from '../../infra/stack/config/cost.ts';
import { synthesize } from '../../infra/stack/synthesize.ts';
import { costOfAccounts, monthlyCost } from '../support/monthly-cost.ts';

const NAMES = ['daily-campaigns', 'daily-creatives', 'daily-regions'];

const DAYS = 30;

/** Three daily exports of these accounts, each with four advertisers. */
function configOf(accounts: number) {
  const advertiser_ids = () => Array.from({ length: 4 }, () => randomUUID());
  const names = Array.from({ length: accounts }, (_, at) => `account-${at + 1}`);
  const runs = [{ period: 'last_28_days', schedule: 'cron(0 6 * * ? *)', ready_by: '09:00' }];
  const what = { metrics: ['spend', 'impressions'], dimensions: ['campaign_id', 'campaign_name'], runs };
  return {
    base_url: 'https://api.platform.example/v1',
    revision: '2026-09-01',
    accounts: Object.fromEntries(
      names.map((name) => [name, { time_zone: 'Europe/Berlin', advertiser_ids: advertiser_ids() }]),
    ),
    exports: NAMES.map((name) => ({ name, ...what })),
  };
}

/** Prints the size of a stack with many accounts, its executions a day and its dollars a month. */
export async function benchAccounts(counts: readonly number[]): Promise<void> {
  const bundles = join(prepareAssembly(), FUNCTIONS_FOLDER);
  const rows = counts.map((accounts) => {
    const stack = synthesize(configOf(accounts), bundles);
    const { total } = monthlyCost(stack);
    const report = costOf('report', 1, SECONDS_PER_REPORT).dollars;
    const runs = DAYS * NAMES.length * (costOfAccounts(accounts).dollars + accounts * report);
    const columns = {
      resources: Object.keys(stack.template.Resources).length,
      'template bytes': Buffer.byteLength(JSON.stringify(stack.template)),
      // One that starts the others, and one that checks them.
      'executions a day': NAMES.length * (accounts + 2),
      'secrets and alarms, $ a month': Number(total.toFixed(2)),
      'runs, $ a month': Number(runs.toFixed(2)),
      '$ a month': Number((total + runs).toFixed(2)),
    };
    return [accounts, columns] as const;
  });
  console.table(Object.fromEntries(rows));
}
