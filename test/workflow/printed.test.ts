import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { MissingDays } from '../../infra/operate/days/days.ts';
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
  return JSON.parse(stdout).exports.flatMap((one: { differences: object[] }) => one.differences);
}

async function lacking(folder: Folder): Promise<Pick<MissingDays, 'ranges' | 'runs'>> {
  return json<MissingDays>(folder, ['missing', 'daily', ...folder.place]);
}

describe('the command that check prints', () => {
  it.each([
    ['rebuild', 'the ledger was removed', (folder: Folder) => folder.remove('sandbox.daily.2025-10.parquet')],
    ['rebuild', 'the table was removed', (folder: Folder) => folder.remove('sandbox.2025-10.parquet')],
    ['run', 'a file was changed', changeFile],
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
  const command = commandsIn(page).find((each) => wanted.test(each)) ?? '';
  await paste(folder, command);
  expect(await lacking(folder)).toMatchObject({ ranges: [], runs: [] });
});

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
    const found = sandbox.credentials.find((each) => each.account === account);
    const content = { client_id: found?.clientId, client_secret: client_secret ?? found?.clientSecret };
    await writeFile(join(folder, `credential-${account}.json`), JSON.stringify(content), { mode: 0o600 });
  };
  for (const { account } of sandbox.credentials) await write(account);
  return {
    pattern: join(folder, 'credential-{account}.json'),
    spoil: (account: string) => write(account, 'wrong'),
    mend: (account: string) => write(account),
  };
}
