import { globSync } from 'node:fs';
import { copyFile, cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeDamage } from '../../../../../infra/operate/days/damage.ts';
import { runCommand } from '../../../../support/cli.ts';
import { ledgerRows, writeParquet } from '../../../../support/ledger-rows.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import { BUCKET, deliver, leaveRun, openFolder, rebuild } from '../../days/deliveries.ts';
import { FAILURE } from '../../executions/operated-executions.ts';

const DAILY = 'exports/account=acme/export=daily';
const WINDOW = `${DAILY}/start_date=2026-10-01/end_date=2026-10-03`;
const MANIFEST = `${WINDOW}/_manifest.json`;
const FAILED = `${WINDOW}/_failure.json`;
const RUN = `${DAILY}/_runs/e.json`;
const LISTS = [1, 2].map((day) => `${DAILY}/_advertisers/2026-11-0${day}T00-00-00-000Z.json`);
const MONTH = 'tables/daily/acme.2026-10.parquet';
const LEDGER = 'tables/ledger/acme.daily.2026-10.parquet';
const CLOSED = 'tables/ledger/acme.daily.2026-10.closed.parquet';
const OLD_FILE = `${WINDOW}/report.json`;

let template: string;
const closing: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closing) await close();
});

/** Two exports with all kinds of objects. Both have delivered the first four days of October. */
beforeAll(async () => {
  const folder = await openFolder((close) => closing.push(close));
  const { out } = folder;
  template = out;
  const place = ['--local', '--out', out];
  const read = (key: string) => readFile(join(out, BUCKET, key), 'utf8');
  for (const name of ['daily', 'other']) {
    await deliver(folder, { name, days: [1, 2], created: 1 });
    await deliver(folder, { name, days: [3, 4], created: 2 });
    await rebuild([name, ...place]);
  }
  for (const [at, end] of ['2026-10-03', '2026-10-05'].entries()) {
    const [key] = globSync(`${DAILY}/*/end_date=${end}/_manifest.json`, { cwd: join(out, BUCKET) });
    const list = LISTS[at] ?? '';
    const ids = ['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e'];
    await folder.put(list, JSON.stringify({ version: '1', execution: 'e', advertiser_ids: ids }));
    const manifest = { ...JSON.parse(await read(key ?? '')), advertisers: { key: list, count: 1 } };
    await folder.put(key ?? '', JSON.stringify(manifest));
  }
  const failure = { ...FAILURE, account: 'acme', export: 'daily', failed_at: '2026-10-31T00:00:00Z' };
  await folder.put(FAILED, JSON.stringify(failure));
  await leaveRun(out, { ...JSON.parse(await read(MANIFEST)).export_request, max_parallel: undefined });
  await runCommand(['close', '2026-10', 'daily', '--anyway', ...place]);
});

/** A copy of the exports. */
async function copyExports() {
  const out = join(temporaryDirectory(), 'out');
  await cp(template, out, { recursive: true });
  const place = ['--local', '--out', out];
  const pathOf = (key: string) => join(out, BUCKET, key);
  /** Changes fields of a record, or replaces all of an object. */
  const damage = async (key: string, change: object | string) => {
    const changed = async () => ({ ...JSON.parse(await readFile(pathOf(key), 'utf8')), ...Object(change) });
    await mkdir(dirname(pathOf(key)), { recursive: true });
    await writeFile(pathOf(key), typeof change === 'string' ? change : JSON.stringify(await changed()));
  };
  const copy = (from: string, to: string) => copyFile(pathOf(from), pathOf(to));
  return { out, place, damage, copy };
}

type Exports = Awaited<ReturnType<typeof copyExports>>;

async function readJson({ place }: Exports, ...args: string[]) {
  const { stdout, stderr } = await runCommand([...args, '--json', ...place]);
  return JSON.parse(stdout || stderr);
}

/** The two exports of `status`. */
async function readStatus(exports: Exports) {
  const [daily, other] = (await readJson(exports, 'status')).exports;
  return { daily, other };
}

it('names no object of exports whose objects are whole', async () => {
  const exports = await copyExports();
  const { daily, other } = await readStatus(exports);
  const missing = await readJson(exports, 'missing', 'daily');
  const [check] = (await readJson(exports, 'check', 'daily')).exports;
  for (const [document, { damaged }] of Object.entries({ daily, other, missing, check }))
    expect({ document, damaged }).toEqual({ document, damaged: [] });
});

describe('70: a damaged object', () => {
  const past = { report_created_at: '2026-10-31T00:00:00Z' };
  const to2099 = { copied_at: '2099-01-01T00:00:00Z', published_at: '2099-01-01T00:00:00Z' };
  it.each<[string, string, (exports: Exports) => Promise<void>]>([
    ['a manifest that was cut', MANIFEST, ({ damage }) => damage(MANIFEST, '{"version":"1",')],
    [
      'a manifest with a wrong time',
      MANIFEST,
      ({ damage }) => damage(MANIFEST, { report_created_at: 'yesterday' }),
    ],
    [
      'a manifest with a wrong request',
      MANIFEST,
      ({ damage }) => damage(MANIFEST, { export_request: { a: 1 } }),
    ],
    ['a manifest with a wrong time zone', MANIFEST, ({ damage }) => damage(MANIFEST, { time_zone: 'Mars' })],
    ['a manifest with wrong warnings', MANIFEST, ({ damage }) => damage(MANIFEST, { warnings: 'none' })],
    [
      'a manifest from 2099',
      MANIFEST,
      ({ damage }) => damage(MANIFEST, { report_created_at: '2099-01-01T00:00:00Z' }),
    ],
    [
      'a manifest that was published in 2099',
      MANIFEST,
      ({ damage }) => damage(MANIFEST, { ...past, ...to2099 }),
    ],
    [
      'a manifest of more days than its key',
      MANIFEST,
      ({ damage }) => damage(MANIFEST, { end_date: '2036-10-03' }),
    ],
    ['a manifest of another account', MANIFEST, ({ damage }) => damage(MANIFEST, { account: 'globex' })],
    ['a failure report that was cut', FAILED, ({ damage }) => damage(FAILED, '{"version":"1",')],
    ['a failure report with wrong faults', FAILED, ({ damage }) => damage(FAILED, { faults: 1 })],
    [
      'a failure report with a wrong time',
      FAILED,
      ({ damage }) => damage(FAILED, { failed_at: 'yesterday' }),
    ],
    [
      'a failure report from 2099',
      FAILED,
      ({ damage }) => damage(FAILED, { failed_at: '2099-01-01T00:00:00Z' }),
    ],
    ['a run that was cut', RUN, ({ damage }) => damage(RUN, '{"version":"1",')],
    ['a run with a wrong time', RUN, ({ damage }) => damage(RUN, { began_at: 'yesterday' })],
    ['a run from 2099', RUN, ({ damage }) => damage(RUN, { began_at: '2099-01-01T00:00:00Z' })],
    ['a run of another execution', RUN, ({ damage }) => damage(RUN, { execution: 'f' })],
    ['a list that was cut', LISTS[0] ?? '', ({ damage }) => damage(LISTS[0] ?? '', '{"version":"1",')],
    [
      'a list of other things',
      LISTS[1] ?? '',
      ({ damage }) => damage(LISTS[1] ?? '', { advertiser_ids: [1] }),
    ],
    ['a month that is a text', MONTH, ({ damage }) => damage(MONTH, 'a text of somebody else')],
    ['a month that is empty', MONTH, ({ damage }) => damage(MONTH, '')],
    ['a month that is a file of the ledger', MONTH, ({ copy }) => copy(LEDGER, MONTH)],
    ['a ledger that is a text', LEDGER, ({ damage }) => damage(LEDGER, 'a text of somebody else')],
    [
      'a ledger of another export',
      LEDGER,
      ({ copy }) => copy('tables/ledger/acme.other.2026-10.parquet', LEDGER),
    ],
    ['a ledger that is a month', LEDGER, ({ copy }) => copy(MONTH, LEDGER)],
    ['a close that is a text', CLOSED, ({ damage }) => damage(CLOSED, 'a text of somebody else')],
    ['a close of another form', CLOSED, ({ copy }) => copy(OLD_FILE, CLOSED)],
  ])('is named, and the rest is shown: %s', async (_, key, damage) => {
    const exports = await copyExports();
    await damage(exports);
    const { daily, other } = await readStatus(exports);
    expect(daily).toMatchObject({ export: 'daily', newest_day: '2026-10-04', damaged: [key] });
    expect(other).toMatchObject({ export: 'other', damaged: [], days: { counts: { behind: 0 } } });
  });

  it.each([
    ['record', MANIFEST],
    ['list of advertisers', LISTS[0] ?? ''],
    ['month', MONTH],
    ['ledger', LEDGER],
  ])('is named by each command that reads it, with what is lost: a %s', async (_, key) => {
    const exports = await copyExports();
    await exports.damage(key, '{');
    const line = describeDamage(key);
    const { place, out } = exports;
    expect((await runCommand(['status', ...place])).stdout).toContain(`  damaged     ${line}\n`);
    const [missing, check] = [
      await runCommand(['missing', 'daily', ...place]),
      await runCommand(['check', 'daily', ...place]),
    ];
    if (key !== LEDGER) expect(missing).toMatchObject({ stderr: '', stdout: expect.stringContaining(line) });
    if (key !== LISTS[0])
      expect(check).toMatchObject({ status: 1, stderr: '', stdout: expect.stringContaining(line) });
    expect(await runCommand(['close', '2026-10', 'other', ...place])).toMatchObject({ stderr: '' });
    expect(await runCommand(['page', ...place])).toMatchObject({ status: 0, stderr: '' });
    const html = await readFile(join(out, 'index.html'), 'utf8');
    expect(html).toContain('cannot be read, or tells what cannot be true.');
  });

  it('of the ledger keeps its month from being closed, and says what would be lost', async () => {
    const exports = await copyExports();
    await exports.damage(LEDGER, 'a text');
    const { status, stdout } = await runCommand(['close', '2026-10', 'daily', '--anyway', ...exports.place]);
    expect({ status, stdout }).toEqual({
      status: 1,
      stdout: `acme/daily  2026-10 is not closed:\n${describeDamage(LEDGER)}\n`,
    });
  });

  it('of the table leaves its days to be rebuilt, and names itself there', async () => {
    const exports = await copyExports();
    await exports.damage(MONTH, 'a text');
    const { stdout } = await runCommand(['missing', 'daily', ...exports.place, '--to', '2026-10-05']);
    expect(stdout).toContain(`2026-10-01 to 2026-10-04  behind in the table: ${MONTH} cannot be read\n`);
  });

  it('hides no export whose only record it is', async () => {
    const exports = await copyExports();
    const key = 'exports/account=acme/export=only/start_date=2026-10-01/end_date=2026-10-02/_manifest.json';
    await exports.damage(key, '{');
    const { stdout } = await runCommand(['status', '--json', ...exports.place]);
    const { exports: shown, unreadable } = JSON.parse(stdout);
    expect({ shown: shown.length, unreadable }).toEqual({
      shown: 2,
      unreadable: [{ account: 'acme', export: 'only', damaged: [key] }],
    });
    const { stdout: text } = await runCommand(['status', ...exports.place]);
    expect(text).toContain(`\nacme/only\n  damaged     ${describeDamage(key)}\n`);
  });
});

it('names a row of the ledger from 2099 as damaged', async () => {
  const exports = await copyExports();
  const facts = [
    { date: '2026-10-01', report_id: 'r', at: '2099-01-01 00:00:00', values: { rows: 1, spend: 9 } },
  ];
  await writeParquet(join(exports.out, BUCKET, LEDGER), ledgerRows('acme', 'daily', 'daily', facts));
  const { daily } = await readStatus(exports);
  expect(daily.damaged).toEqual([LEDGER]);
});
