import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { setTarget } from '../../../infra/knowledge/deployment.ts';
import type { PageExport } from '../../../infra/page/contents.ts';
import { readPage } from '../../../infra/page/read-page.ts';
import { renderPage } from '../../../infra/page/render.ts';
import { runCommand } from '../../support/cli.ts';
import { writeParquet } from '../../support/ledger-rows.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { deliver, openFolder, rebuild } from '../knowledge/deliveries.ts';
import { FAILED, FAILURE, RUNNING, startBucket } from '../knowledge/executions/operated-executions.ts';
import { startExecutions } from '../knowledge/executions/step-functions.ts';
import { announce, ask, NOW, page, SHOWN } from './folder.ts';

/** The dates of each state. */
function statesOf({ days = [] }: PageExport): Record<string, string[]> {
  const byState = Object.groupBy(days, ({ state }) => state);
  return Object.fromEntries(
    Object.entries(byState).map(([state, all]) => [state, all.map(({ date }) => date.slice(-2))]),
  );
}

it('shows what missing, status and query show of overlapping, restated, held and failed runs', async () => {
  const folder = await openFolder();
  const { out } = folder;
  const request = { dimensions: ['campaign_name'], metrics: ['clicks', 'spend'] };
  const rowsOf = (days: readonly number[], spend: number) =>
    days.map((day) => ({ date: `2026-10-0${day}`, campaign_name: 'a', clicks: 1, spend }));
  await deliver(folder, { request, days: [1, 8], created: 1, rows: rowsOf([1, 2, 3, 4, 5, 6, 7], 1.5) });
  await rebuild(['daily', '--local', '--out', out]);
  await deliver(folder, { request, days: [5, 8], created: 2, rows: rowsOf([5, 6], 2.25) });
  await rebuild(['daily', '--local', '--out', out]);
  await deliver(folder, { request, days: [9, 9], created: 3, rows: rowsOf([9], 1) });
  await deliver(folder, { request, account: 'globex', days: [1, 12], created: 4, rows: [] });
  await rebuild(['daily', '--account', 'globex', '--local', '--out', out]);
  const failure = { ...FAILURE, account: 'acme', export: 'daily', execution: 'e-5' };
  const key = 'exports/account=acme/export=daily/start_date=2026-10-11/end_date=2026-10-13/_failure.json';
  await folder.put(key, JSON.stringify({ ...failure, failed_at: '2026-10-12T06:00:00Z' }));
  await announce(out, 'Report Export Failed', failure);

  const { exports, place } = await page(out);
  expect([place, exports.map(({ account }) => account)]).toEqual([out, ['acme', 'globex']]);
  const [acme, globex] = exports as [PageExport, PageExport];
  expect(statesOf(acme)).toEqual({
    rows: ['01', '02', '03', '04', '05', '06'],
    held: ['07'],
    empty: ['08'],
    not_in_table: ['09'],
    absent: ['10'],
    failed: ['11', '12'],
  });
  expect(statesOf(globex)).toEqual({ empty: globex.days?.map(({ date }) => date.slice(-2)) });
  expect([globex.ranges, globex.sums, globex.freshness.days_behind]).toEqual([[], undefined, 0]);

  const place2 = ['daily', '--account', 'acme', '--local', '--out', out];
  const { stdout } = await runCommand(['missing', ...place2, '--to', '2026-10-13']);
  const printed = stdout.split('\n').map((line) => line.trim());
  expect(acme.ranges.map(({ days, reason }) => [days, reason])).toEqual([
    [1, 'held: the newest report has no rows, and the table keeps its own'],
    [1, 'exported, but not in the table'],
    [1, 'not exported'],
    [2, 'not exported: the last export of them failed'],
  ]);
  expect(acme.ranges.every(({ command }) => printed.includes(command))).toBe(true);

  const status = JSON.parse(
    (await runCommand(['status', ...place2.slice(3), 'acme/daily', '--json'])).stdout,
  );
  expect(acme.freshness).toEqual({
    newest_day: status.exports[0].newest_day,
    delivered_at: '2026-11-01T03:00:00.000Z',
    days_behind: 3,
  });
  expect(acme.failure).toEqual({
    ...status.exports[0].failure,
    command: `npm run export -- explain e-5 --local --out ${out}`,
  });
  expect(acme.executions).toEqual([status.exports[0].last]);
  expect(acme.table?.columns.map(({ name }) => name)).toContain('campaign_name');

  // JSON makes dates and decimals of a result texts.
  const rows = await ask(acme.queries.days, out);
  expect(rows).toEqual(acme.days?.flatMap(({ date, rows }) => (rows ? [[date, String(rows)]] : [])));
  expect(acme.sums?.unit).toBe('day');
  expect(acme.sums?.metrics.map(({ name, total }) => [name, total])).toEqual([
    ['spend', '12.000000'],
    ['clicks', '7'],
  ]);
  const changed = await ask(acme.queries.restatements, out);
  expect(acme.restatements).toEqual(
    changed.map(([, date, metric, before, after]) => {
      return { date, metric, first: before, now: after, corrections: 1, at: '2026-11-01T02:00:00.000Z' };
    }),
  );
  expect(acme.restatements.map(({ date, metric }) => `${date} ${metric}`)).toEqual([
    '2026-10-06 spend',
    '2026-10-05 spend',
  ]);
  expect(acme.days?.filter(({ restated }) => restated === 1).map(({ date }) => date)).toEqual([
    '2026-10-05',
    '2026-10-06',
  ]);

  // Read back out of the page.
  const html = renderPage({ made_at: NOW.toISOString(), place, exports: [acme] });
  const find = (pattern: RegExp) => [...html.matchAll(pattern)].map(([, found]) => found);
  const { counts } = JSON.parse(
    (await runCommand(['missing', ...place2, '--to', '2026-10-13', '--json'])).stdout,
  );
  expect(find(/<li [^>]*title="(\d+ Oct): missing/g)).toHaveLength(counts.not_delivered);
  expect(find(/<li [^>]*title="(\d+ Oct): not in the table/g)).toHaveLength(counts.not_in_table);
  expect(find(/<li [^>]*title="(\d+ Oct): held/g)).toHaveLength(counts.held);
  const [sums] = await ask('SELECT sum(spend), sum(clicks) FROM daily', out);
  expect(find(/<span class=sum>([^<]*)</g).map(Number)).toEqual(sums?.map(Number));
  expect(find(/<tr><td><time>([^<]*)<\/time><td>spend<td class="number">\+0.75</g)).toEqual(
    changed.map(([, date]) => date),
  );
});

it('shows the exports of a stack, the one that failed first, what runs now, and sums of downloaded objects', async () => {
  const file = join(temporaryDirectory(), 'month.parquet');
  await writeParquet(
    file,
    `SELECT 'acme' AS account, DATE '2026-11-06' AS date, 'a' AS campaign_name, 1.5::DECIMAL(18,6) AS spend`,
    { days: JSON.stringify({ '2026-11-06': SHOWN }) },
  );
  await startExecutions([RUNNING, FAILED]);
  const prefix = 'exports/account=acme/export=daily-campaigns/start_date=2026-10-01/end_date=2026-11-15';
  await startBucket({
    [`${prefix}/_failure.json`]: FAILURE,
    'tables/daily-campaigns/acme.2026-11.parquet': await readFile(file),
  });
  setTarget({});
  const read = await readPage({ out: '' }, new Date('2026-12-03T12:00:00Z'));
  expect(read.place).toBe('the stack ad-report-export in eu-west-1 of AWS account 123456789012');
  const [daily, monthly] = read.exports as [PageExport, PageExport];
  // The period of the request begins on November 5, and the execution ends with the month.
  const november = Array.from({ length: 26 }, (_, at) => `${at + 5}`.padStart(2, '0'));
  expect(statesOf(daily)).toEqual({ running: november, absent: ['01', '02'] });
  expect(daily.days?.[1]).toMatchObject({ date: '2026-11-06', rows: 9 });
  const command = expect.stringMatching(/^npm run export -- run daily-camp/);
  expect(daily.ranges).toMatchObject([
    { days: 10, reason: 'not exported: the last export of them failed', command },
    { days: 18, reason: 'not exported', command },
  ]);
  expect(daily.sums?.metrics).toMatchObject([{ name: 'spend', total: '1.500000' }]);
  expect(daily.failure?.command).toBe('npm run export -- explain daily-1');
  expect(daily.executions.map(({ outcome }) => outcome)).toEqual(['running', 'failed']);
  expect([monthly.name, monthly.sums, monthly.queries]).toEqual(['monthly-totals', undefined, {}]);
});
