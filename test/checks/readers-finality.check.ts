import { join } from 'node:path';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import fc from 'fast-check';
import { it } from 'vitest';
import { curateReport } from '../../functions/curate-report.ts';
import { requestHash } from '../../functions/decisions/request-hash.ts';
import { publishWindow } from '../../functions/publish-window.ts';
import { objectKey } from '../../functions/workflow/keys.ts';
import { addDays } from '../../functions/workflow/request/dates.ts';
import type { Window } from '../../functions/workflow/state-parts.ts';
import type { SavedWindow } from '../../functions/workflow/states.ts';
import { reportColumns } from '../../functions/workflow/table.ts';
import { LOCAL_AWS_ACCOUNT } from '../../infra/lab/local/s3/server.ts';
import { createReportFile } from '../../infra/lab/sandbox/reporting/create-report-file.ts';
import { EXAMPLE_ADVERTISERS } from '../../infra/lab/sandbox/sandbox-options.ts';
import { startTables, TABLE } from '../functions/tables/curations.ts';
import { writeTemporary } from '../infra/operate/cli/support.ts';
import { runCommand } from '../support/cli.ts';
import { BUCKET } from '../support/s3.ts';
import { reportRef, windowOf } from '../support/steps.ts';
import { installPython } from './python.ts';

const python = installPython();
const SEED = Number(process.env.SEED ?? 1);

/** The reports end today, so that some days are still changing. */
const END = Date.now();
const START = addDays(new Date(END).toISOString().slice(0, 10), -50);
const FIELDS = { metrics: ['spend', 'impressions', 'conversions', 'reach'], dimensions: ['campaign_id'] };

const [advertiser_ids, others] = [EXAMPLE_ADVERTISERS.slice(0, 2), EXAMPLE_ADVERTISERS.slice(2)];
const CONFIG = {
  base_url: 'https://api.platform.example/v1',
  revision: '2026-09-01',
  accounts: { acme: { advertiser_ids, final_after_days: 2 }, globex: { advertiser_ids } },
};
const TARGET = { platform: 'api.platform.example/v1', revision: CONFIG.revision };
const EXPORTS = [
  { account: 'acme', name: 'compared', format: 'JSON', reconcile: true },
  { account: 'acme', name: 'plain', format: 'CSV' },
  { account: 'globex', name: 'plain', format: 'CSV' },
] as const;

/** Reports besides the daily ones: the days from their last day to their creation, and their days. */
const AGES = [0, 9, 9, 30, 0];
const LENGTHS = [1, 1, 4, 20];

const report = fc.record({
  /** At this place in AGES and LENGTHS. Higher than those: a daily one, which looks back. */
  kind: fc.nat({ max: 18 }),
  /** It has no rows for this one of its days. */
  gap: fc.nat({ max: 60 }),
  minutes: fc.nat({ max: 1_439 }),
  hoursUnderway: fc.constantFrom(0, 0, 0, 0, 0, 0, 40, 90),
  accept_empty: fc.constantFrom(false, false, false, true),
  /** 0: its request is not the configured one. */
  request: fc.nat({ max: 9 }),
});
const series = fc.record({
  lookBack: fc.integer({ min: 8, max: 16 }),
  growth: fc.constantFrom({}, ...[2, 3, 5].map((days) => ({ restated: { days } }))),
  reports: fc.array(report, { minLength: 62, maxLength: 62 }),
});
type Tables = Awaited<ReturnType<typeof startTables>>;
type Series = typeof series extends fc.Arbitrary<infer T> ? T : never;

/** A report on most days, and two on others. In the order of their arrival. */
function reportsOf({ lookBack, reports }: Omit<Series, 'growth'>) {
  const all = reports.map(({ kind, minutes, hoursUnderway, ...report }, index) => {
    const day = addDays(START, Math.floor(index * 0.8));
    const end_date = addDays(day, 1 - (AGES[kind] ?? 1));
    const window = { start_date: addDays(end_date, -(LENGTHS[kind] ?? lookBack)), end_date };
    const created = Date.parse(day) + minutes * 60_000;
    const copied_at = new Date(created + hoursUnderway * 3_600_000).toISOString();
    return { ...report, window, created, copied_at };
  });
  // A second file of a window would replace the first one.
  const byWindow = new Map(all.map((report) => [JSON.stringify(report.window), report]));
  return [...byWindow.values()].sort((first, second) => (first.copied_at < second.copied_at ? -1 : 1));
}

/** Writes what the sandbox would serve for each report of a series, and curates and publishes it. */
async function deliver(
  { s3, store }: Tables,
  fields: (typeof EXPORTS)[number],
  { growth, ...series }: Series,
) {
  const base = windowOf([]);
  const configured = { ...base.request, ...fields, ...FIELDS, advertiser_ids };
  const requests = { [fields.account]: requestHash(configured, TARGET) };
  const schema = { ...TABLE, table: fields.name, columns: reportColumns(configured), requests };
  const catalog = { getTable: async () => schema };
  const limits = { maxBytes: 1e8, millisecondsLeft: () => 1e6, hasTables: true };
  const dependencies = { store, catalog, target: TARGET, ...TARGET, ...limits, now: () => new Date(END) };
  for (const { window, created, copied_at, gap, accept_empty, ...of } of reportsOf(series)) {
    const request = { ...configured, accept_empty, ...(of.request === 0 && { advertiser_ids: others }) };
    const rowsOn = (day: string) => (day === addDays(window.start_date, gap) ? 0 : 6);
    const copy = async (part: Window) => {
      const { advertiser_ids, metrics, format } = request;
      const dimensions = part.content === 'total' ? [] : request.dimensions;
      const body = { ...window, advertiser_ids, metrics, dimensions, format };
      const file = createReportFile(body, created, { ...growth, rowsOn });
      const key = objectKey(request, part);
      const place = { Bucket: BUCKET, Key: key, ExpectedBucketOwner: LOCAL_AWS_ACCOUNT };
      await s3.client.send(new PutObjectCommand({ ...place, Body: Buffer.concat([...file.read()]) }));
      const { crc32 = '' } = (await store.head(key)) ?? {};
      return { key, bytes: file.length, crc32, content_type: 'text/plain', copied_at };
    };
    const at = new Date(created).toISOString();
    const execution = `e${created}`;
    const total = { ...window, content: 'total' as const };
    const parts: Window[] = 'reconcile' in fields ? [window, total] : [window];
    for (const part of parts) {
      const report = reportRef(`${part.content ?? 'rows'}${created}`, at);
      const ready = { ...base, execution, request, window: part, reports: [report], ready_id: report.id };
      const state = await curateReport({ ...ready, object: await copy(part) }, dependencies);
      await publishWindow(state as SavedWindow, dependencies);
    }
  }
}

it('finality, curve, values and differences are what Python finds in the raw files and manifests', async () => {
  await using ended = new AsyncDisposableStack();
  const tables = ended.adopt(await startTables({ now: () => END }), ({ close }) => close());
  const all = fc.sample(fc.noBias(series), { seed: SEED, numRuns: EXPORTS.length });
  for (const [index, fields] of EXPORTS.entries()) await deliver(tables, fields, all[index] as Series);
  const { file: config } = await writeTemporary('ads.json', JSON.stringify(CONFIG));
  const out = tables.s3.directory;
  let stdin = '';
  for (const name of ['finality', 'days', 'curve', 'reconciliation']) {
    const saved = ['--saved', name, '--json', '--local', '--out', out, '--config', config];
    stdin += (await runCommand(['query', ...saved])).stdout;
  }
  console.log(`SEED=${SEED} ${await python(['compare_days.py', join(out, BUCKET), config], { stdin })}`);
}, 300_000);
