import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addDays,
  dateIn,
  daysBetween,
  isCalendarDate,
  isPeriod,
  isTimeZone,
  resolvePeriod,
  splitIntoWindows,
} from '../../../../functions/workflow/request/dates.ts';

const anyDate = fc.date({ min: new Date('1990-01-01'), max: new Date('2090-12-31'), noInvalidDate: true });
const calendarDate = anyDate.map((date) => date.toISOString().slice(0, 10));

it('splitIntoWindows (contract 8) covers each day once, in windows of at most 45 days, the newest first', () => {
  fc.assert(
    fc.property(calendarDate, fc.integer({ min: 1, max: 1500 }), (start_date, days) => {
      const windows = splitIntoWindows({ start_date, end_date: addDays(start_date, days) });
      const covered = windows.toReversed().flatMap((window) => {
        const length = daysBetween(window.start_date, window.end_date);
        expect(length).toBeGreaterThan(0);
        expect(length).toBeLessThanOrEqual(45);
        return Array.from({ length }, (_, day) => addDays(window.start_date, day));
      });
      expect(covered).toEqual(Array.from({ length: days }, (_, day) => addDays(start_date, day)));
    }),
  );
});

describe('a date', () => {
  it('must be written YYYY-MM-DD and exist', () => {
    const dates = ['2024-02-29', '2026-12-31', '2026-01-01', '1900-01-01', '2199-12-31'];
    expect(dates.filter(isCalendarDate)).toEqual(dates);
    const others = [
      ...['2026-02-30', '2025-02-29', '2026-13-01', '2026-00-10', '2026-1-1', '20260101', ''],
      ...['2026-01-01T00:00:00Z', '+012026-01-01', '1899-12-31', '2200-01-01'],
    ];
    expect(others.filter(isCalendarDate)).toEqual([]);
  });

  it('depends on the time zone', () => {
    const instant = new Date('2026-03-01T02:30:00Z');
    expect(dateIn('UTC', instant)).toBe('2026-03-01');
    expect(dateIn('America/Los_Angeles', instant)).toBe('2026-02-28');
    expect(dateIn('Pacific/Kiritimati', instant)).toBe('2026-03-01');
  });
});

describe('a period', () => {
  it.each([
    ['yesterday', '2026-03-01', '2026-02-28', '2026-03-01'],
    ['last_7_days', '2026-03-01', '2026-02-22', '2026-03-01'],
    ['last_1_days', '2026-03-01', '2026-02-28', '2026-03-01'],
    ['month_to_date', '2026-03-02', '2026-03-01', '2026-03-02'],
    ['previous_month', '2026-03-15', '2026-02-01', '2026-03-01'],
    ['previous_month', '2026-01-01', '2025-12-01', '2026-01-01'],
    ['month_to_date', '2026-03-15', '2026-03-01', '2026-03-15'],
    ['month_to_date', '2026-03-01', '2026-02-01', '2026-03-01'],
  ])('%s on %s is %s to %s', (period, today, start_date, end_date) => {
    expect(resolvePeriod(period, today)).toEqual({ start_date, end_date });
  });

  it('is never empty and never includes today', () => {
    const period = fc.oneof(
      fc.constantFrom('yesterday', 'previous_month', 'month_to_date'),
      fc.integer({ min: 1, max: 999 }).map((days) => `last_${days}_days`),
    );
    fc.assert(
      fc.property(period, calendarDate, (name, today) => {
        expect(isPeriod(name)).toBe(true);
        const { start_date, end_date } = resolvePeriod(name, today);
        expect(start_date < end_date && end_date <= today).toBe(true);
      }),
    );
  });

  it('has no other names', () => {
    expect(
      [
        ...['last_0_days', 'last_-1_days', 'last_07_days', 'last_1000_days', 'last__days', 'last_7_days '],
        ...['tomorrow', ' yesterday', 'yesterday\n', 'the_previous_month', 'month_to_dates', ''],
      ].filter(isPeriod),
    ).toEqual([]);
  });
});

it('a time zone has a name, not an offset', () => {
  const names = ['Europe/Berlin', 'UTC', 'Etc/GMT-14'];
  const others = ['+05:30', '-0800', '+14', 'Europe/Atlantis', ' ', ''];
  expect([...names, ...others].filter(isTimeZone)).toEqual(names);
});
