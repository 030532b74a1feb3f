import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { MissingDays } from '../../infra/operate/days/days.ts';
import { CONFIG, createCheckout } from '../support/checkout.ts';
import { type CommandEnd, runCommand, startCommand } from '../support/cli.ts';
import { type CommandRun, startCommandRun } from '../support/command-run.ts';
import { callsTo } from '../support/journal.ts';

const WEEK = { start_date: '2025-10-01', end_date: '2025-10-08' };
const NEXT_WEEK = { start_date: '2025-10-08', end_date: '2025-10-15' };
const BOTH_WEEKS = { ...WEEK, end_date: NEXT_WEEK.end_date };
const OTHER_METRICS = ['spend', 'impressions'];

/** A folder of local runs, and the platform that they export from. */
interface Folder extends CommandRun {
  /** True if reports become READY. */
  readonly platform: { isReady: boolean };
  /** `--local` and `--out`. */
  readonly place: readonly string[];
  /** Runs the CLI. Default: the CLI of this checkout. */
  cli: (args: readonly string[]) => Promise<CommandEnd>;
  /** Writes the request of the next run. */
  request(fields?: object): Promise<void>;
  /** Exports {@link WEEK}, or what the fields of the request say. */
  run(fields?: object, more?: readonly string[]): Promise<void>;
  /** Removes the objects whose keys contain a text. */
  remove(part: string): Promise<void>;
}

async function openFolder(): Promise<Folder> {
  const platform = { isReady: true };
  const secondsToReady = () => (platform.isReady ? 1 : 86_400);
  const command = await startCommandRun(WEEK, { report: { secondsToReady }, tokenSeconds: 86_400 });
  const { args, out } = command;
  const input = inputOf(command);
  const first = JSON.parse(await readFile(input, 'utf8'));
  const request = (fields = {}) => writeFile(input, JSON.stringify({ ...first, ...fields }));
  return {
    ...command,
    platform,
    place: ['--local', '--out', out],
    cli: runCommand,
    request,
    async run(fields = {}, more = []) {
      await request(fields);
      const { status, stderr } = await runCommand([...args, ...more]);
      expect([status, stderr]).toEqual([0, expect.anything()]);
    },
    async remove(part) {
      const paths = await readdir(out, { recursive: true });
      for (const path of paths.filter((each) => each.includes(part)))
        await rm(join(out, path), { recursive: true, force: true });
    },
  };
}

/** The file of the last run's request. */
function inputOf({ args }: Pick<CommandRun, 'args'>): string {
  return args[args.indexOf('--input') + 1] ?? '';
}

/** A command that was printed, as a shell splits it. */
function split(command: string): string[] {
  expect(command).not.toContain("'");
  return command.trim().split(' ').slice(4);
}

/** Pastes a printed command. Only what exports gets more: the test's clock. */
async function paste({ args, cli }: Folder, command: string): Promise<void> {
  const words = split(command);
  const speed = args.slice(args.indexOf('--speed')).slice(0, 2);
  const { status, stderr } = await cli([...words, ...(words[0] === 'rebuild' ? [] : speed)]);
  expect([status, stderr]).toEqual([0, expect.anything()]);
}

async function json<T>({ cli }: Folder, args: readonly string[]): Promise<T> {
  const { status, stdout, stderr } = await cli([...args, '--json']);
  expect([status, stderr]).toEqual([0, expect.anything()]);
  return JSON.parse(stdout);
}

/**
 * The states of the days that are not there, and `unfinished` if a run did not finish. All commands say the
 * same.
 */
async function judge(folder: Folder): Promise<string[]> {
  const { place } = folder;
  const missing = await json<MissingDays>(folder, ['missing', 'daily', ...place]);
  const { exports } = await json<{ exports: object[] }>(folder, ['status', 'daily', ...place]);
  expect(exports).toMatchObject([{ days: missing }]);
  const { ranges, runs, counts, days } = missing;
  expect(Object.values(counts).reduce((sum, number) => sum + number)).toBe(days);

  const range = ['--from', WEEK.start_date, '--to', NEXT_WEEK.end_date, '--only-missing'];
  const input = ['--input', inputOf(folder)];
  const plan = await json<{ windows: object[] }>(folder, ['plan', ...input, ...place, ...range]);
  const states = ranges.map(({ state, reason }) => [state, reason].filter(Boolean).join(': '));
  expect(plan.windows.length > 0).toBe(states.some((state) => /^(missing|older)/.test(state)));
  return [...states, ...runs.map(() => 'unfinished')];
}

/** The commands that `missing` prints. */
async function printed({ cli, place }: Folder): Promise<string[]> {
  const { stdout } = await cli(['missing', 'daily', ...place]);
  return stdout.split('\n').filter((line) => line.startsWith('  npm '));
}

/** Begins a run of these days, and kills it before a report is READY. */
async function killRun({ request, args, sandbox, platform }: Folder, fields: object): Promise<void> {
  platform.isReady = false;
  await request(fields);
  const before = callsTo(sandbox, 'report').length;
  const { child, ended } = startCommand(args);
  await expect.poll(() => callsTo(sandbox, 'report').length).toBeGreaterThan(before + 3);
  child.kill('SIGKILL');
  await ended;
  platform.isReady = true;
}

/** Exports a report with a value that its column does not take, until the config has another type. */
async function leaveBadValue(folder: Folder): Promise<void> {
  folder.sandbox.faults.add({ on: 'storage', body: '[{"date":"2025-10-01","spend":"much"}]' });
  await folder.run(BOTH_WEEKS);
  const { stdout } = await folder.cli(['missing', 'daily', ...folder.place]);
  expect(stdout).toMatch(/much.*see TableProblems.*\nTo add them to the table:/s);
  await configure(folder, { columns: { spend: 'string' } });
}

const EXPORT_MISSING = /^npm run export -- run daily .* --only-missing --local --out \S+$/;
const EXPORT_AGAIN = /^npm run export -- run daily --account \S+ --from \S+ --to \S+ --local --out \S+$/;
const REBUILD = /^npm run export -- rebuild daily .* --local --out \S+$/;
const ACCEPT_EMPTY = /^npm run export -- rebuild daily .* --accept-empty --local --out \S+$/;
const RESUME = /^npm run export -- resume daily-\S+ --local --out \S+$/;

interface Mend {
  readonly what: string;
  readonly leave: (folder: Folder) => Promise<unknown>;
  readonly states: readonly string[];
  /** The commands that `missing` prints. */
  readonly prints: readonly RegExp[];
  /** The one that is pasted. Default: the first. */
  readonly pastes?: RegExp;
}

const KILLED = {
  leave: async (folder: Folder) => {
    await folder.run();
    await killRun(folder, NEXT_WEEK);
  },
  states: ['missing: interrupted', 'unfinished'],
  prints: [EXPORT_MISSING, RESUME],
};
const FAILED = {
  leave: async (folder: Folder) => {
    await folder.run();
    folder.sandbox.faults.add('create status=403');
    await folder.request(NEXT_WEEK);
    expect((await folder.cli(folder.args)).status).toBe(1);
  },
  states: ['missing: failed', 'unfinished'],
  prints: [EXPORT_MISSING, RESUME],
};

it.each<Mend>([
  {
    what: '49: killed between the table and the manifest',
    async leave({ run, remove }) {
      await run();
      await run(NEXT_WEEK);
      await remove('start_date=2025-10-08/end_date=2025-10-15/_manifest.json');
    },
    states: ['missing: never'],
    prints: [EXPORT_MISSING],
  },
  { what: 'killed before it delivered anything, mended', ...KILLED, pastes: EXPORT_MISSING },
  { what: 'killed before it delivered anything, resumed', ...KILLED, pastes: RESUME },
  { what: 'failed, mended', ...FAILED, pastes: EXPORT_MISSING },
  { what: 'failed, resumed', ...FAILED, pastes: RESUME },
  {
    what: 'killed while it exported days again that are there',
    async leave(folder) {
      await folder.run(BOTH_WEEKS);
      await killRun(folder, BOTH_WEEKS);
      const { stdout } = await folder.cli(['missing', 'daily', ...folder.place]);
      expect(stdout).toContain('did not finish: 14 days were not renewed');
    },
    states: ['unfinished'],
    prints: [RESUME],
  },
  {
    what: 'a value that does not fit, until its column has another type',
    leave: leaveBadValue,
    states: ['behind'],
    prints: [REBUILD],
  },
  {
    what: 'the same, and the file is gone',
    async leave(folder) {
      await leaveBadValue(folder);
      await folder.remove('report.json');
    },
    states: ['behind'],
    prints: [EXPORT_AGAIN],
  },
  {
    what: '55: an added metric',
    async leave(folder) {
      await folder.run(BOTH_WEEKS);
      await configure(folder, { metrics: OTHER_METRICS });
      const { stdout } = await folder.cli(['status', 'daily', ...folder.place]);
      expect(stdout).toMatch(/days +14 of 14 days are of an older request\n/);
    },
    states: ['older'],
    prints: [EXPORT_MISSING],
  },
  {
    what: '47: a newer report without rows',
    async leave({ run, sandbox }) {
      await run(BOTH_WEEKS);
      sandbox.faults.add({ on: 'storage', body: '[]' });
      await run();
    },
    states: ['held'],
    prints: [ACCEPT_EMPTY],
  },
])('$what: missing, status and plan agree, and the printed command mends it', async (mend) => {
  const { leave, states, prints, pastes = prints[0] } = mend;
  const folder = await openFolder();
  await leave(folder);
  expect(await judge(folder)).toEqual(states);

  const commands = (await printed(folder)).map((command) => command.trim());
  expect(commands).toEqual(prints.map((command) => expect.stringMatching(command)));
  await paste(folder, commands.find((command) => pastes?.test(command)) ?? '');
  expect(await judge(folder)).toEqual([]);
  await changesNothing(folder);
});

/** Puts the last request with these fields into the config, as an export. The CLI is then a checkout's. */
async function configure(folder: Folder, fields: object): Promise<void> {
  const { account, ...entry } = { ...(await lastRequest(folder)), ...fields } as { account: string };
  const config = { ...CONFIG, accounts: { [account]: {} }, exports: [entry] };
  const checkout = await createCheckout();
  folder.cli = (args) => checkout.run(config, args);
  // Only an export says what its columns are.
  await folder.request({ account, ...entry, columns: undefined });
}

/** Neither `rebuild` nor a run of what is missing finds anything to do. */
async function changesNothing(folder: Folder): Promise<void> {
  const { windows, months } = await json<{ windows: object[]; months: number }>(folder, [
    'rebuild',
    'daily',
    ...folder.place,
  ]);
  expect({ windows, months }).toEqual({ windows: [], months: 0 });
  const before = callsTo(folder.sandbox, 'create').length;
  await folder.run({ ...(await lastRequest(folder)), ...BOTH_WEEKS }, ['--only-missing']);
  expect(callsTo(folder.sandbox, 'create')).toHaveLength(before);
}

async function lastRequest(folder: Folder): Promise<object> {
  return JSON.parse(await readFile(inputOf(folder), 'utf8'));
}
