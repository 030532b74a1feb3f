import { execFile } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { failureKey, manifestKey, objectKey } from '../../functions/workflow/keys.ts';
import {
  addDays,
  type DateRange,
  daysBetween,
  daysOf,
  describeDays,
} from '../../functions/workflow/request/dates.ts';
import { parseRequest } from '../../functions/workflow/request/request.ts';
import type { MissingDays } from '../../infra/operate/days/missing-days.ts';
import { CONFIG_KEY } from '../../infra/stack/config/config.ts';
import { BUCKET, deliver, type Folder, leaveRun, openFolder } from '../infra/operate/days/deliveries.ts';
import { CONFIG } from '../support/checkout.ts';
import { MAIN } from '../support/cli.ts';
import { REPORT } from '../support/requests.ts';
import type { Event, History } from './history.ts';

/** A history in plain words, and what `missing` says at its end. */
export interface ToldHistory {
  readonly story: readonly string[];
  /** One line for each day, with the runs that did not finish. */
  readonly states: readonly string[];
}

const EXPORT = { name: 'daily', account: 'acme' } as const;

/** All days of the histories. */
const WEEKS = ['--from', '2026-10-01', '--to', '2026-11-01'];

interface DeliveredRun {
  readonly window: DateRange;
  readonly run: string;
  /** Its file was removed or overwritten. */
  isGone?: true;
}

/** What is there while a history is told. */
interface Telling {
  readonly folder: Folder;
  readonly timeZone: string;
  readonly config: string;
  metrics: readonly string[];
  /** The windows whose manifest is there, with the words that name their run. The last one is the newest. */
  readonly delivered: Map<string, DeliveredRun>;
  readonly unfinished: { readonly window: DateRange; readonly run: string; readonly key: string }[];
  last: string;
  /** The last event has changed the config. */
  isChanged: boolean;
}

/** Leaves in a folder what the history's events leave, with the project's commands, and asks `missing`. */
export async function tellHistory({ timeZone, first, days, events }: History): Promise<ToldHistory> {
  await using ended = new AsyncDisposableStack();
  const folder = await openFolder((close) => void ended.defer(close));
  const config = join(folder.out, 'config.json');
  const telling: Telling = {
    folder,
    timeZone,
    config,
    metrics: ['spend'],
    delivered: new Map(),
    unfinished: [],
    last: '',
    isChanged: false,
  };
  await writeConfig(telling);
  const end_date = addDays(first, days);
  const story = [
    `The export daily of the account acme is run by hand in a folder of this machine. The account's time zone is ${timeZone}.`,
    'Its request has the metric spend, and it has a table. All times are UTC. Each run is one window with one report.',
    '',
  ];
  for (const event of events) {
    story.push(`- ${timeOf(event.at)}: ${await TELL[event.what](telling, event)}`);
    telling.last = event.at;
    telling.isChanged = event.what === 'metric';
  }
  const range = ['--from', first, '--to', end_date];
  const { stdout } = await cli(telling, ['missing', EXPORT.name, ...range, '--json']);
  const missing = stdout ? (JSON.parse(stdout) as Partial<MissingDays>) : {};
  return {
    story: [...story, '', `What is each day from ${describeDays({ start_date: first, end_date })}?`],
    states: describeStates(missing, { start_date: first, end_date }, stdout),
  };
}

function describeStates(
  { ranges, runs = [] }: Partial<MissingDays>,
  range: DateRange,
  stdout: string,
): string[] {
  if (!ranges) return [`No day was asked for yet: ${stdout.trim()}`];
  const stateOf = (day: string) => {
    const shown = ranges.find(({ start_date, end_date }) => start_date <= day && day < end_date);
    return shown ? [shown.state, shown.reason && `(${shown.reason})`].filter(Boolean).join(' ') : 'there';
  };
  return [
    ...daysOf(range).map((day) => `${day}: ${stateOf(day)}`),
    ...runs.map(
      (run) =>
        `run of ${describeDays(run)} did not finish: ${run.missing} missing, ${run.not_renewed} not renewed`,
    ),
  ];
}

type Tell = (telling: Telling, event: Event) => Promise<string>;

/** Each leaves what the event leaves. If it cannot happen, something else does. */
const TELL: Readonly<Record<Event['what'], Tell>> = {
  async delivered(telling, event) {
    await deliverRun(telling, event, event.at);
    return `A run of ${daysIn(event)} delivers a report that was created then. ${rowsIn(event)} The table takes it.`;
  },
  async late(telling, event) {
    // The manifest of a newer report of the same window would stay.
    // A run keeps the request that it began with.
    if (telling.last === '' || telling.isChanged || telling.delivered.has(idOf(event)))
      return TELL.delivered(telling, event);
    const created = new Date(Date.parse(telling.last) - 3_600_000).toISOString();
    if (event.end_date > addDays(created.slice(0, 10), 1)) return TELL.delivered(telling, event);
    await deliverRun(telling, event, created);
    return `A run of ${daysIn(event)} that began earlier delivers a report that was created at ${timeOf(created)}. ${rowsIn(event)} The table is asked to take it.`;
  },
  async killed(telling, event) {
    await leave(telling, event);
    return `A run of ${daysIn(event)} is killed before its report is ready.`;
  },
  async failed(telling, event) {
    await leave(telling, event);
    const words = {
      error: 'PlatformUnavailable',
      happened: 'The platform answered 503.',
      todo: 'Try again.',
    };
    const ids = { report_ids: [], request_ids: [], runbook: 'r' };
    const failure = { version: '1', execution: executionOf(event), failed_at: event.at, ...words, ...ids };
    await telling.folder.put(failureKey(EXPORT, event), JSON.stringify(failure));
    return `A run of ${daysIn(event)} fails, because the platform answers 503 for hours.`;
  },
  async torn(telling, event) {
    const path = join(telling.folder.out, BUCKET, manifestKey(EXPORT, event));
    const before = telling.delivered.get(idOf(event));
    const manifest = before && (await readFile(path, 'utf8'));
    await leave(telling, event);
    await deliverRun(telling, event, event.at);
    if (manifest === undefined) await remove(telling, manifestKey(EXPORT, event));
    else await telling.folder.put(manifestKey(EXPORT, event), manifest);
    if (before) telling.delivered.set(idOf(event), before);
    else telling.delivered.delete(idOf(event));
    const replaced = before
      ? ` Its file is now at the place of that of the run of ${before.run}, whose manifest is still there.`
      : '';
    return `A run of ${daysIn(event)} is killed after the table has taken its report, which was created then, and before the manifest is written. ${rowsIn(event)}${replaced}`;
  },
  async refused(telling, event) {
    const values = { table_problem: 'spend of row 1 is no number: much' };
    await deliverRun(telling, { ...event, empty: [] }, event.at, values);
    return `A run of ${daysIn(event)} delivers a report that was created then and has rows of each day. The table cannot take it: a value of spend is "much".`;
  },
  async resumed(telling, event) {
    const { runs } = await askMissing(telling);
    const isOpen = (key: string) => runs.some(({ execution }) => key.endsWith(`/${execution}.json`));
    const run = telling.unfinished.findLast(({ key }) => isOpen(key));
    if (!run) return TELL.delivered(telling, event);
    const again = { ...event, ...run.window };
    await deliverRun(telling, again, event.at);
    await remove(telling, run.key);
    telling.unfinished.splice(telling.unfinished.indexOf(run), 1);
    return `A person types \`resume\` for the run of ${run.run}. It delivers one report of ${daysIn(again)} that was created then. ${rowsIn(again)} The table takes it.`;
  },
  async metric(telling) {
    const has = telling.metrics.includes('impressions');
    telling.metrics = has ? ['spend'] : ['spend', 'impressions'];
    await writeConfig(telling);
    return has
      ? 'A person takes the metric impressions out of the config again. The request is the first one again.'
      : 'A person adds the metric impressions to the request in the config.';
  },
  async removed(telling, event) {
    const last = lastFile(telling);
    if (!last) return TELL.delivered(telling, event);
    last.isGone = true;
    await remove(telling, objectKey(requestOf(telling), last.window));
    return `The file of the run of ${last.run} is removed from the folder. Its manifest stays.`;
  },
  async damaged(telling, event) {
    const last = lastFile(telling);
    if (!last) return TELL.delivered(telling, event);
    last.isGone = true;
    await telling.folder.put(objectKey(requestOf(telling), last.window), '[]\n\n');
    return `Somebody writes something else into the file of the run of ${last.run}. Its manifest stays.`;
  },
  async accepted(telling, event) {
    const { ranges } = await askMissing(telling);
    const held = ranges.find(({ state }) => state === 'held');
    if (!held) return TELL.delivered(telling, { ...event, empty: [0, ...event.empty] });
    const { start_date, end_date } = held;
    await cli(telling, ['rebuild', EXPORT.name, '--from', start_date, '--to', end_date, '--accept-empty']);
    return `A person types \`rebuild --accept-empty\` for ${describeDays({ start_date, end_date })}.`;
  },
};

/** The newest delivery whose file is there. */
function lastFile({ delivered }: Telling): DeliveredRun | undefined {
  return [...delivered.values()].findLast(({ isGone }) => !isGone);
}

/** Nobody knows an export before its first run. */
async function askMissing(telling: Telling): Promise<Pick<MissingDays, 'ranges' | 'runs'>> {
  const { stdout } = await cli(telling, ['missing', EXPORT.name, ...WEEKS, '--json']);
  return { ranges: [], runs: [], ...JSON.parse(stdout || '{}') };
}

/** Leaves the file and the manifest of a run, and lets the table take it unless it cannot. */
async function deliverRun(
  telling: Telling,
  event: Event,
  created: string,
  refused: { readonly table_problem?: string } = {},
): Promise<void> {
  const { folder, delivered } = telling;
  const bad = refused.table_problem === undefined ? undefined : 'much';
  const value = bad ?? Date.parse(created) / 3_600_000;
  const rows = filledDays(event).map((date) => ({ date, spend: value, impressions: 1 }));
  const number = (day: string) => daysBetween('2026-10-01', day) + 1;
  await deliver(folder, {
    ...EXPORT,
    days: [number(event.start_date), number(event.end_date) - 1],
    created: (Date.parse(created) - Date.UTC(2026, 10, 1)) / 3_600_000,
    rows,
    request: inputOf(telling),
    ...refused,
  });
  delivered.delete(idOf(event));
  delivered.set(idOf(event), { window: windowOf(event), run: timeOf(event.at) });
  const range = ['--from', event.start_date, '--to', event.end_date];
  if (bad === undefined) await cli(telling, ['rebuild', EXPORT.name, ...range]);
}

async function leave(telling: Telling, event: Event): Promise<void> {
  const input = { ...inputOf(telling), ...windowOf(event) };
  const changes = { execution: executionOf(event), began_at: event.at };
  const key = await leaveRun(telling.folder.out, input, changes);
  telling.unfinished.push({ window: windowOf(event), run: timeOf(event.at), key });
}

function inputOf({ metrics, timeZone }: Telling) {
  return { ...REPORT, ...EXPORT, metrics, time_zone: timeZone };
}

function requestOf(telling: Telling) {
  return parseRequest(inputOf(telling), new Date()).request;
}

async function writeConfig(telling: Telling): Promise<void> {
  const { account, time_zone, advertiser_ids, ...entry } = inputOf(telling);
  const accounts = { [account]: { time_zone, advertiser_ids } };
  const config = { ...CONFIG, accounts, exports: [entry] };
  await writeFile(telling.config, JSON.stringify({ context: { [CONFIG_KEY]: config } }));
}

/** Runs a command in a process of its own, which reads the config as it is now. */
async function cli({ folder, config }: Telling, args: readonly string[]) {
  const place = ['--local', '--out', folder.out, '--config', config];
  const run = promisify(execFile)(process.execPath, [MAIN, ...args, ...place]);
  return run.catch((error: { stdout: string; stderr: string }) => error);
}

async function remove({ folder }: Telling, key: string): Promise<void> {
  for (const path of [key, `.meta/${key}.json`]) await rm(join(folder.out, BUCKET, path), { force: true });
}

function filledDays(event: Event): string[] {
  return daysOf(event).filter((_, at) => !event.empty.includes(at));
}

function rowsIn(event: Event): string {
  const all = daysOf(event);
  const filled = filledDays(event);
  if (filled.length === 0) return 'The report has no rows at all.';
  if (filled.length === all.length)
    return all.length === 1 ? 'The report has rows of the day.' : 'The report has rows of each day.';
  const none = all.filter((day) => !filled.includes(day));
  return `The report has rows of ${filled.join(' and ')}, and none of ${none.join(' and ')}.`;
}

function daysIn(event: Event): string {
  return describeDays(event);
}

function windowOf({ start_date, end_date }: DateRange): DateRange {
  return { start_date, end_date };
}

function idOf({ start_date, end_date }: DateRange): string {
  return `${start_date} ${end_date}`;
}

function executionOf({ at }: Event): string {
  return `daily-${at.replaceAll(/[-:.]/g, '')}`;
}

function timeOf(at: string): string {
  return at.slice(0, 'YYYY-MM-DDThh:mm'.length).replace('T', ' ');
}
