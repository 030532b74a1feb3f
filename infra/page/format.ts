import { type Html, html } from './html.ts';

type Decimal = `${number}`;

// Decimal texts keep every digit.
const exact = new Intl.NumberFormat('en', { maximumFractionDigits: 20 });
const cents = new Intl.NumberFormat('en', {
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
  signDisplay: 'negative',
});

/** 1 is `1 day`, and 1200 are `1,200 days`. */
export function count(many: number, one: string, several = `${one}s`): string {
  return `${formatNumber(String(many))} ${many === 1 ? one : several}`;
}

/** `1634.250000` is `1,634.25`: every digit that says something. */
export function formatNumber(decimal: string): string {
  return exact.format(decimal as Decimal);
}

/** @param unit of a metric: a currency, or `money` if no currency is known */
export function isMoney(unit: string | undefined): boolean {
  return unit !== undefined && !/^(count|number|ratio)$/.test(unit);
}

/** Money has two digits after the point. If they are not all that it has, the element's value is exact. */
export function showNumber(decimal: string, unit: string | undefined): string | Html {
  if (!isMoney(unit)) return formatNumber(decimal);
  const shown = cents.format(decimal as Decimal);
  const isExact = Number(shown.replaceAll(',', '')) === Number(decimal);
  return isExact ? shown : html`<data value="${decimal}">${shown}</data>`;
}

const months = new Intl.DateTimeFormat('en', { month: 'short', timeZone: 'UTC' });

/** `2026-10` or a day of it is `Oct`. */
export function monthName(date: string): string {
  return months.format(new Date(date));
}
