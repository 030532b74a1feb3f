import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ledgerKey } from '../../../../functions/workflow/table.ts';
import { type PageExport, readPage } from '../../../../infra/operate/days/page-contents.ts';
import { renderPage } from '../../../../infra/operate/page/render.ts';
import { setTarget } from '../../../../infra/operate/place/deployment.ts';
import { runCommand } from '../../../support/cli.ts';
import { ledgerRows, writeParquet } from '../../../support/ledger-rows.ts';
import { REPORT } from '../../../support/requests.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { FAILED, FAILURE, NAME, RUNNING, startBucket } from '../executions/operated-executions.ts';
import { startExecutions } from '../executions/step-functions.ts';
import { BUCKET, dateOf, deliver, leaveRun, openFolder, queryRows, rebuild } from './deliveries.ts';

const NOW = new Date('2026-10-13T12:00:00.000Z');

const request = { dimensions: ['campaign_name'], metrics: ['clicks', 'spend'] };

/** One row for each of these days of October. */
function rowsOf(days: readonly number[], spend: number) {
  return days.map((day) => ({ date: `2026-10-0${day}`, campaign_name: 'a', clicks: 1, spend }));
}

/** The dates of each state. */
function statesOf({ days }: PageExport): Record<string, string[]> {
  const byState = Object.groupBy(days, ({ state }) => state);
  return Object.fromEntries(
    Object.entries(byState).map(([state, all]) => [state, all.map(({ date }) => date.slice(-2))]),
  );
}

it('shows what missing, status and query show of overlapping, restated, held and failed runs', async () => {
  const folder = await openFolder();
  const { out } = folder;
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

  const { exports, ...contents } = await readPage({ local: true, out }, NOW);
  expect([contents.place, exports.map(({ account }) => account)]).toEqual([out, ['acme', 'globex']]);
  const [acme, globex] = exports as [PageExport, PageExport];
  expect(statesOf(acme)).toEqual({
    there: ['01', '02', '03', '04', '05', '06'],
    held: ['07'],
    empty: ['08'],
    behind: ['09'],
    missing: ['10', '11', '12'],
  });
  expect(statesOf(globex)).toEqual({ empty: globex.days.map(({ date }) => date.slice(-2)) });
  expect([globex.remedies, globex.days_behind]).toEqual([[], 0]);

  const of = ['acme/daily', '--local', '--out', out];
  const status = JSON.parse((await runCommand(['status', ...of, '--json'])).stdout).exports[0];
  expect(acme).toMatchObject({
    newest_day: status.newest_day,
    delivered_at: '2026-11-01T03:00:00.000Z',
    // Nothing says that this export goes on.
    days_behind: undefined,
    time_zone: 'UTC',
    failure: { at: status.failure.at, happened: status.failure.happened, command: undefined },
    last: status.last,
  });
  // The first report of the days was created on the day before.
  const command = `npm run export -- run daily --account acme --from 2026-10-01 --to 2026-10-09 --local --out ${out}`;
  expect(acme.months).toEqual([
    {
      month: '2026-10',
      final: 0,
      changing: 7,
      unverified: 0,
      lacking: 5,
    },
  ]);
  // A month later, no day is changing any more.
  const verify = { command, from: '2026-11-07' };
  expect(status.months).toEqual([{ ...acme.months[0], changing: 0, unverified: 7, verify }]);
  const missing = ['missing', 'daily', '--account', 'acme', ...of.slice(1)];
  expect(acme.missing).toEqual(status.days);
  expect(acme.missing).toEqual(JSON.parse((await runCommand([...missing, '--json'])).stdout));
  const { stdout } = await runCommand(missing);
  const printed = stdout.split('\n').map((line) => line.trim());
  expect(acme.remedies.map(({ command }) => printed.includes(command))).toEqual([true, true, true]);

  // Each number comes from a query, and the page shows it.
  const html = renderPage({ ...contents, exports: [acme] });
  const find = (pattern: RegExp) => [...html.matchAll(pattern)].map(([, found]) => found);
  const { counts } = acme.missing ?? {};
  expect(find(/<li [^>]*title="(\d+ Oct): missing"/g)).toHaveLength(counts?.missing ?? 0);
  expect(find(/<li class=(held) /g)).toHaveLength(counts?.held ?? 0);
  const totals = await queryRows('SELECT sum(spend), sum(clicks) FROM daily', out);
  expect(find(/<span class=sum>([^<]*)</g).map(Number)).toEqual(totals[0]?.map(Number));
  const days = await queryRows(
    "SELECT date, rows, spend, clicks FROM daily_days WHERE account = 'acme' AND rows IS NOT NULL ORDER BY date",
    out,
  );
  expect(
    acme.days.flatMap(({ date, rows, values }) =>
      values ? [[date, rows, values.spend, values.clicks]] : [],
    ),
  ).toEqual(days.map(([date, ...numbers]) => [date, ...numbers.map(Number)]));
  const changes = await queryRows('SELECT date, before, after FROM daily_restatements ORDER BY ALL', out);
  const corrected = acme.days.filter(({ corrections }) => corrections);
  expect(corrected.map(({ date, first, values }) => [date, first?.spend, values?.spend])).toEqual(
    changes.map(([date, ...values]) => [date, ...values.map(Number)]),
  );
  expect(find(/(\d+ Oct): [^"]*corrected 1 time"/g)).toEqual(['5 Oct', '6 Oct']);
  expect(find(/<small>(\+0.75)<\/small> 2\.25</g)).toHaveLength(2);
});

it('lists a run that did not finish, with the command that finishes it', async () => {
  const folder = await openFolder();
  const { out } = folder;
  await deliver(folder, { days: [1, 3], created: 1 });
  await rebuild(['daily', '--local', '--out', out]);
  const input = { ...REPORT, start_date: dateOf(1), end_date: dateOf(4) };
  await leaveRun(out, input, { execution: 'e-9', began_at: '2026-11-02T00:00:00Z' });
  const contents = await readPage({ local: true, out }, new Date('2026-11-03T12:00:00Z'));
  const [daily] = contents.exports;
  expect(daily?.missing?.counts).toEqual({ missing: 0, behind: 0, held: 0, older: 0, there: 3 });
  const range = { start_date: dateOf(1), end_date: dateOf(4), days: 3 };
  const reason = 'a run did not finish: 3 days were not renewed';
  const command = `npm run export -- resume e-9 --local --out ${out}`;
  expect(daily?.remedies).toEqual([{ aim: 'To finish the run:', ranges: [{ ...range, reason }], command }]);
  const html = renderPage(contents);
  expect(html).toContain('<h1>1 unfinished run</h1>');
  expect(html).toContain(`</b> 3 days: ${reason}</p><p class=note>To finish the run:</p>`);
  // A month later, nobody will finish it.
  const later = await readPage({ local: true, out }, new Date('2026-12-20T12:00:00Z'));
  expect(later.exports[0]?.remedies).toEqual([]);
});

it('shows the exports of a stack, the one that failed first, from the ledger and not from the tables', async () => {
  const file = join(temporaryDirectory(), 'ledger.parquet');
  const spend = [1.5, 2.5, null].map((spend, at) => ({
    date: '2026-11-06',
    report_id: `r-${at}`,
    at: `2026-11-0${7 + at} 06:00:00`,
    values: { rows: 1, spend, clicks: null },
  }));
  await writeParquet(file, ledgerRows('acme', 'daily-campaigns', 'daily-campaigns', spend));
  await startExecutions([RUNNING, FAILED]);
  const name = 'daily-campaigns';
  const prefix = `exports/account=acme/export=${name}/start_date=2026-10-01/end_date=2026-11-15`;
  await startBucket({
    [`${prefix}/_failure.json`]: FAILURE,
    [ledgerKey({ account: 'acme', name }, '2026-11')]: await readFile(file),
    'tables/ledger/acme.other.2026-11.parquet': 'of no export',
  });
  setTarget({});
  const read = await readPage({ out: '' }, new Date('2026-12-03T12:00:00Z'));
  expect(read.place).toBe('the stack ad-report-export in eu-west-1 of AWS account 123456789012');
  const [daily, monthly] = read.exports as [PageExport, PageExport];
  expect(daily.missing?.counts.missing).toBe(28);
  expect(daily.failure?.command).toBe('npm run export -- explain daily-1');
  expect([daily.running, daily.last?.outcome]).toEqual([[NAME], 'failed']);
  expect(daily.days[1]).toMatchObject({ date: '2026-11-06', corrections: 2, first: { spend: 1.5 } });
  // A metric without a value has no chart.
  expect([daily.metrics, monthly.name, monthly.metrics]).toEqual([[], 'monthly-totals', []]);
});

/** A folder whose ledger tells of 28 final days, which reports of these ages in days have read. */
async function openCurve(readOf: Readonly<Record<number, { days: number; values: Record<string, number> }>>) {
  const folder = await openFolder();
  await deliver(folder, { request: { metrics: ['clicks', 'spend'] }, days: [1, 28], created: 1 });
  const facts = Object.entries(readOf).flatMap(([age, { days, values }]) =>
    Array.from({ length: days }, (_, at) => ({
      date: dateOf(at + 1),
      report_id: `r-${age}`,
      at: dateOf(at + 1 + Number(age)),
      values: { rows: 1, ...values },
    })),
  );
  const key = ledgerKey({ account: 'acme', name: 'daily' }, '2026-10');
  await writeParquet(join(folder.out, BUCKET, key), ledgerRows('acme', 'daily', 'daily', facts));
  const { exports } = await readPage({ local: true, out: folder.out }, new Date('2026-12-03T12:00:00Z'));
  return exports[0];
}

it('names no look-back that ends at an age at which too few days were read', async () => {
  const daily = await openCurve({
    1: { days: 27, values: { spend: 5 } },
    2: { days: 28, values: { spend: 10 } },
    20: { days: 28, values: { spend: 10 } },
  });
  expect(daily?.curve?.look_back).toBe(2);
});

it('draws the curves in the order of the charts of days, spend first', async () => {
  const values = { clicks: 2, spend: 10 };
  const daily = await openCurve({
    1: { days: 28, values },
    2: { days: 28, values },
    20: { days: 28, values },
  });
  const charts = daily?.metrics.map(({ name }) => name);
  const curves = [...new Set(daily?.curve?.points.map(({ metric }) => metric))];
  expect({ charts, curves }).toEqual({ charts: ['spend', 'clicks'], curves: ['spend', 'clicks'] });
});
