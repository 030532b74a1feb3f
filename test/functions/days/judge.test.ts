import { describe, expect, it } from 'vitest';
import {
  type Attempt,
  type DayState,
  type Delivery,
  judgeDays,
  type MissingReason,
} from '../../../functions/days/judge.ts';
import type { ShownDay } from '../../../functions/workflow/shown-days.ts';
import { LEDGER_FACTS, shownDay } from '../../support/ledger-rows.ts';

const DAY = '2026-10-05';
const DURING = '2026-10-05T12:00:00.000Z';
const EARLY = '2026-10-06T06:00:00.000Z';
const LATE = '2026-10-07T06:00:00.000Z';

/** A report of October 1 to 9. */
function delivery(changes: Partial<Delivery> = {}): Delivery {
  const window = { start_date: '2026-10-01', end_date: '2026-10-10' };
  return { ...window, report_id: 'r', request_hash: 'now', created_at: LATE, ...changes };
}

function shown(changes: Partial<ShownDay> = {}): ShownDay {
  return shownDay({ created_at: LATE, request_hash: 'now', ...changes });
}

const older = delivery({ request_hash: 'before', created_at: EARLY, report_id: 'old' });
const HELD = { report_id: 'r', created_at: LATE, request_hash: 'now', ledger: LEDGER_FACTS };

interface Case {
  readonly state: DayState;
  readonly deliveries: readonly Delivery[];
  /** Undefined: the export has no table. Null: the table does not have the day. */
  readonly table?: ShownDay | null;
}

describe('the state of a day', () => {
  it.each<[string, Case]>([
    ['nothing was delivered', { state: 'missing', deliveries: [] }],
    ['a delivery ends before it', { state: 'missing', deliveries: [delivery({ end_date: DAY })] }],
    [
      'a delivery begins after it',
      { state: 'missing', deliveries: [delivery({ start_date: '2026-10-06' })] },
    ],
    [
      'the file of its only delivery is another one',
      { state: 'missing', deliveries: [delivery({ lost: true })] },
    ],
    [
      'the report was created during the day',
      { state: 'missing', deliveries: [delivery({ created_at: DURING })] },
    ],
    ['the table shows a report that no manifest names', { state: 'missing', deliveries: [], table: shown() }],
    [
      'the table shows its newest report',
      { state: 'there', deliveries: [older, delivery()], table: shown() },
    ],
    [
      'its newest report has no rows and nothing was there',
      { state: 'there', deliveries: [delivery()], table: shown({ rows: 0 }) },
    ],
    ['there is no table', { state: 'there', deliveries: [delivery()] }],
    [
      'the file was removed, and the table shows it',
      { state: 'there', deliveries: [delivery({ removed: true })], table: shown() },
    ],
    ['the table lacks the day', { state: 'behind', deliveries: [delivery()], table: null }],
    [
      'the table shows an older report',
      { state: 'behind', deliveries: [delivery()], table: shown({ created_at: EARLY }) },
    ],
    [
      'the table shows a report that is newer than each manifest',
      { state: 'there', deliveries: [delivery({ created_at: EARLY })], table: shown() },
    ],
    [
      'the table shows the report that it held, because a person accepted it',
      { state: 'there', deliveries: [delivery()], table: shown({ report_id: 'r', held: HELD }) },
    ],
    [
      'the table holds its newest report, and lacks a column of the one that it shows',
      {
        state: 'held',
        deliveries: [delivery()],
        table: shown({ created_at: EARLY, report_id: 'old', held: HELD, lacks: ['clicks'] }),
      },
    ],
    [
      'the table shows a newer report than each manifest, and lacks a column of it',
      { state: 'there', deliveries: [delivery({ created_at: EARLY })], table: shown({ lacks: ['clicks'] }) },
    ],
    [
      'the table holds its newest report',
      {
        state: 'held',
        deliveries: [delivery()],
        table: shown({ created_at: EARLY, report_id: 'old', held: HELD }),
      },
    ],
    [
      'the table holds a report that no manifest names',
      {
        state: 'there',
        deliveries: [delivery({ created_at: EARLY, report_id: 'old' })],
        table: shown({ created_at: EARLY, report_id: 'old', held: HELD }),
      },
    ],
    [
      'the table holds an older report than its newest',
      {
        state: 'behind',
        deliveries: [delivery({ created_at: '2026-10-08T00:00:00Z' })],
        table: shown({ created_at: EARLY, held: HELD }),
      },
    ],
    [
      'the table shows a newer report than the one it held',
      { state: 'there', deliveries: [delivery()], table: shown({ held: { ...HELD, created_at: EARLY } }) },
    ],
    [
      'only the request before delivered it',
      { state: 'older', deliveries: [older], table: shown({ ...older, created_at: EARLY }) },
    ],
    ['the request before delivered it, without a table', { state: 'older', deliveries: [older] }],
    [
      'the request before delivered it last',
      { state: 'older', deliveries: [delivery({ created_at: EARLY }), { ...older, created_at: LATE }] },
    ],
    [
      'a held report is of the request before',
      {
        state: 'held',
        deliveries: [delivery({ request_hash: 'before' })],
        table: shown({ created_at: EARLY, held: HELD }),
      },
    ],
  ])('%s', (_, { state, deliveries, table }) => {
    const days = table === undefined ? undefined : table === null ? {} : { [DAY]: table };
    const [judged] = judgeDays([DAY], { deliveries, shown: days, hash: 'now', timeZone: 'UTC' });
    expect(judged).toMatchObject({ day: DAY, state });
  });

  it('is behind if the table lacked a column of its request', () => {
    const evidence = {
      deliveries: [delivery()],
      shown: { [DAY]: shown({ lacks: ['clicks', 'installs'] }) },
      hash: 'now',
    };
    const problem = 'the table shows it without clicks, installs';
    expect(judgeDays([DAY], evidence)).toMatchObject([{ state: 'behind', problem }]);
    // No rebuild could add a column that the config has no more.
    expect(judgeDays([DAY], { ...evidence, hash: 'other' })).toMatchObject([{ state: 'older' }]);
  });

  it.each([
    ['UTC', '2026-10-06T01:00:00Z', 'there'],
    ['America/Los_Angeles', '2026-10-06T01:00:00Z', 'missing'],
    ['Asia/Tokyo', '2026-10-05T21:00:00Z', 'there'],
    [undefined, DURING, 'there'],
  ])('is over by the time zone %s', (timeZone, created_at, state) => {
    const deliveries = [delivery({ created_at })];
    expect(judgeDays([DAY], { deliveries, hash: 'now', timeZone })).toMatchObject([{ state }]);
  });

  it('comes with its newest report, and with what the table shows', () => {
    const days = judgeDays(['2026-10-04', DAY, '2026-10-20'], {
      deliveries: [older, delivery()],
      shown: { [DAY]: shown() },
      hash: 'now',
    });
    const newest = delivery();
    expect(days).toEqual([
      { day: '2026-10-04', state: 'behind', delivery: newest },
      { day: DAY, state: 'there', delivery: newest, shown: shown() },
      { day: '2026-10-20', state: 'missing', reason: 'never' },
    ]);
  });

  it('covers the start of a window without days', () => {
    const deliveries = [delivery({ start_date: DAY, end_date: DAY })];
    expect(judgeDays([DAY], { deliveries, hash: 'now' })).toMatchObject([{ state: 'there' }]);
  });
});

describe('the reason why a day is missing', () => {
  const range = { start_date: '2026-10-01', end_date: '2026-10-10' };
  const failure = { ...range, at: EARLY, error: 'ReportStuck: No report came.' };
  const unfinished = { ...range, at: LATE };
  it.each<[MissingReason, readonly Attempt[], readonly Delivery[]]>([
    ['never', [], []],
    ['never', [{ ...failure, end_date: DAY }], []],
    ['failed', [failure], []],
    ['interrupted', [unfinished], []],
    ['interrupted', [failure, unfinished], []],
    ['failed', [{ ...failure, at: '2026-10-08T00:00:00Z' }, unfinished], []],
    ['partial', [failure], [delivery({ created_at: DURING })]],
  ])('is %s', (reason, attempts, deliveries) => {
    const [judged] = judgeDays([DAY], { deliveries, attempts, hash: 'now', timeZone: 'UTC' });
    expect(judged).toMatchObject({ state: 'missing', reason });
  });

  it('has the words of the failure', () => {
    const [judged] = judgeDays([DAY], { deliveries: [], attempts: [failure], hash: 'now' });
    expect(judged?.problem).toBe('ReportStuck: No report came.');
  });
});

it('says why the table could not take a day', () => {
  const deliveries = [delivery({ table_problem: 'spend of row 3 is no number' })];
  const [judged] = judgeDays([DAY], { deliveries, shown: {}, hash: 'now' });
  expect(judged).toMatchObject({ state: 'behind', problem: 'spend of row 3 is no number' });
});
