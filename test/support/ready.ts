import { checkReady } from '../../functions/check-ready.ts';
import { requestHash } from '../../functions/decisions/request-hash.ts';
import { ReadyCheck } from '../../functions/workflow/ready.ts';
import { parseRequest } from '../../functions/workflow/request/request.ts';
import type { Window } from '../../functions/workflow/state-parts.ts';
import type { TableSchema } from '../../functions/workflow/table.ts';
import { createBucket } from './manifests.ts';
import { expectToMatchSchema } from './schemas.ts';
import { keepLog } from './steps.ts';

const TARGET = { platform: 'api.platform.example/v1', revision: '2026-09-01' };

/** When the run of `daily` is checked, by default. It was due at 06:00 in Berlin, which is 05:00 UTC. */
const NOW = new Date('2026-11-23T08:00:00Z');

/** The days of the run. */
export const WINDOW = { start_date: '2026-11-16', end_date: '2026-11-23' };
export const HALF = { ...WINDOW, end_date: '2026-11-20' };
export const OTHER_HALF = { ...WINDOW, start_date: '2026-11-20' };

export const inputOf = (account: string) => ({
  name: 'daily',
  account,
  period: 'last_7_days',
  time_zone: 'Europe/Berlin',
  advertiser_ids: ['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e'],
  metrics: ['spend'],
});

type Dependencies = Parameters<typeof checkReady>[1];

interface Conditions {
  /** The request of an account that the config has now. */
  readonly configured?: (account: string) => object;
  /** The request of an account by which its windows were delivered. */
  readonly deliveredBy?: (account: string) => object;
  /** When the reports of the windows were created. */
  readonly created?: string;
  readonly now?: Date;
  /** The table's schema. The stack has no tables by default. */
  readonly schema?: TableSchema;
  readonly store?: (store: Dependencies['store']) => Dependencies['store'];
  /** Fields of the run and of the check before. */
  readonly run?: Partial<ReadyCheck>;
}

/** Checks a run of the accounts, of each of which these windows were delivered. */
export async function check(
  delivered: Readonly<Record<string, readonly Window[]>>,
  {
    configured = inputOf,
    deliveredBy = configured,
    now = NOW,
    created = now.toISOString(),
    schema,
    store = (bucket) => bucket,
    run,
  }: Conditions = {},
) {
  const bucket = createBucket();
  const times = { report_created_at: created, copied_at: created, published_at: created };
  for (const [account, windows] of Object.entries(delivered))
    for (const window of windows)
      bucket.deliver(parseRequest(deliveredBy(account), NOW).request, window, times, TARGET);
  const { log, lines } = keepLog();
  const accounts = Object.keys(delivered);
  const checked = await checkReady(runOf(accounts.map(configured), run), {
    store: store(bucket.store),
    catalog: schema && { getTable: async () => schema },
    now: () => now,
    log,
    ...TARGET,
    program: 'npm run export --',
  });
  expectToMatchSchema('readiness', checked.readiness);
  const { subject, message } = checked.readiness;
  const { lists, reads } = bucket;
  return { checked, words: [subject, ...message.split('\n')], logged: lines, lists, reads };
}

function runOf(requests: readonly object[], changes: Partial<ReadyCheck> = {}): ReadyCheck {
  return ReadyCheck.parse({
    export: 'daily',
    ready_by: '09:00',
    time_zone: 'Europe/Berlin',
    tell: false,
    expression: 'cron(0 6 * * ? *)',
    checked_at: '2026-11-23T08:00:00Z',
    requests,
    ...changes,
  });
}

/** The table of the request of acme, as the config has it. */
export function schemaOf(): TableSchema {
  const { request } = parseRequest(inputOf('acme'), NOW);
  const columns = [{ name: 'spend', type: 'decimal(18,6)', from: 'spend' }] as const;
  const requests = { acme: requestHash(request, TARGET) };
  return { table: 'daily', kind: 'report', columns, date_column: 'date', requests, currencies: {} };
}
