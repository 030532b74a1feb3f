import { expect, it } from 'vitest';
import type { MissingDays } from '../../infra/operate/days/missing-days.ts';
import { callsTo } from '../support/journal.ts';
import {
  BOTH_WEEKS,
  configure,
  type Folder,
  inputOf,
  json,
  killRun,
  lastRequest,
  NEXT_WEEK,
  openFolder,
  paste,
  printed,
  WEEK,
} from '../support/local-folder.ts';

const OTHER_METRICS = ['spend', 'impressions'];

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
