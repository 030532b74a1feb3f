import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { planKey } from '../../../functions/workflow/keys.ts';
import { addDays, type DateRange } from '../../../functions/workflow/request/dates.ts';
import { parseRequest } from '../../../functions/workflow/request/request.ts';
import { openToRead } from '../../../infra/knowledge/bucket.ts';
import { latestFailure } from '../../../infra/knowledge/exports.ts';
import { judgeRange } from '../../../infra/knowledge/missing-days.ts';
import { readExports } from '../../../infra/knowledge/status.ts';
import { shownDay } from '../../support/ledger-rows.ts';
import { REPORT } from '../../support/requests.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { createBucket } from './manifests.ts';

const TODAY = '2026-11-01';
const NOW = new Date(`${TODAY}T12:00:00Z`);

function requestOf(range: DateRange) {
  return parseRequest({ ...REPORT, ...range }, NOW).request;
}

function lookBack(end_date: string, days = 28): DateRange {
  return { start_date: addDays(end_date, -days), end_date };
}

/** Months are looked at whole. */
function firstOfMonth(date: string): string {
  return `${date.slice(0, 'YYYY-MM'.length)}-01`;
}

/** A bucket with the manifest of each of these windows. */
function createHistory(windows: readonly DateRange[]) {
  const { texts, reads, deliver, store } = createBucket();
  for (const window of windows) deliver(requestOf(window), window);
  const read = async () => {
    const place = { local: true, out: temporaryDirectory() } as const;
    mkdirSync(join(place.out, 'bucket/exports/account=acme/export=daily'), { recursive: true });
    await using folder = await openToRead(place);
    const { exports } = await readExports('daily', place, { ...folder, ...store }, NOW);
    return exports[0]?.found;
  };
  return { texts, reads, read };
}

/** The windows of a daily look-back, of which each has other dates. */
function daily(days: number): DateRange[] {
  return Array.from({ length: days }, (_, ago) => lookBack(addDays(TODAY, -ago)));
}

/** The first judged day, and the states of the days. */
async function judge(found: Awaited<ReturnType<ReturnType<typeof createHistory>['read']>>) {
  const shown = shownDay({ created_at: `${TODAY}T06:00:00Z`, request_hash: found?.hash ?? '' });
  const readTable = async (_: unknown, days: readonly string[]) => {
    return { shown: Object.fromEntries(days.map((day) => [day, shown])), damaged: [] };
  };
  if (!found) throw new Error('nothing was found');
  const { start_date, days } = await judgeRange(found, readTable, {}, NOW);
  return { start_date, states: [...new Set(days.map(({ state }) => state))] };
}

it('reads no more records of a longer history', async () => {
  const [one, two] = [createHistory(daily(365)), createHistory(daily(730))];
  await one.read();
  await two.read();
  expect([one.reads.length, two.reads.length]).toEqual([two.reads.length, expect.any(Number)]);
  // Each window of the last 28 and 31 days, and the windows that end in them.
  expect(two.reads.length).toBeLessThan(2 * 100);
});

it('judges no day before the first one whose windows are all known', async () => {
  const long = { start_date: addDays(TODAY, -73), end_date: addDays(TODAY, -28) };
  const { read } = createHistory([lookBack(TODAY), long, lookBack(long.start_date)]);
  const border = firstOfMonth(addDays(TODAY, -28 - 31));
  expect(await judge(await read())).toMatchObject({ start_date: border });
});

it('begins earlier for what is still asked for, but not for a plan that later look-backs settled', async () => {
  const { texts, read } = createHistory(daily(365));
  const ask = (range: DateRange) => {
    const started_at = `${range.end_date}T05:00:00Z`;
    const request = requestOf(range);
    const plan = { version: '1', execution: 'e', since: started_at, started_at, request_hash: 'h' };
    texts.set(planKey(request, range), JSON.stringify({ ...plan, request }));
  };
  const border = (await read())?.since;
  expect(border).toBe(firstOfMonth(addDays(TODAY, -28 - 31)));
  ask(lookBack(addDays(TODAY, -300)));
  expect((await read())?.since).toBe(border);
  ask({ start_date: addDays(TODAY, -500), end_date: addDays(TODAY, -450) });
  expect((await read())?.since).toBe(firstOfMonth(addDays(TODAY, -531)));
});

it('begins earlier for days that were asked for again long after they were over', async () => {
  const { texts, read } = createHistory(daily(365));
  const range = lookBack(addDays(TODAY, -200));
  const request = requestOf(range);
  const started_at = `${TODAY}T05:00:00Z`;
  const plan = { version: '1', execution: 'e', since: started_at, started_at, request_hash: 'h', request };
  texts.set(planKey(request, range), JSON.stringify(plan));
  expect((await read())?.since).toBe(firstOfMonth(addDays(range.start_date, -31)));
});

it.each([
  ['before the delivery', 'older_request', undefined, { at: '2026-10-20T00:00:00Z' }],
  ['before a lost delivery', 'failed', 'key', { at: '2026-10-20T00:00:00Z', lost: true }],
  ['after the delivery', 'older_request', 'key', { at: '2026-10-31T00:00:00Z' }],
  ['after the delivery', 'present', undefined, { at: '2026-10-31T00:00:00Z' }],
] as const)('a failure %s counts for a day that is %s: %s', (_, state, key, { at, ...lost }) => {
  const day = '2026-10-10';
  const range = { start_date: day, end_date: '2026-10-11' };
  const delivery = { ...range, request_hash: 'h', created_at: at, published_at: '2026-10-25T00:00:00Z' };
  const words = { error: '', happened: '', todo: '' };
  const failure = { ...range, ...words, at, execution: 'e', failed: true as const, key: 'key' };
  const records = { failures: [failure], deliveries: [{ ...delivery, ...lost, execution: 'e' }] } as const;
  expect(latestFailure(records, [{ day, state }])?.key).toBe(key);
});
