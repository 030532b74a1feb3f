import { count as countPlain } from '../../../functions/workflow/count.ts';

const exact = new Intl.NumberFormat('en', { maximumFractionDigits: 6 });
const cents = new Intl.NumberFormat('en', {
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
  signDisplay: 'negative',
});

/** 1 is `1 day`, and 1200 are `1,200 days`. */
export function formatCount(many: number, one: string): string {
  return countPlain(many, one, exact.format(many));
}

/** @param unit of a metric: a currency, or `money` if no currency is known, has two digits after the point */
export function formatNumber(value: number, unit = 'count'): string {
  return (isMoney(unit) ? cents : exact).format(value);
}

/** A difference of sums, whose cents may be zero although it is not. */
export function formatDifference(value: number, unit?: string): string {
  const text = formatNumber(value, unit);
  return value !== 0 && Number(text.replaceAll(',', '')) === 0 ? 'less than 0.01' : text;
}

/** `(EUR)` beside the metric's name. Counts, and money of an unknown currency, have none. */
export function nameUnit(unit = 'count'): string {
  return isMoney(unit) && unit !== 'money' ? `(${unit})` : '';
}

function isMoney(unit: string): boolean {
  return !/^(count|number|ratio)$/.test(unit);
}

const months = new Intl.DateTimeFormat('en', { month: 'short', timeZone: 'UTC' });

/** `2026-10` or a day of it is `Oct`. */
export function monthName(date: string): string {
  return months.format(new Date(date));
}

/** Such as `26 Oct`. */
export function dayName(date: string): string {
  return `${Number(date.slice(8))} ${monthName(date)}`;
}
