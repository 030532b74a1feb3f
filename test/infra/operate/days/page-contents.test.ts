import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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

describe('a page of overlapping, restated, held and failed runs', () => {
  let stopped: () => Promise<void>;
  let out: string;
  let contents: Awaited<ReturnType<typeof readPage>>;
  let acme: PageExport;
  let globex: PageExport;

  beforeAll(async () => {
    const folder = await openFolder((close) => {
      stopped = close;
    });
    ({ out } = folder);
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
    contents = await readPage({ local: true, out }, NOW);
    [acme, globex] = contents.exports as [PageExport, PageExport];
  });
  afterAll(() => stopped());

  const readStatus = async () =>
    JSON.parse((await runCommand(['status', 'acme/daily', '--local', '--out', out, '--json'])).stdout)
      .exports[0];
  const missing = (...more: string[]) =>
    runCommand(['missing', 'daily', '--account', 'acme', '--local', '--out', out, ...more]);
  /** The texts that a group of the pattern matches in the page of acme's export. */
  const textsOf = (pattern: RegExp) =>
    [...renderPage({ ...contents, exports: [acme] }).matchAll(pattern)].map(([, text]) => text);

  it('names the folder and each export', () => {
    const accounts = contents.exports.map(({ account }) => account);
    expect({ place: contents.place, accounts }).toEqual({ place: out, accounts: ['acme', 'globex'] });
  });

  it('shows the state of each day', () => {
    expect(statesOf(acme)).toEqual({
      there: ['01', '02', '03', '04', '05', '06'],
      held: ['07'],
      empty: ['08'],
      behind: ['09'],
      missing: ['10', '11', '12'],
    });
  });

  it('shows the days of an export without rows as empty, and nothing to do', () => {
    expect(statesOf(globex)).toEqual({ empty: globex.days.map(({ date }) => date.slice(-2)) });
    expect(globex).toMatchObject({ remedies: [], days_behind: 0 });
  });

  it('shows the newest day, the last run and the failure that status shows', async () => {
    const status = await readStatus();
    expect(acme).toMatchObject({
      newest_day: status.newest_day,
      delivered_at: '2026-11-01T03:00:00.000Z',
      // Nothing says that this export goes on.
      days_behind: undefined,
      time_zone: 'UTC',
      failure: { at: status.failure.at, happened: status.failure.happened, command: undefined },
      last: status.last,
    });
  });

  it('counts the days that are changing, of which status says a month later how to verify them', async () => {
    const month = { month: '2026-10', final: 0, changing: 7, unverified: 0, lacking: 5 };
    expect(acme.months).toEqual([month]);
    // The first report of the days was created on the day before.
    const command = `npm run export -- run daily --account acme --from 2026-10-01 --to 2026-10-09 --local --out ${out}`;
    const verify = { command, from: '2026-11-07' };
    expect((await readStatus()).months).toEqual([{ ...month, changing: 0, unverified: 7, verify }]);
  });

  it('shows the days that missing and status show, with commands that missing prints', async () => {
    const { stdout } = await missing();
    expect(acme.missing).toEqual((await readStatus()).days);
    expect(acme.missing).toEqual(JSON.parse((await missing('--json')).stdout));
    const printed = stdout.split('\n').map((line) => line.trim());
    expect(acme.remedies).toHaveLength(3);
    expect(printed).toEqual(expect.arrayContaining(acme.remedies.map(({ command }) => command)));
  });

  it('draws as many missing and held days as missing counts', () => {
    const { counts } = acme.missing ?? {};
    expect(textsOf(/<li [^>]*title="(\d+ Oct): missing"/g)).toHaveLength(counts?.missing ?? 0);
    expect(textsOf(/<li class=(held) /g)).toHaveLength(counts?.held ?? 0);
  });

  it('shows the sums of the table', async () => {
    const totals = await queryRows('SELECT sum(spend), sum(clicks) FROM daily', out);
    expect(textsOf(/<span class=sum>([^<]*)</g).map(Number)).toEqual(totals[0]?.map(Number));
  });

  it('shows the values of each day that the saved query days shows', async () => {
    const rows = await queryRows(
      "SELECT date, rows, spend, clicks FROM daily_days WHERE account = 'acme' AND rows IS NOT NULL ORDER BY date",
      out,
    );
    const shown = acme.days.flatMap(({ date, rows, values }) =>
      values ? [{ date, rows, spend: values.spend, clicks: values.clicks }] : [],
    );
    expect(shown).toEqual(
      rows.map(([date, ...numbers]) => {
        const [rows, spend, clicks] = numbers.map(Number);
        return { date, rows, spend, clicks };
      }),
    );
  });

  it('shows the corrections that the saved query restatements shows', async () => {
    const changes = await queryRows('SELECT date, before, after FROM daily_restatements ORDER BY ALL', out);
    const corrected = acme.days.filter(({ corrections }) => corrections);
    const shown = corrected.map(({ date, first, values }) => {
      return { date, before: first?.spend, after: values?.spend };
    });
    expect(shown).toEqual(
      changes.map(([date, before, after]) => ({ date, before: Number(before), after: Number(after) })),
    );
    expect(textsOf(/(\d+ Oct): [^"]*corrected 1 time"/g)).toEqual(['5 Oct', '6 Oct']);
    expect(textsOf(/<small>(\+0.75)<\/small> 2\.25</g)).toHaveLength(2);
  });
});

describe('a run that did not finish', () => {
  const openUnfinished = async (now: string) => {
    const folder = await openFolder();
    const { out } = folder;
    await deliver(folder, { days: [1, 3], created: 1 });
    await rebuild(['daily', '--local', '--out', out]);
    const input = { ...REPORT, start_date: dateOf(1), end_date: dateOf(4) };
    await leaveRun(out, input, { execution: 'e-9', began_at: '2026-11-02T00:00:00Z' });
    const contents = await readPage({ local: true, out }, new Date(now));
    return { out, contents, daily: contents.exports[0] };
  };

  it('is listed with the command that finishes it', async () => {
    const { out, contents, daily } = await openUnfinished('2026-11-03T12:00:00Z');
    expect(daily?.missing?.counts).toEqual({ missing: 0, behind: 0, held: 0, older: 0, there: 3 });
    const range = { start_date: dateOf(1), end_date: dateOf(4), days: 3 };
    const reason = 'a run did not finish: 3 days were not renewed';
    const command = `npm run export -- resume e-9 --local --out ${out}`;
    expect(daily?.remedies).toEqual([{ aim: 'To finish the run:', ranges: [{ ...range, reason }], command }]);
    const html = renderPage(contents);
    expect(html).toContain('<h1>1 unfinished run</h1>');
    expect(html).toContain(`</b> 3 days: ${reason}</p><p class=note>To finish the run:</p>`);
  });

  it('is listed no more a month later, when nobody will finish it', async () => {
    const { daily } = await openUnfinished('2026-12-20T12:00:00Z');
    expect(daily?.remedies).toEqual([]);
  });
});

describe('the page of a stack', () => {
  const readStack = async () => {
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
    const { place, exports } = await readPage({ out: '' }, new Date('2026-12-03T12:00:00Z'));
    const [daily, monthly] = exports as [PageExport, PageExport];
    return { place, daily, monthly };
  };

  it('names the stack, its Region and its AWS account', async () => {
    const { place } = await readStack();
    expect(place).toBe('the stack ad-report-export in eu-west-1 of AWS account 123456789012');
  });

  it('shows the export that failed first, with what runs and the command that explains it', async () => {
    const { daily, monthly } = await readStack();
    expect(daily).toMatchObject({
      missing: { counts: { missing: 28 } },
      failure: { command: 'npm run export -- explain daily-1' },
      running: [NAME],
      last: { outcome: 'failed' },
    });
    expect(monthly.name).toBe('monthly-totals');
  });

  it('shows the values of the ledger, and no chart of a metric without a value', async () => {
    const { daily, monthly } = await readStack();
    expect(daily.days[1]).toMatchObject({ date: '2026-11-06', corrections: 2, first: { spend: 1.5 } });
    expect({ daily: daily.metrics, monthly: monthly.metrics }).toEqual({ daily: [], monthly: [] });
  });
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
