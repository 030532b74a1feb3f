import { type Html, html } from './html.ts';

/** 1 is `1 day`, and 1200 are `1,200 days`. */
export function count(many: number, one: string, several = `${one}s`): string {
  return `${formatNumber(String(many))} ${many === 1 ? one : several}`;
}

/** `1634.250000` is `1,634.25`: every digit that says something. */
export function formatNumber(decimal: string): string {
  return groupDigits(decimal.replace(/\.0+$|(\.\d*?)0+$/, '$1'));
}

/** @param unit of a metric: a currency, or `money` if no currency is known */
export function isMoney(unit: string | undefined): boolean {
  return unit !== undefined && !/^(count|number|ratio)$/.test(unit);
}

/** Money has two digits after the point. If they are not all that it has, the element's value is exact. */
export function showNumber(decimal: string, unit: string | undefined): string | Html {
  if (!isMoney(unit)) return formatNumber(decimal);
  const shown = toCents(decimal);
  const isExact = formatNumber(shown) === formatNumber(decimal);
  return isExact ? shown : html`<data value="${decimal}">${shown}</data>`;
}

function toCents(decimal: string): string {
  const rounded = Number(decimal).toFixed(2);
  return groupDigits(rounded === '-0.00' ? '0.00' : rounded);
}

/** A sum with two digits after the point at most; money has always two. The element's value is exact. */
export function shortNumber(decimal: string, unit: string | undefined): Html {
  const isLong = decimal.includes('.') && Math.abs(Number(decimal)) >= 1;
  const shown = isMoney(unit) || isLong ? toCents(decimal) : formatNumber(decimal);
  return html`<data value="${decimal}">${shown}</data>`;
}

function groupDigits(decimal: string): string {
  return decimal.replace(/(?<!\.\d*)\B(?=(\d{3})+(?!\d))/g, ',');
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `2026-10` or a day of it is `Oct`. */
export function monthName(date: string): string {
  return MONTHS[Number(date.slice(5, 7)) - 1] ?? '';
}
