import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { daysOf } from '../../../../functions/workflow/request/dates.ts';
import type { MissingDays } from '../../../../infra/operate/days/missing-days.ts';
import { runCommand } from '../../../support/cli.ts';
import { shownDays } from '../../../support/day-sums.ts';
import { BUCKET, dateOf, deliver, openFolder, queryRows, rebuild } from '../days/deliveries.ts';

/** `HISTORIES=100` tries more. */
const { HISTORIES = '3' } = process.env;

const OTHER_REQUEST = { advertiser_ids: ['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3f'] };

/** A report, each newer than the one before, or accepts of days that are held by then. */
const step = fc.record({
  first: fc.integer({ min: 1, max: 6 }),
  length: fc.integer({ min: 1, max: 4 }),
  kind: fc.constantFrom('rows', 'rows', 'rows', 'gaps', 'gaps', 'empty', 'accepted', 'accept'),
  spend: fc.integer({ min: 1, max: 3 }),
  request: fc.constantFrom({}, {}, {}, OTHER_REQUEST),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const PLAIN = { first: 1, length: 3, spend: 1, request: {} } as const;
const EXAMPLES: readonly (readonly Step[])[] = [
  // The file of the rows is replaced by one without rows, so only the table has them.
  [
    { ...PLAIN, kind: 'rows' },
    { ...PLAIN, kind: 'empty' },
  ],
  // The file of an accepted report is replaced, but the ledger has all of it.
  [
    { ...PLAIN, kind: 'accepted' },
    { ...PLAIN, kind: 'gaps' },
  ],
  // A report that was held, and whose file is replaced by one of the same window.
  [
    { ...PLAIN, length: 4, kind: 'rows' },
    { ...PLAIN, length: 2, kind: 'accepted' },
    { ...PLAIN, length: 2, kind: 'empty' },
  ],
  // Held by a report of another window, accepted, and restated.
  [
    { ...PLAIN, kind: 'rows' },
    { ...PLAIN, first: 2, kind: 'empty' },
    { ...PLAIN, first: 3, length: 1, kind: 'accept' },
    { ...PLAIN, first: 4, kind: 'rows', request: OTHER_REQUEST },
  ],
];

it('a table that was removed is the same after rebuild, but for the days that it names', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 6 }), async (steps) => {
      await using ended = new AsyncDisposableStack();
      const folder = await openFolder((close) => void ended.defer(close));
      const { out } = folder;
      const place = ['daily', '--local', '--out', out];
      for (const [at, { first, length, kind, spend, request }] of steps.entries()) {
        const days = [first, first + length - 1] as const;
        if (kind === 'accept') {
          const range = ['--from', dateOf(first), '--to', dateOf(first + length)];
          if (at > 0) await rebuild([...place, ...range, '--accept-empty']).catch(ignoreNothingDelivered);
          continue;
        }
        const dates = daysOf({ start_date: dateOf(first), end_date: dateOf(first + length) });
        const rows = dates.flatMap((date, day) =>
          kind === 'rows' || (kind === 'gaps' && day % 2 === 0) ? [{ date, spend }] : [],
        );
        const asked = { ...request, ...(kind === 'accepted' && { accept_empty: true }) };
        await deliver(folder, { days, created: 24 * (at + 1), rows, request: asked });
        await rebuild(place);
      }
      const before = await readState(out);
      await rm(join(out, BUCKET, 'tables/daily'), { recursive: true, force: true });
      const { result } = await rebuild(place).catch(() => ({ result: undefined }));
      const lost = new Set((result?.without_file ?? []).flatMap(daysOf));
      const after = await readState(out);
      expect(after.rows).toEqual(before.rows.filter(([date]) => !lost.has(String(date))));
      expect(after.entries).toEqual(before.entries.filter(({ day }) => !lost.has(day)));
      const lostDays = (await readMissing(out)).filter(({ day }) => lost.has(day));
      expect(lostDays.filter(({ state, file_gone }) => state !== 'behind' || !file_gone)).toEqual([]);
      if (lost.size > 0) {
        const { stdout } = await runCommand(['missing', ...place]);
        expect(stdout).toContain(
          'To export them again, because their files are gone:\n  npm run export -- run',
        );
      }
      if (after.view.length === 0) return;
      const isLost = ([date]: readonly unknown[]) => lost.has(String(date));
      expect(after.view.filter((row) => !isLost(row))).toEqual(before.view.filter((row) => !isLost(row)));
      const states = after.view.filter(isLost).map(([, state]) => state);
      expect(states.filter((state) => state !== 'behind')).toEqual([]);
    }),
    { numRuns: EXAMPLES.length + Number(HISTORIES), examples: EXAMPLES.map((example) => [[...example]]) },
  );
}, 240_000);

/** No report shares a day with the range. */
function ignoreNothingDelivered(error: Error): void {
  if (!error.message.includes('was delivered in this range')) throw error;
}

async function readMissing(out: string) {
  const range = ['--from', dateOf(1), '--to', dateOf(11)];
  const { stdout } = await runCommand(['missing', 'daily', '--local', '--out', out, ...range, '--json']);
  const { ranges } = JSON.parse(stdout) as MissingDays;
  return ranges.flatMap((range) => daysOf(range).map((day) => ({ day, ...range })));
}

/** What a table shows, but for what the last write of each day changed. */
async function readState(out: string) {
  const days = await shownDays(join(out, BUCKET, 'tables/daily'), 'acme').catch(() => ({}));
  const entries = Object.entries(days).map(([day, { restated: _, ...entry }]) => ({ day, ...entry }));
  // Without an object, there is no view.
  if (entries.length === 0) return { rows: [], entries, view: [] };
  const rows = await queryRows('SELECT date, spend, report_id FROM daily ORDER BY date', out);
  const view = await queryRows(
    'SELECT date, state, finality, rows, spend, report_id FROM daily_days ORDER BY date',
    out,
  );
  return { rows, entries, view };
}
