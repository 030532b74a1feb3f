import { expect, it } from 'vitest';
import {
  type Attempt,
  type DayState,
  type Delivery,
  judgeDays,
} from '../../../functions/deliveries/judge.ts';
import type { ShownDay } from '../../../functions/workflow/shown-days.ts';
import { SAID, shownDay } from '../../support/ledger-rows.ts';

const DAY = '2026-10-05';
const NOON = '2026-10-05T12:00:00.000Z';
const LATER = '2026-10-07T00:00:00.000Z';

/** A delivery of October 1 to 9. */
function delivery(changes: Partial<Delivery> = {}): Delivery {
  const window = { start_date: '2026-10-01', end_date: '2026-10-10' };
  const times = { created_at: LATER, published_at: LATER };
  return { ...window, request_hash: 'own', ...times, execution: 'e', ...changes };
}

function shown(changes: Partial<ShownDay> = {}): ShownDay {
  return shownDay({ created_at: LATER, request_hash: 'own', ...changes });
}

const OTHER = delivery({ request_hash: 'other' });
const REPLACED = delivery({ lost: true });
const HELD = { report_id: 's', created_at: LATER, request_hash: 'own', ledger: SAID };

it.each<[DayState, string, readonly Delivery[], ShownDay | undefined]>([
  ['present', 'a delivery, and the table shows its report', [delivery()], shown()],
  ['present', 'a delivery of another request too', [OTHER, delivery()], shown()],
  ['present', 'of two windows, only one whose file is there', [REPLACED, delivery()], shown()],
  ['absent', 'nothing', [], undefined],
  ['absent', 'a delivery that ends before it', [delivery({ end_date: DAY })], undefined],
  ['absent', 'a delivery whose file was replaced', [REPLACED], undefined],
  ['unannounced', 'a table that shows it', [], shown()],
  ['unannounced', 'a table that shows it, and another request', [OTHER], shown()],
  ['present', 'a delivery whose file was replaced, whose rows the table shows', [REPLACED], shown()],
  ['unannounced', 'an older one whose file was replaced', [{ ...REPLACED, created_at: NOON }], shown()],
  ['unannounced', 'an older delivery, and a table that shows it', [delivery({ created_at: NOON })], shown()],
  ['other_request', 'only another request, and a table without it', [OTHER], undefined],
  ['older_request', 'only another request, shown by the table', [OTHER], shown({ request_hash: 'other' })],
  ['absent', 'a table that shows another request without a manifest', [], shown({ request_hash: 'other' })],
  ['not_in_table', 'a delivery, and no month', [delivery()], undefined],
  ['not_in_table', 'a delivery, and a table with an older report', [delivery()], shown({ created_at: NOON })],
  ['not_in_table', 'a delivery, and another request shown', [delivery()], shown({ request_hash: 'other' })],
  ['held', 'a delivery that the table holds', [delivery()], shown({ created_at: NOON, held: HELD })],
  [
    'held',
    'a delivery that the table holds for the rows of another request',
    [delivery()],
    shown({ request_hash: 'other', held: HELD }),
  ],
  [
    'not_in_table',
    'a delivery, and a table that holds an older one',
    [delivery({ created_at: '2026-10-08T00:00:00.000Z' })],
    shown({ created_at: NOON, held: HELD }),
  ],
])('a day is %s with %s', (state, _, deliveries, there) => {
  const facts = { deliveries, shown: there ? { [DAY]: there } : {}, hash: 'own' };
  expect(judgeDays([DAY], facts)).toEqual([state]);
});

it('a plan of a day whose file was replaced is not settled by a later look-back', () => {
  const there = Object.fromEntries(days.map((day) => [day, shown()]));
  const facts = { deliveries: [{ ...before, lost: true as const }, six], attempts: killed, hash: 'own' };
  expect(judgeDays(days, { ...facts, shown: there })).toEqual(['not_renewed', 'present', 'present']);
});

it.each([
  ['2026-10-05T23:59:59Z', 'UTC', 'unfinished'],
  ['2026-10-06T00:00:00Z', 'UTC', 'present'],
  ['2026-10-05T22:00:00Z', 'Europe/Berlin', 'present'],
  ['2026-10-05T12:00:00Z', undefined, 'present'],
])('a report of %s is judged in %s: %s', (created_at, timeZone, state) => {
  expect(judgeDays([DAY], { deliveries: [delivery({ created_at })], hash: 'own', timeZone })).toEqual([
    state,
  ]);
});

const MONDAY = '2026-11-02T06:00:00Z';
const days = ['2026-10-05', '2026-10-06', '2026-10-07'];
const all = { start_date: '2026-10-05', end_date: '2026-10-08' };
const before = delivery({ ...all, published_at: '2026-10-09T06:00:00Z' });
const after = { published_at: '2026-11-03T06:00:00Z', execution: 'later' };
const plan: Attempt = { ...all, at: MONDAY, execution: 'monday' };
const failure: Attempt = { ...plan, failed: true };
const killed = [plan];
const failed = [plan, failure];
const first = { end_date: '2026-10-06' };

const own = delivery({ ...all, ...first, execution: 'monday' });
const firstDay = delivery({ ...all, ...first, ...after });
const lookBack = (start_date: string) => delivery({ start_date, end_date: '2026-10-09', ...after });
const [six, seven] = [lookBack('2026-10-06'), lookBack('2026-10-07')];
const past = { ...plan, at: '1970-01-01T00:00:00.000Z' };
const other = { ...plan, request_hash: 'other' };

it.each<[string, readonly Delivery[], readonly Attempt[], string]>([
  ['counts until its days are there', [], failed, 'failed failed failed'],
  ['is no failure if it was killed', [], killed, 'absent absent absent'],
  ['leaves days delivered before', [before], failed, 'not_renewed not_renewed not_renewed'],
  ['leaves them also if it was killed', [before], killed, 'not_renewed not_renewed not_renewed'],
  ['delivered some of its days itself', [before, own], failed, 'present not_renewed not_renewed'],
  ['is made good day by day', [before, firstDay], killed, 'present not_renewed not_renewed'],
  ['52: is settled by a later look-back without a gap', [before, six], failed, 'present present present'],
  ['is not settled by a shorter look-back', [before, seven], failed, 'not_renewed not_renewed present'],
  ['is not settled by one while a day is missing', [six], failed, 'failed present present'],
  ['does not count for days it was not to replace', [before], [past, failure], 'present present present'],
  ['of another request does not count', [before], [other, failure], 'present present present'],
])('an export that was asked for and failed, or that ended without a word, %s', (_, deliveries, attempts, states) => {
  expect(judgeDays(days, { deliveries, attempts, hash: 'own' }).join(' ')).toBe(states);
});
