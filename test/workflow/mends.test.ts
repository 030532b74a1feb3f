import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { TO_EXPORT } from '../../functions/deliveries/judge.ts';
import { LACKS, type MissingDays } from '../../infra/knowledge/missing-days.ts';
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

/** Pastes a printed command. Only a run gets more: the test's clock. */
async function paste({ args, cli }: Folder, command: string): Promise<void> {
  const words = split(command);
  const speed = args.slice(args.indexOf('--speed')).slice(0, 2);
  const { status, stderr } = await cli([...words, ...(words[0] === 'run' ? speed : [])]);
  expect([status, stderr]).toEqual([0, expect.anything()]);
}

async function json<T>({ cli }: Folder, args: readonly string[]): Promise<T> {
  const { status, stdout, stderr } = await cli([...args, '--json']);
  expect([status, stderr]).toEqual([0, expect.anything()]);
  return JSON.parse(stdout);
}

/** Reads `missing`, after the other commands have said the same. */
async function judge(folder: Folder): Promise<string[]> {
  const { place } = folder;
  const week = ['missing', 'daily', ...place, '--to', NEXT_WEEK.end_date];
  const found = await json<MissingDays>(folder, week);
  const days = await json<MissingDays>(folder, ['missing', 'daily', ...place]);
  const { exports } = await json<{ exports: object[] }>(folder, ['status', 'daily', ...place]);
  expect(exports).toMatchObject([{ days }]);
  const reasons = LACKS.flatMap((lack) => found[lack].map(({ reason }) => reason));

  const range = ['--from', WEEK.start_date, '--to', NEXT_WEEK.end_date, '--only-missing'];
  const input = ['--input', inputOf(folder)];
  const plan = await json<{ windows: object[] }>(folder, ['plan', ...input, ...place, ...range]);
  expect(plan.windows.length > 0).toBe(reasons.some((reason) => TO_EXPORT.has(reason)));
  return reasons;
}

/** The commands that `missing` prints. */
async function printed({ cli, place }: Folder): Promise<string[]> {
  const { stdout } = await cli(['missing', 'daily', ...place, '--to', NEXT_WEEK.end_date]);
  return stdout.split('\n').filter((line) => line.startsWith('  npm '));
}

it.each<[string, (folder: Folder) => Promise<unknown>, string, RegExp]>([
  [
    '49: killed between the table and the manifest',
    async ({ run, remove }) => {
      await run(NEXT_WEEK);
      await run();
      await remove('start_date=2025-10-01/end_date=2025-10-08/_manifest.json');
    },
    'unannounced',
    /^npm run export -- run daily --account \S+ --from \S+ --to \S+ --local /,
  ],
  [
    'killed before it delivered anything',
    async ({ run, request, args, sandbox, platform }) => {
      await run(NEXT_WEEK);
      platform.isReady = false;
      await request();
      const { child, ended } = startCommand(args);
      await expect.poll(() => callsTo(sandbox, 'report').length).toBeGreaterThan(3);
      child.kill('SIGKILL');
      await ended;
      platform.isReady = true;
    },
    'absent',
    /^npm run export -- run daily .* --only-missing --local --out \S+$/,
  ],
  [
    'a value that does not fit, until its column has another type',
    async (folder) => {
      folder.sandbox.faults.add({ on: 'storage', body: '[{"date":"2025-10-01","spend":"much"}]' });
      await folder.run(BOTH_WEEKS);
      const { stdout } = await folder.cli(['missing', 'daily', ...folder.place]);
      expect(stdout).toMatch(/much.*see TableProblems.*\nTo add them to the table:/s);
      await configure(folder, { columns: { spend: 'string' } });
    },
    'not_in_table',
    /^npm run export -- rebuild /,
  ],
  [
    '55: an added metric',
    async (folder) => {
      await folder.run(BOTH_WEEKS);
      await configure(folder, { metrics: OTHER_METRICS });
      const { stdout } = await folder.cli(['status', 'daily', ...folder.place]);
      expect(stdout).toMatch(/days +14 of 14 days are of an older request until \S+ without impressions\n/);
    },
    'older_request',
    /^npm run export -- run daily .* --only-missing --local --out \S+$/,
  ],
  [
    '47: a newer report without rows',
    async ({ run, sandbox }) => {
      await run(BOTH_WEEKS);
      sandbox.faults.add({ on: 'storage', body: '[]' });
      await run();
    },
    'held',
    /^npm run export -- rebuild .* --accept-empty /,
  ],
])('%s: missing, status and plan agree, and the printed command mends it', async (_, leave, state, command) => {
  const folder = await openFolder();
  await leave(folder);
  expect(await judge(folder)).toEqual([state]);

  const [first = '', ...others] = await printed(folder);
  expect(others).toEqual([]);
  expect(first.trim()).toMatch(command);
  await paste(folder, first);
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
  const { windows, months } = await json<{ windows: { outcome: string }[]; months: number }>(folder, [
    'rebuild',
    'daily',
    ...folder.place,
  ]);
  expect(windows.filter(({ outcome }) => !/^(unchanged|older|other_request)$/.test(outcome))).toEqual([]);
  expect(months).toBe(0);
  const before = callsTo(folder.sandbox, 'create').length;
  await folder.run({ ...(await lastRequest(folder)), ...BOTH_WEEKS }, ['--only-missing']);
  expect(callsTo(folder.sandbox, 'create')).toHaveLength(before);
}

async function lastRequest(folder: Folder): Promise<object> {
  return JSON.parse(await readFile(inputOf(folder), 'utf8'));
}
