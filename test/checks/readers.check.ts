import { readFileSync } from 'node:fs';
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runLocalQuery } from '../../infra/operate/cli/query/local.ts';
import { daysView, restatementsView, savedQueries } from '../../infra/stack/catalog/queries.ts';
import { SCHEMA } from '../functions/tables/reports.ts';
import { type DaySums, millionths, sumDays } from '../support/day-sums.ts';
import { writeParquet } from '../support/ledger-rows.ts';
import { startFastWorkflow } from '../support/run-export.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import type { Workflow } from '../support/workflow.ts';
import { installPython } from './python.ts';

const python = installPython();

/** DECIMAL, BIGINT and DOUBLE. */
const METRICS = ['spend', 'impressions', 'installs'];

const TABLE = {
  table: 'daily-campaigns',
  kind: 'report',
  columns: [...SCHEMA.columns, { name: 'installs', type: 'double', from: 'installs' }],
} as const;
const QUERIES = savedQueries([TABLE]);

const FIRST = { start_date: '2026-10-01', end_date: '2026-10-06' };
/** Restates its days that the first one has too. */
const SECOND = { start_date: '2026-10-03', end_date: '2026-10-08' };
/** Has no rows for a day that has some. */
const EMPTY = { start_date: '2026-10-05', end_date: '2026-10-06' };

/** The blocks of code in a section of the reference, as they are written there. */
function blocksOf(file: string, heading: string) {
  const text = readFileSync(new URL(`../../functions/${file}`, import.meta.url), 'utf8');
  const [section = ''] = text.split(`\n${heading}\n`)[1]?.split(/\n## /) ?? [];
  return [...section.matchAll(/```(\w+)\n(.*?)```/gs)].map(([, language, code = '']) => ({ language, code }));
}
const BLOCKS = blocksOf('TABLES.md', '## Reading them');

/** The bucket's folder, as the reference calls it. */
const OUT = 'out/ad-report-export-exportsbucket';

let workflow: Workflow;
/** Has the folder `out`. The recipes run there. */
let folder: string;
const ended = new AsyncDisposableStack();
/** The sums that the table should show, added up from the platform's own files. */
const expected = new Map<string, DaySums>();

beforeAll(async () => {
  const report = { secondsToReady: 0, restated: { days: 10, everyHours: 1 / 36 } };
  const rowsOn = (day: string) => (day === '2026-10-04' || empty.has(day) ? 0 : 6);
  const empty = new Set<string>();
  const started = startFastWorkflow({
    now: '2026-10-08T00:00:00Z',
    sandbox: { report: { ...report, rowsOn } },
  });
  workflow = ended.use(await started);
  const { sandbox, out, bucket, request } = workflow;
  const run = async (fields: Record<string, unknown>) =>
    expect(await workflow.run(request(fields))).toMatchObject({ status: 'SUCCEEDED' });
  for (const window of [FIRST, SECOND]) {
    await run({ name: 'daily-campaigns', metrics: METRICS, dimensions: ['campaign_id'], ...window });
    const newest = sandbox.reports().at(-1);
    const file = [...(newest?.file.read() ?? [])];
    for (const [day, sums] of sumDays(Buffer.concat(file).toString(), METRICS)) expected.set(day, sums);
  }
  empty.add(EMPTY.start_date);
  await run({ name: 'daily-campaigns', metrics: METRICS, dimensions: ['campaign_id'], ...EMPTY });
  await run({ kind: 'list', name: 'campaigns', resource: 'campaigns' });
  folder = temporaryDirectory((remove) => ended.defer(remove));
  await mkdir(join(folder, 'out'));
  await symlink(join(out, bucket), join(folder, OUT));
});

afterAll(() => ended.disposeAsync());

/** Spend per day in millionths, by date. */
function spendPerDay(): [string, bigint][] {
  const days = [...expected].map(([day, { sums }]): [string, bigint] => [day, sums.spend ?? 0n]);
  return days.sort(([first], [second]) => (first < second ? -1 : 1));
}

async function ask(sql: string): Promise<(readonly unknown[])[]> {
  const { rows } = await runLocalQuery(sql, workflow.out);
  return (await Array.fromAsync(rows)).flat();
}

describe('the recipes of the reference', () => {
  const programs = BLOCKS.filter(({ language }) => language === 'python');

  it('are there', () => {
    expect(programs.map(({ code }) => code.split(/[ .\n]/)[1])).toEqual(['pandas', 'pyarrow', 'polars']);
  });

  it.each(programs)('count each day once: $code', async ({ code }) => {
    const printed = JSON.parse(await python(['run_recipe.py'], { stdin: code, cwd: folder })) as string[][];
    expect(printed.map(([date, spend = '']) => [date, millionths(spend)])).toEqual(spendPerDay());
  });

  it('count each day once with DuckDB, and join a list', async () => {
    const queries = BLOCKS.filter(({ language }) => language === 'sql');
    const [perDay, perCampaign, list] = queries.map(({ code }) =>
      code.replaceAll("'out/", `'${folder}/out/`),
    );
    const days = await ask(perDay ?? '');
    expect(days.map(([date, spend]) => [date, millionths(String(spend))])).toEqual(spendPerDay());
    const campaigns = await ask(perCampaign ?? '');
    expect(campaigns.every(([name]) => typeof name === 'string')).toBe(true);
    const total = (rows: readonly (readonly unknown[])[]) =>
      rows.reduce((sum, [, spend]) => sum + millionths(String(spend)), 0n);
    expect(total(campaigns)).toBe(total(days));
    expect((await ask(list ?? '')).length).toBeGreaterThan(0);
  });
});

describe('the event of an export', () => {
  it('is matched by the pattern of the reference if it is this export, and names the files', () => {
    const [{ code = '' } = {}] = blocksOf('REQUESTS.md', '## Events');
    const { events } = workflow.bus;
    const matched = events.filter((event) => isMatch(JSON.parse(code), event));
    expect({ sent: events.length, matched: matched.length }).toEqual({ sent: 4, matched: 3 });
    const { bucket, windows } = Object(matched[0]).detail;
    const key = `start_date=${FIRST.start_date}/end_date=${FIRST.end_date}/report.json`;
    expect({ bucket, windows }).toMatchObject({
      bucket: workflow.bucket,
      windows: [{ key: expect.stringMatching(`^exports/.*/${key}$`) }],
    });
  });
});

/** EventBridge matches an event if each field that the pattern names has one of its values. */
function isMatch(pattern: unknown, event: unknown): boolean {
  if (Array.isArray(pattern)) return pattern.includes(event);
  return Object.entries(Object(pattern)).every(([name, inner]) => isMatch(inner, Object(event)[name]));
}

const program = (name: string) =>
  BLOCKS.find(({ language, code }) => language === 'python' && code.startsWith(`import ${name}`))?.code ?? '';

/** @param first the first of two months, which was written before or after */
async function readClicks(name: string, first: string): Promise<string> {
  const cwd = temporaryDirectory();
  const table = join(cwd, OUT, 'tables/daily-campaigns');
  const month = (number: string, column: string) =>
    writeParquet(
      join(table, `acme.2026-${number}.parquet`),
      `SELECT DATE '2026-${number}-01' AS date, 1.5 AS spend${column}`,
    );
  await month('09', first);
  await month('10', ', 7::BIGINT AS clicks');
  const stdin = program(name).replaceAll('"spend"', '"clicks"');
  return python(['run_recipe.py'], { stdin, cwd });
}

const LIBRARIES = ['pyarrow', 'pandas', 'polars'];
it.each(LIBRARIES)('after a column was added, %s reads it once rebuild wrote every month', async (name) => {
  await expect(readClicks(name, '')).rejects.toThrow(/clicks/);
  const read = JSON.parse(await readClicks(name, ', NULL::BIGINT AS clicks')) as string[][];
  expect(read.at(-1)).toEqual(['2026-10-01', '7']);
});

it('the saved queries parse as Trino and Athena', async () => {
  const all = [...Object.values(QUERIES).map(({ sql }) => sql), daysView(TABLE), restatementsView(TABLE)];
  await python(['parse_queries.py'], { stdin: JSON.stringify(all) });
});
