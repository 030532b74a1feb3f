import { readFileSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { TO_EXPORT } from '../../functions/decisions/days.ts';
import { addDays } from '../../functions/workflow/request/dates.ts';
import type { MissingDays } from '../../infra/cli/missing.ts';
import { CONFIG_KEY } from '../../infra/config/config.ts';
import { createCheckout } from '../support/checkout.ts';
import { type CommandEnd, runCommand, startCommand } from '../support/cli.ts';
import { type CommandRun, startCommandRun } from '../support/command-run.ts';
import { callsTo } from '../support/journal.ts';

const WEEK = { start_date: '2025-10-01', end_date: '2025-10-08' };
const NEXT_WEEK = { start_date: '2025-10-08', end_date: '2025-10-15' };

/** Days of {@link WEEK}, with this spend. */
function rows(spend: unknown): string {
  return JSON.stringify(
    Array.from({ length: 7 }, (_, at) => ({ date: addDays(WEEK.start_date, at), spend })),
  );
}

type RunCli = (args: readonly string[]) => Promise<CommandEnd>;

/** A folder of local runs, and the platform that they export from. */
interface Folder extends CommandRun {
  /** True if reports become READY. */
  readonly platform: { isReady: boolean };
  /** `--local` and `--out`. */
  readonly place: readonly string[];
  /** Runs the CLI. Default: that of this checkout. */
  cli: RunCli;
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
  return command.trim().replace('npm start --', 'npm run export -- run --local').split(' ').slice(4);
}

/** Pastes a printed command. Only a run gets options more: the test's platform, and its clock. */
async function paste({ args, cli }: Folder, command: string): Promise<void> {
  const words = split(command);
  const option = (name: string) => [name, args[args.indexOf(name) + 1] ?? ''];
  const ofTest = ['--base-url', '--revision', '--credential', '--speed'].flatMap(option);
  const { status, stderr } = await cli([...words, ...(words[0] === 'run' ? ofTest : [])]);
  expect([status, stderr]).toEqual([0, expect.anything()]);
}

async function json<T>({ cli }: Folder, args: readonly string[]): Promise<T> {
  const { status, stdout, stderr } = await cli([...args, '--json']);
  expect([status, stderr]).toEqual([0, expect.anything()]);
  return JSON.parse(stdout);
}

/** Reads `missing`, after the other commands have said the same. */
async function judge(folder: Folder): Promise<Pick<MissingDays, 'missing' | 'held'>> {
  const { place } = folder;
  const { missing, held } = await json<MissingDays>(folder, [
    'missing',
    'daily',
    ...place,
    '--to',
    NEXT_WEEK.end_date,
  ]);
  const all = await json<MissingDays>(folder, ['missing', 'daily', ...place]);
  const { exports } = await json<{ exports: MissingDays[] }>(folder, ['status', 'daily', ...place]);
  expect(exports).toMatchObject([{ missing: all.missing, held: all.held }]);

  const range = ['--from', WEEK.start_date, '--to', NEXT_WEEK.end_date, '--only-missing'];
  const input = ['--input', inputOf(folder)];
  const plan = await json<{ windows: object[] }>(folder, ['plan', ...input, ...place, ...range]);
  expect(plan.windows.length > 0).toBe(missing.some(({ reason }) => TO_EXPORT.has(reason)));
  return { missing, held };
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
    /^npm start /,
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
    /^npm start /,
  ],
  [
    'another request',
    async ({ run }) => {
      await run();
      await run({ ...NEXT_WEEK, metrics: ['spend', 'impressions'] }, ['--take-over']);
    },
    'other_request',
    /^npm start /,
  ],
  [
    'another request with another table',
    async ({ run }) => {
      await run();
      await run({ ...NEXT_WEEK, metrics: ['spend', 'impressions'], table: 'fresh' });
    },
    'other_request',
    /^npm start /,
  ],
  [
    'the same request with another table',
    async ({ run }) => {
      await run();
      await run({ ...NEXT_WEEK, table: 'fresh' });
    },
    'not_in_table',
    /^npm run export -- curate /,
  ],
  [
    'a deleted month',
    async ({ run, remove }) => {
      await run({ ...WEEK, end_date: NEXT_WEEK.end_date });
      await remove('sandbox.2025-10.parquet');
    },
    'not_in_table',
    /^npm run export -- curate /,
  ],
  [
    '47: a newer report without rows',
    async ({ run, sandbox }) => {
      await run({ ...WEEK, end_date: NEXT_WEEK.end_date });
      sandbox.faults.add({ on: 'storage', body: '[]' });
      await run();
    },
    'held',
    /^npm run export -- curate .* --accept-empty$/,
  ],
])('%s: missing, status and plan agree, and the printed command mends it', async (_, leave, state, command) => {
  const folder = await openFolder();
  await leave(folder);
  const { missing, held } = await judge(folder);
  const found = [...missing.map(({ reason }) => reason), ...held.map(() => 'held')];
  expect(found).toEqual([state]);

  const [first = '', ...others] = await printed(folder);
  expect(others).toEqual([]);
  expect(first.trim()).toMatch(command);
  await paste(folder, first);
  expect(await judge(folder)).toEqual({ missing: [], held: [] });
  await changesNothing(folder);
});

it('a value that does not fit is named, and mended by another type and the printed command', async () => {
  const folder = await openFolder();
  folder.sandbox.faults.add({ on: 'storage', body: rows('much') });
  await folder.run();
  const { missing } = await judge(folder);
  expect(missing.slice(0, 1)).toMatchObject([
    { ...WEEK, reason: 'not_in_table', problem: expect.stringMatching(/much/) },
  ]);
  const { stdout } = await folder.cli(['missing', 'daily', ...folder.place, '--to', WEEK.end_date]);
  expect(stdout).toMatch(/much.*\n.*"columns".*\nTo add them to the table:/);
  const [command = ''] = stdout.split('\n').filter((line) => line.startsWith('  npm '));

  const cli = await configure(folder, { columns: { spend: 'string' } });
  await paste({ ...folder, cli }, command);
  const { stdout: after } = await cli(['missing', 'daily', ...folder.place, '--to', WEEK.end_date]);
  expect(after).toContain('0 of 7 days are missing');
});

it('an export of the config that never ran is exported by the printed command', async () => {
  const folder = await openFolder();
  const cli = await configure(folder, {});
  const range = ['--from', WEEK.start_date, '--to', WEEK.end_date];
  const { stdout } = await cli(['missing', 'daily', ...folder.place, ...range]);
  expect(stdout).toContain('sandbox/daily, 2025-10-01 to 2025-10-07: 7 of 7 days are missing');
  const [command = ''] = stdout.split('\n').filter((line) => line.startsWith('  npm '));
  const plan = [
    'plan',
    ...split(command)
      .slice(1)
      .filter((word) => word !== '--json'),
  ];
  expect((await json<{ windows: object[] }>({ ...folder, cli }, plan)).windows).toEqual([WEEK]);
});

/** The CLI of a checkout whose config has the folder's request as an export, with these fields. */
async function configure(folder: Folder, fields: object): Promise<RunCli> {
  const { context } = JSON.parse(readFileSync(new URL('../../cdk.json', import.meta.url), 'utf8'));
  const request = await lastRequest(folder);
  const config = { ...context[CONFIG_KEY], accounts: ['sandbox'], exports: [{ ...request, ...fields }] };
  const checkout = await createCheckout();
  return (commandArgs) => checkout.run(JSON.stringify({ context: { [CONFIG_KEY]: config } }), commandArgs);
}

/** Neither `curate` nor a run of what is missing finds anything to do. */
async function changesNothing(folder: Folder): Promise<void> {
  const { windows, months } = await json<{ windows: { outcome: string }[]; months: number }>(folder, [
    'curate',
    'daily',
    ...folder.place,
  ]);
  expect(windows.filter(({ outcome }) => !/^(unchanged|older|other_request)$/.test(outcome))).toEqual([]);
  expect(months).toBe(0);
  const before = callsTo(folder.sandbox, 'create').length;
  await folder.run({ ...(await lastRequest(folder)), ...WEEK, end_date: NEXT_WEEK.end_date }, [
    '--only-missing',
  ]);
  expect(callsTo(folder.sandbox, 'create')).toHaveLength(before);
}

async function lastRequest(folder: Folder): Promise<object> {
  return JSON.parse(await readFile(inputOf(folder), 'utf8'));
}
