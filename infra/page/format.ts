/** 1 is `1 day`, and 1200 are `1,200 days`. */
export function count(many: number, one: string, several = `${one}s`): string {
  return `${formatNumber(String(many))} ${many === 1 ? one : several}`;
}

/** `1634.250000` is `1,634.25`: every digit that says something. */
export function formatNumber(decimal: string): string {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(decimal) ?? [];
  if (whole === '') return decimal;
  const kept = fraction.replace(/0+$/, '');
  return `${sign}${whole.replace(/\B(?=(\d{3})+$)/g, ',')}${kept === '' ? '' : `.${kept}`}`;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `2026-10` or a day of it is `Oct`. */
export function monthName(date: string): string {
  return MONTHS[Number(date.slice(5, 7)) - 1] ?? '';
}
