import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { addDays } from '../../../functions/workflow/request/dates.ts';
import { NO_OBJECTS } from '../../../infra/cli/bucket.ts';
import { setTarget } from '../../../infra/cli/deployment.ts';
import { runLocalQuery } from '../../../infra/cli/query/local.ts';
import type { PageContents, PageExport } from '../../../infra/page/contents.ts';
import { readPage } from '../../../infra/page/read-page.ts';
import { openTables } from '../../../infra/page/read-tables.ts';
import { renderPage } from '../../../infra/page/render.ts';
import { runCommand } from '../../support/cli.ts';
import { millionths } from '../../support/day-sums.ts';
import { ledgerRows, writeParquet } from '../../support/ledger-rows.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { BUCKET, curate, deliver, openFolder } from '../cli/days/deliveries.ts';
import { FAILED, FAILURE, RUNNING, startBucket } from '../cli/executions/operated-executions.ts';
import { startExecutions } from '../cli/executions/step-functions.ts';

const NOW = new Date('2026-10-13T12:00:00.000Z');

async function page(out: string): Promise<PageContents> {
  return readPage({ local: true, out }, NOW);
}

/** The announced end of an execution. */
async function announce(out: string, type: string, detail: object): Promise<void> {
  const event = { 'detail-type': type, detail, time: '2026-10-12T06:00:00Z' };
  await appendFile(join(out, 'events.jsonl'), `${JSON.stringify(event)}\n`);
}

/** Does this in a folder that has the outputs of a deployment. */
async function inFolder<T>(cwd: string, work: () => Promise<T>): Promise<T> {
  const before = process.cwd();
  process.chdir(cwd);
  try {
    return await work();
  } finally {
    process.chdir(before);
  }
}

/** The rows of a query, each value as it is printed. */
async function ask(sql: string | undefined, out: string) {
  const { rows } = await runLocalQuery(sql ?? '', out);
  return (await Array.fromAsync(rows)).flat();
}

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
  await curate(['daily', '--local', '--out', out]);
  await deliver(folder, { request, days: [5, 8], created: 2, rows: rowsOf([5, 6], 2.25) });
  await curate(['daily', '--local', '--out', out]);
  await deliver(folder, { request, days: [9, 9], created: 3, rows: rowsOf([9], 1) });
  await deliver(folder, { request, account: 'globex', days: [1, 12], created: 4, rows: [] });
  await curate(['daily', '--account', 'globex', '--local', '--out', out]);
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
    absent: ['10', '11', '12'],
  });
  expect(statesOf(globex)).toEqual({ empty: globex.days?.map(({ date }) => date.slice(-2)) });
  expect([globex.ranges, globex.sums, globex.freshness.days_behind]).toEqual([[], undefined, 0]);

  const place2 = ['daily', '--account', 'acme', '--local', '--out', out];
  const { stdout } = await runCommand(['missing', ...place2, '--to', '2026-10-13']);
  const printed = stdout.split('\n').map((line) => line.trim());
  expect(acme.ranges.map(({ days, reason }) => [days, reason])).toEqual([
    [1, 'held: the newest report has no rows, and the table keeps its own'],
    [1, 'exported, but not in the table'],
    [3, 'not exported'],
  ]);
  expect(acme.ranges.map(({ command }) => printed.includes(command))).toEqual([true, true, true]);

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
  expect(acme.sums).toMatchObject({ unit: 'day', dimension: 'campaign_name' });
  expect(acme.sums?.metrics.map(({ name, total }) => [name, total])).toEqual([
    ['spend', '12.000000'],
    ['clicks', '7'],
  ]);
  const changed = await ask(acme.queries.restatements, out);
  expect(acme.restatements).toEqual(
    changed.map(([, date, metric, before, after]) => {
      return { date, metric, before, after, first: before, corrections: 1, at: '2026-11-01T02:00:00.000Z' };
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
  const { missing, held } = JSON.parse(
    (await runCommand(['missing', ...place2, '--to', '2026-10-13', '--json'])).stdout,
  );
  const daysOf = (ranges: readonly { days: number }[]) => ranges.reduce((sum, { days }) => sum + days, 0);
  expect(find(/<li [^>]*title="(\d+ Oct): missing/g)).toHaveLength(daysOf(missing));
  expect(find(/<li [^>]*title="(\d+ Oct): held/g)).toHaveLength(daysOf(held));
  const [sums] = await ask('SELECT sum(spend), sum(clicks) FROM daily', out);
  expect(find(/<span class=sum><data value="([^"]*)">/g)).toEqual(sums);
  expect(find(/<tr><td><time>([^<]*)<\/time><td>spend<td class="number">\+0.75</g)).toEqual(
    changed.map(([, date]) => date),
  );
});

const SHOWN = {
  report_id: 'r-1',
  created_at: '2026-10-09T06:00:00Z',
  request_hash: 'h',
  rows: 9,
  restated: false,
};

/** A folder with the table of one export. Twelve values of its dimension have rows on each day, and another one on the first. */
async function writeTable(first: string, days: number, leftOut = '') {
  const out = temporaryDirectory();
  const request = {
    name: 'long',
    account: 'acme',
    start_date: first,
    end_date: addDays(first, days),
    advertiser_ids: ['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e'],
    dimensions: ['country'],
    metrics: ['ctr', 'conversions', 'spend', 'impressions'],
  };
  const kept = join(out, 'requests/acme.long.json');
  await mkdir(dirname(kept));
  await writeFile(kept, JSON.stringify(request));
  await mkdir(join(out, BUCKET, 'exports'), { recursive: true });
  await announce(out, 'Report Exported', { execution: 'e', account: 'acme', name: 'long' });
  const dates = Array.from({ length: days }, (_, at) => addDays(first, at)).filter(
    (date) => date !== leftOut,
  );
  for (const [month, own = []] of Object.entries(Object.groupBy(dates, (date) => date.slice(0, 7))))
    await writeParquet(
      join(out, BUCKET, `tables/long/acme.${month}.parquet`),
      `SELECT 'acme' AS account, CAST(date AS DATE) AS date, nullif(concat('it''s "', place, '"'), 'it''s "3"') AS country,
         0.5::DOUBLE AS ctr, 0.1::DOUBLE AS conversions, if(place = 13, 1e6, place / 3)::DECIMAL(18,6) AS spend, 9007199254740993 AS impressions
       FROM (SELECT unnest([${own.map((date) => `'${date}'`)}]) AS date), (SELECT range AS place FROM range(1, 14))
       WHERE place < 13 OR date = '${dates[0]}'`,
      { days: JSON.stringify(Object.fromEntries(own.map((date) => [date, SHOWN]))) },
    );
  return out;
}

it.each([
  ['day', 100, '2026-01-02', 100, '2026-01-01', [[1, 0, 1]]],
  [
    'week',
    101,
    '2026-01-04',
    15,
    '2025-12-29',
    [
      [0, 3, 7],
      [14, 6, 7],
    ],
  ],
  [
    'month',
    731,
    '2026-01-15',
    25,
    '2026-01-01',
    [
      [0, 30, 31],
      [24, 1, 31],
    ],
  ],
])('sums per %s of %i days are those of its SQL', async (unit, days, leftOut, points, start, partial) => {
  const out = await writeTable('2026-01-01', days, leftOut);
  const [{ sums, queries } = {} as PageExport] = (await page(out)).exports;
  expect(sums).toMatchObject({ unit, dimension: 'country' });
  expect([sums?.starts.length, sums?.starts[0]]).toEqual([points, start]);
  const found = sums?.days.flatMap(({ known, all }, at) => (known < all ? [[at, known, all]] : []));
  expect(found).toEqual(partial);
  expect(sums?.metrics.map(({ name, unit }) => [name, unit])).toEqual([
    ['spend', 'money'],
    ['conversions', 'number'],
    ['impressions', 'count'],
  ]);
  const labels = [13, 12, 11, 10, 9, 8].map((place) => `it's "${place}"`);
  for (const [at, { name, series, values, total }] of (sums?.metrics ?? []).entries()) {
    expect(series.map(({ label, others }) => [label, others])).toEqual([
      ...labels.map((label) => [label, undefined]),
      ['all others', true],
    ]);
    const rows = await ask(queries.sums, out);
    const sumsOf = (isWanted: (label: unknown) => boolean) =>
      sums?.starts.map((start) => {
        const own = rows.filter(([date, label]) => date === start && isWanted(label ?? '(none)'));
        return own.reduce((sum, row) => sum + millionths(String(row[at + 2])), 0n);
      });
    const read = ({ values }: (typeof series)[number]) => values.map((value) => millionths(value ?? '0'));
    for (const each of series.slice(0, -1))
      expect(read(each)).toEqual(sumsOf((label) => label === each.label));
    expect(series.slice(-1).map(read)).toEqual([sumsOf((label) => !labels.includes(String(label)))]);
    expect(values.map((value) => millionths(value ?? '0'))).toEqual(sumsOf(() => true));
    expect([[total]]).toEqual(await ask(`SELECT CAST(sum(${name}) AS ${TYPES[at]}) FROM long`, out));
  }
  // Nothing is known of a day that the table does not have.
  const nulls = sums?.metrics[0]?.series.map(({ values }) => values.filter((value) => value === null).length);
  expect(nulls).toEqual(Array(7).fill(unit === 'day' ? 1 : 0));
});

const TYPES = ['decimal(38,6)', 'decimal(38,6)', 'varchar'];

it('leaves out a metric whose values are all NULL, and a dimension that no object has', async () => {
  const out = await writeTable('2026-01-01', 2);
  await writeParquet(
    join(out, BUCKET, 'tables/long/acme.2026-01.parquet'),
    `SELECT 'acme' AS account, DATE '2026-01-01' AS date, 1.5::DECIMAL(18,6) AS spend, NULL::DOUBLE AS conversions`,
    { days: JSON.stringify({ '2026-01-01': SHOWN, '2026-01-02': SHOWN }) },
  );
  const [{ sums, queries } = {} as PageExport] = (await page(out)).exports;
  expect(sums).toMatchObject({
    dimension: undefined,
    metrics: [
      { name: 'spend', series: [{ values: ['1.500000', '0'], total: '1.500000' }], total: '1.500000' },
    ],
  });
  expect(await ask(queries.sums, out)).toEqual([['2026-01-01', '1.500000']]);
});

it('shows the newest 50 restatements, and counts the others', async () => {
  const out = await writeTable('2026-01-01', 30);
  const days = Array.from({ length: 30 }, (_, at) => addDays('2026-01-01', at));
  // The third report changes the last day again.
  const facts = [1, 2, 3].flatMap((version) =>
    days.slice(version === 3 ? -1 : 0).map((date) => ({
      date,
      report_id: `r-${version}`,
      at: `2026-02-0${version} 06:00:00.5`,
      values: { rows: 12, spend: version, conversions: -version },
    })),
  );
  const ledger = join(out, BUCKET, 'tables/ledger/acme.long.2026-01.parquet');
  await writeParquet(ledger, ledgerRows('acme', 'long', 'long', facts));
  const [found = {} as PageExport] = (await page(out)).exports;
  const rows = await ask(found.queries.restatements, out);
  expect([rows.length, found.restatements.length, found.older_restatements]).toEqual([62, 50, 12]);
  expect(found.restatements[1]).toMatchObject({
    metric: 'spend',
    first: '1.0000000000',
    before: '2.0000000000',
    corrections: 2,
  });
  expect(found.restatements.map(({ date, metric }) => [date, metric])).toEqual(
    rows.slice(0, 50).map(([, date, metric]) => [date, metric]),
  );
  expect(found.restatements.at(-1)).toEqual({
    date: '2026-01-07',
    metric: 'spend',
    before: '1.0000000000',
    after: '2.0000000000',
    first: '1.0000000000',
    corrections: 1,
    at: '2026-02-02T06:00:00.500Z',
  });
});

it('reads no object whose key is not that of a table', async () => {
  const read: string[] = [];
  const toFile = async (key: string) => void read.push(key);
  const keys = [
    'tables/daily/../../x.parquet',
    'tables/../x.parquet',
    'tables/a/b/c.parquet',
    'tables/a/x.csv',
  ];
  await using tables = await openTables({ ...NO_OBJECTS, toFile }, [...keys, 'tables/a/b.2026-10.parquet']);
  expect([read, tables.of('a', 'b')]).toEqual([['tables/a/b.2026-10.parquet'], undefined]);
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
  const cwd = await startBucket({
    [`${prefix}/_failure.json`]: FAILURE,
    'tables/daily-campaigns/acme.2026-11.parquet': await readFile(file),
  });
  setTarget({});
  const read = await inFolder(cwd, () => readPage({ out: '' }, new Date('2026-12-03T12:00:00Z')));
  expect(read.place).toBe('the stack ad-report-export in eu-west-1 of AWS account 123456789012');
  const [daily, monthly] = read.exports as [PageExport, PageExport];
  // The period of the request begins on November 5, and the execution ends with the month.
  const november = Array.from({ length: 26 }, (_, at) => `${at + 5}`.padStart(2, '0'));
  expect(statesOf(daily)).toEqual({ running: november, absent: ['01', '02'] });
  expect(daily.days?.[1]).toMatchObject({ date: '2026-11-06', rows: 9 });
  expect(daily.ranges).toMatchObject([
    { days: 28, reason: 'not exported', command: expect.stringMatching(/^npm run export -- run daily-camp/) },
  ]);
  expect(daily.sums?.metrics).toMatchObject([{ name: 'spend', total: '1.500000' }]);
  expect(daily.failure?.command).toBe('npm run export -- explain daily-1');
  expect(daily.executions.map(({ outcome }) => outcome)).toEqual(['running', 'failed']);
  expect([monthly.name, monthly.sums, monthly.queries]).toEqual(['monthly-totals', undefined, {}]);
});
