import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { covers, type DayState } from '../../../../functions/days/judge.ts';
import { addDays, daysOf } from '../../../../functions/workflow/request/dates.ts';
import { findExports } from '../../../../infra/operate/days/find-exports.ts';
import { judgeExport } from '../../../../infra/operate/days/judge-export.ts';
import { openToRead } from '../../../../infra/operate/place/bucket.ts';
import { BUCKET, dateOf, deliver, openFolder, queryRows, rebuild } from './deliveries.ts';

/** Each history is an account's. `HISTORIES=200 SEED=1` chooses others. */
const { HISTORIES = '20', SEED = String(Date.now()) } = process.env;

/** The days of the histories: the first reports are created before the last days are over. */
const [FIRST, LAST] = [29, 35];
const OTHER_REQUEST = { advertiser_ids: ['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3f'] };

/** A report: `wrong` does not fit the table, and the run of `unfinished` ended before its manifest. */
const step = fc.record({
  first: fc.integer({ min: FIRST, max: LAST }),
  length: fc.integer({ min: 1, max: 4 }),
  kind: fc.constantFrom('rows', 'rows', 'rows', 'gaps', 'gaps', 'empty', 'accepted', 'wrong', 'unfinished'),
  request: fc.constantFrom({}, {}, OTHER_REQUEST),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const accounts = fc.sample(fc.array(step, { minLength: 1, maxLength: 5 }), {
  numRuns: Number(HISTORIES),
  seed: Number(SEED) % 2 ** 31,
});

it(`the view of the days agrees with missing, but for three differences (SEED=${SEED})`, async () => {
  const folder = await openFolder();
  const { out } = folder;
  const place = { local: true, out } as const;
  const nameOf = (at: number) => `a${at}`;
  const most = Math.max(...accounts.map((steps) => steps.length));
  const manifests: string[] = [];
  for (let at = 0; at < most; at += 1) {
    for (const [index, steps] of accounts.entries()) {
      const delivery = steps[at];
      if (delivery) manifests.push(...(await deliverStep(folder, nameOf(index), at, delivery)));
    }
    await rebuild(['daily', '--local', '--out', out]);
    // Some held days are accepted.
    const range = ['--from', dateOf(FIRST), '--to', dateOf(FIRST + 2)];
    if (at === 1) await rebuild(['daily', '--local', '--out', out, ...range, '--accept-empty']);
    for (const manifest of manifests.splice(0)) await rm(join(out, BUCKET, manifest));
  }
  const [from, to] = [dateOf(FIRST), dateOf(LAST + 6)];
  await using bucket = await openToRead(place);
  const judged = await Promise.all(
    (await findExports('daily', place, bucket, new Date(), { from, to })).map(async (records) => {
      const { days } = await judgeExport(bucket, records);
      return [records.request.account, new Map(days.map(({ day, state }) => [day, state]))] as const;
    }),
  );
  const byMissing = new Map(judged);
  const view = await queryRows(
    `SELECT account, date, state, report_id FROM daily_days WHERE date < DATE '${to}' ORDER BY account, date`,
    out,
  );
  const compared = view.map(([account, date, inSql]) => {
    const [name, day] = [String(account), String(date)];
    const steps = accounts[Number(name.slice(1))] ?? [];
    const state = byMissing.get(name)?.get(day) ?? 'missing';
    return { name, day, inSql: String(inSql) as DayState, state, newest: newestOf(day, steps) };
  });
  const differing = compared.filter(({ inSql, state }) => inSql !== state);
  expect(differing.filter((difference) => !isExpected(difference))).toEqual([]);
  const first = Map.groupBy(compared, ({ name }) => name);
  // From the first day of an account on, no day is left out.
  for (const days of first.values())
    expect(days.map(({ day }) => day)).toEqual(
      daysOf({ start_date: days[0]?.day ?? '', end_date: addDays(days.at(-1)?.day ?? '', 1) }),
    );
  const states = Object.groupBy(compared, ({ state }) => state);
  expect(Object.keys(states).length).toBeGreaterThanOrEqual(4);
}, 1_200_000);

/** @returns the keys of manifests to remove once the table has the report */
async function deliverStep(
  folder: Awaited<ReturnType<typeof openFolder>>,
  account: string,
  at: number,
  { first, length, kind, request }: Step,
): Promise<string[]> {
  const last = first + length - 1;
  const window = { start_date: dateOf(first), end_date: dateOf(last + 1) };
  const rows = daysOf(window).flatMap((date, day) => {
    const hasRows = kind === 'gaps' ? day % 2 === 0 : kind !== 'empty' && kind !== 'accepted';
    return hasRows ? [{ date, spend: kind === 'wrong' ? 'much' : at + 1 }] : [];
  });
  await deliver(folder, {
    account,
    days: [first, last],
    created: 24 * (at + 2) + 1,
    rows,
    request: { ...request, ...(kind === 'accepted' && { accept_empty: true }) },
    ...(kind === 'wrong' && { table_problem: 'spend does not fit' }),
  });
  const { start_date, end_date } = window;
  const prefix = `exports/account=${account}/export=daily/start_date=${start_date}/end_date=${end_date}`;
  return kind === 'unfinished' ? [`${prefix}/_manifest.json`] : [];
}

/** The newest report of a day. */
function newestOf(day: string, steps: readonly Step[]): Step['kind'] | undefined {
  return steps.findLast(({ first, length }) =>
    covers({ start_date: dateOf(first), end_date: dateOf(first + length) }, day),
  )?.kind;
}

/** The differences that TABLES.md names. The third one is that the view ends with yesterday. */
function isExpected({ state, newest }: { state: DayState; newest: Step['kind'] | undefined }): boolean {
  if (newest === 'wrong') return state === 'behind' || state === 'missing';
  return newest === 'unfinished';
}
