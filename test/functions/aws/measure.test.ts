import { expect, it } from 'vitest';
import { measureStep } from '../../../functions/aws/measure.ts';

it.each<[string, object, object]>([
  ['a delivery', { outcome: 'delivered', rows: 3, restated: 2 }, {}],
  ['one without its table', { outcome: 'delivered', table_problem: 'x' }, { TableProblems: 1 }],
  ['one with held days', { outcome: 'delivered', held: 2 }, { DaysHeld: 2 }],
  ['an export with both, whose windows are counted', { table_problem: 'x', held: 2 }, {}],
  ['a late run', { status: 'waiting', late: 3 }, { LateAccounts: 3 }],
  ['a run that is there', { status: 'done', late: 0 }, {}],
])('a call is measured: %s', (_, after, expected) => {
  expect(measureStep(after)).toEqual(expected);
});
