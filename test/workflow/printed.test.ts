import { readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AdvertiserGaps } from '../../infra/operate/days/advertiser-gaps.ts';
import type { MissingDays } from '../../infra/operate/days/missing-days.ts';
import { writeParquet } from '../support/ledger-rows.ts';
import {
  BOTH_WEEKS,
  type Folder,
  json,
  killRun,
  NEXT_WEEK,
  openFolder,
  paste,
  WEEK,
} from '../support/local-folder.ts';

/** The commands of a text, without what HTML puts around them. */
function commandsIn(text: string): string[] {
  return [...text.matchAll(/npm run export -- [^<\n]+/g)].map(([command]) => command.trim());
}

async function differences(folder: Folder): Promise<readonly object[]> {
  const { stdout } = await folder.cli(['check', 'daily', ...folder.place, '--json']);
  return JSON.parse(stdout).exports.flatMap((checked: { differences: object[] }) => checked.differences);
}

async function lacking(folder: Folder): Promise<MissingDays & AdvertiserGaps> {
  return json(folder, ['missing', 'daily', ...folder.place]);
}

describe('the command that check prints', () => {
  it.each([
    ['rebuild', 'the ledger was removed', (folder: Folder) => folder.remove('sandbox.daily.2025-10.parquet')],
    ['rebuild', 'the table was removed', (folder: Folder) => folder.remove('sandbox.2025-10.parquet')],
    ['run', 'a file was changed', changeFile],
    ['run', 'the table and the file were removed', removeTableAndFile],
  ])('is %s if %s, and then all agrees', async (command, _, change) => {
    const folder = await openFolder();
    await folder.run(BOTH_WEEKS);
    await change(folder);
    expect(await differences(folder)).not.toEqual([]);
    const { stdout } = await folder.cli(['check', 'daily', ...folder.place]);
    const [printed = ''] = commandsIn(stdout);
    expect(printed).toMatch(new RegExp(`^npm run export -- ${command} daily .* --local --out \\S+$`));
    await paste(folder, printed);
    expect(await differences(folder)).toEqual([]);
  });
});

/** Puts other rows into the file of a delivered window. */
async function changeFile({ out, keys }: Folder): Promise<void> {
  const [key = ''] = await keys('report.json');
  await writeFile(join(out, key), '[{"date":"2025-10-01","spend":1}]');
}

async function removeTableAndFile(folder: Folder): Promise<void> {
  await folder.remove('report.json');
  await folder.remove('tables/daily/');
}

it('status prints the command that shows the days, and the one that finishes the run', async () => {
  const folder = await openFolder();
  await folder.run(WEEK);
  await killRun(folder, NEXT_WEEK);
  const { stdout } = await folder.cli(['status', 'daily', ...folder.place]);
  const [see = '', finish = ''] = commandsIn(stdout);
  expect(see).toMatch(/^npm run export -- missing daily --account sandbox --local --out \S+$/);
  const shown = await folder.cli(see.split(' ').slice(4));
  expect(shown.stdout).toContain('7 of 14 days are missing');
  expect(finish).toMatch(/^npm run export -- resume daily-\S+ --local --out \S+$/);
  await paste(folder, finish);
  expect(await lacking(folder)).toMatchObject({ ranges: [], runs: [] });
});

it.each([
  ['brings the missing days', /^npm run export -- run daily .*--only-missing/],
  ['finishes the run', /^npm run export -- resume daily-/],
])('the page prints a command that %s', async (_, wanted) => {
  const folder = await openFolder();
  await folder.run(WEEK);
  await killRun(folder, NEXT_WEEK);
  await folder.cli(['page', ...folder.place]);
  const page = await readFile(join(folder.out, 'index.html'), 'utf8');
  const command = commandsIn(page).find((printed) => wanted.test(printed)) ?? '';
  await paste(folder, command);
  expect(await lacking(folder)).toMatchObject({ ranges: [], runs: [] });
});

const ALL_ADVERTISERS = { advertiser_ids: 'all' };

/** The platform lists only the first advertiser, until the faults of the sandbox are cleared. */
function hideAdvertisers({ sandbox: { faults, advertiserIds } }: Folder): void {
  const [id] = advertiserIds;
  faults.add({ on: 'list', times: Number.POSITIVE_INFINITY, body: '{"data":[]}' });
  faults.add({ on: 'list', body: JSON.stringify({ data: [{ id }] }) });
}

/** The platform refuses the last advertiser in the next report. */
function refuseAdvertiser({ sandbox: { faults, advertiserIds } }: Folder): void {
  const detail = {
    validation: [{ field: 'advertiser_ids', message: `${advertiserIds.at(-1)} is not granted` }],
  };
  faults.add({ on: 'create', status: 403, body: JSON.stringify({ error: { status: 403, detail } }) });
}

describe('missing prints a command that exports days', () => {
  it('with new advertisers', async () => {
    const folder = await openFolder(ALL_ADVERTISERS);
    hideAdvertisers(folder);
    await folder.run({ ...ALL_ADVERTISERS, ...WEEK });
    folder.sandbox.faults.clear();
    await folder.run({ ...ALL_ADVERTISERS, ...NEXT_WEEK });
    const others = folder.sandbox.advertiserIds.slice(1).toSorted();
    expect(await lacking(folder)).toMatchObject({ ranges: [], newcomers: { advertiser_ids: others } });
    const { stdout } = await folder.cli(['missing', 'daily', ...folder.place]);
    await paste(folder, commandsIn(stdout)[0] ?? '');
    const missing = await lacking(folder);
    expect(missing.ranges).toEqual([]);
    expect(missing).not.toHaveProperty('newcomers');
  });

  it('with advertisers that the platform had refused', async () => {
    const folder = await openFolder(ALL_ADVERTISERS);
    refuseAdvertiser(folder);
    await folder.run({ ...ALL_ADVERTISERS, ...WEEK });
    const advertiser_ids = folder.sandbox.advertiserIds.slice(-1);
    expect(await lacking(folder)).toMatchObject({ ranges: [], refused: { advertiser_ids } });
    const { stdout } = await folder.cli(['missing', 'daily', ...folder.place]);
    await paste(folder, commandsIn(stdout)[0] ?? '');
    const missing = await lacking(folder);
    expect(missing.ranges).toEqual([]);
    expect(missing).not.toHaveProperty('refused');
  });
});

it('rebuild prints the command that exports days again whose file and rows are gone', async () => {
  const folder = await openFolder();
  await folder.run(WEEK);
  await folder.remove('report.json');
  await folder.remove('tables/daily/');
  const { status, stdout } = await folder.cli(['rebuild', 'daily', ...folder.place]);
  expect({ status, stdout }).toMatchObject({ status: 1, stdout: expect.stringContaining('left out') });
  for (const command of new Set(commandsIn(stdout))) await paste(folder, command);
  expect(await lacking(folder)).toMatchObject({ counts: { there: 7 }, ranges: [] });
  await paste(folder, `npm run export -- rebuild daily ${folder.place.join(' ')}`);
});

describe('close prints', () => {
  const MONTH = { start_date: '2025-10-01', end_date: '2025-11-01' };
  const close = async (folder: Folder) => {
    const { status, stdout } = await folder.cli(['close', '2025-10', ...folder.place]);
    return { status, stdout, commands: commandsIn(stdout) };
  };

  it('the command that reads unverified days again, and closes the month after it', async () => {
    const folder = await openFolder();
    await folder.run(MONTH);
    await backdateLedger(folder);
    const { stdout, commands } = await close(folder);
    expect(stdout).toContain('31 days unverified');
    await paste(folder, commands[0] ?? '');
    expect((await close(folder)).stdout).toContain('2025-10 is closed.');
  });

  it('the commands that close a month anyway, and again', async () => {
    const folder = await openFolder();
    await folder.run(MONTH);
    const refused = await close(folder);
    expect(refused).toMatchObject({ status: 1, stdout: expect.stringContaining('31 days changing') });
    await paste(folder, refused.commands.find((command) => command.includes('--anyway')) ?? '');
    await backdateLedger(folder);
    await folder.run(MONTH);
    const before = await close(folder);
    expect(before.stdout).toContain('was closed before.');
    await paste(folder, before.commands[0] ?? '');
  });
});

/** The reports of October were created and copied a week before they were. */
async function backdateLedger({ out, keys }: Folder): Promise<void> {
  const [key = ''] = await keys('sandbox.daily.2025-10.parquet');
  const ledger = join(out, key);
  const earlier = ['report_created_at', 'copied_at'].map((name) => `${name} - INTERVAL 7 DAY AS ${name}`);
  await writeParquet(`${ledger}.new`, `SELECT * REPLACE (${earlier.join()}) FROM '${ledger}'`);
  await rename(`${ledger}.new`, ledger);
}

it('a run of two accounts prints the command that finishes it for the one that failed', async () => {
  const folder = await openFolder({}, [{ account: 'acme' }, { account: 'globex' }]);
  const place = await writeCredentials(folder);
  const { account: _, advertiser_ids: __, ...what } = await folder.lastRequest();
  const advertiser_ids = folder.sandbox.advertiserIds.slice(0, 1);
  const accounts = folder.sandbox.credentials.map(({ account }) => ({ account, advertiser_ids }));
  await folder.write({ ...what, accounts, max_accounts: 1 });
  const args = folder.args.map((arg) => (arg.endsWith('credential.json') ? place.pattern : arg));
  await place.spoil('globex');
  const { status, stderr } = await folder.cli(args.filter((arg) => arg !== '--json'));
  const words = 'The export failed for 1 of 2 accounts.';
  expect({ status, stderr }).toMatchObject({ status: 1, stderr: expect.stringContaining(words) });
  await place.mend('globex');
  const commands = commandsIn(stderr);
  for (const see of commands.slice(0, -1))
    expect(await folder.cli(see.split(' ').slice(4))).toMatchObject({ status: 0 });
  const resume = commands.at(-1) ?? '';
  expect(resume).toMatch(/^npm run export -- resume daily-\S+ --local --out \S+$/);
  const before = folder.sandbox.reports().length;
  await paste(folder, resume);
  expect(folder.sandbox.reports()).toHaveLength(before + 1);
  for (const { account } of accounts) {
    const missing = await json<MissingDays>(folder, [
      'missing',
      'daily',
      '--account',
      account,
      ...folder.place,
    ]);
    expect(missing).toMatchObject({ account, ranges: [], runs: [] });
  }
});

/** A file for each account, which `{account}` in --credential stands for. */
async function writeCredentials({ args, sandbox }: Folder) {
  const folder = dirname(args[args.indexOf('--credential') + 1] ?? '');
  const write = async (account: string, client_secret?: string) => {
    const credential = sandbox.credentials.find((candidate) => candidate.account === account);
    const content = {
      client_id: credential?.clientId,
      client_secret: client_secret ?? credential?.clientSecret,
    };
    await writeFile(join(folder, `credential-${account}.json`), JSON.stringify(content), { mode: 0o600 });
  };
  for (const { account } of sandbox.credentials) await write(account);
  return {
    pattern: join(folder, 'credential-{account}.json'),
    spoil: (account: string) => write(account, 'wrong'),
    mend: (account: string) => write(account),
  };
}
