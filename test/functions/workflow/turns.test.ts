import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isTurn, turnAfter, turnsFrom } from '../../../functions/workflow/turns.ts';

const START = Date.parse('2026-11-21T06:00:00.400Z');
const at = (seconds: number) => new Date(START + 1000 * seconds);
const from = (turn: string) => ({ turn, wake: turn });

describe('the turns of the ranges', () => {
  it('begin 10 s after the last GET or later, in whole seconds, 22 s apart', () => {
    const turns = Array.from({ length: 3 }, (_, range) => turnsFrom(at(0), 3)(range));
    expect(turns).toEqual([
      { ...from('2026-11-21T06:00:11.000Z'), turn_every_seconds: 66 },
      { ...from('2026-11-21T06:00:33.000Z'), turn_every_seconds: 66 },
      { ...from('2026-11-21T06:00:55.000Z'), turn_every_seconds: 66 },
    ]);
  });

  it('last 5 s', () => {
    const turn = from(at(100).toISOString());
    expect([99.999, 100, 104.999, 105].map((second) => isTurn(turn, at(second)))).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });

  it('come again when all others have had theirs', () => {
    const turn = { turn: at(100).toISOString(), turn_every_seconds: 40 };
    const next = [100, 139.999, 140, 1_000].map(
      (second) => Date.parse(turnAfter(turn, at(second)).turn) - START,
    );
    expect(next).toEqual([140_000, 140_000, 180_000, 1_020_000]);
  });

  it('P3: keep the GETs of two ranges 10 s apart, however late each wakes and how slowly it connects', () => {
    // Of the clock that all are woken by; a function's own may be 2 s behind.
    const within = fc.nat(11_999);
    const late = fc.nat(100_000);
    const ranges = fc.integer({ min: 2, max: 8 });
    fc.assert(
      fc.property(ranges, fc.nat(), fc.nat(), late, late, within, within, (count, a, b, ...ms) => {
        const [one, other] = [a % count, b % count];
        if (one === other) return;
        const turnOf = (range: number, lateBy = 0, within = 0) => {
          const turns = turnsFrom(at(0), count)(range);
          const { turn } = turnAfter(turns, new Date(Date.parse(turns.turn) + lateBy));
          return Date.parse(turn) + within;
        };
        const apart = Math.abs(turnOf(one, ms[0], ms[2]) - turnOf(other, ms[1], ms[3]));
        expect(apart).toBeGreaterThanOrEqual(10_000);
      }),
    );
  });
});
