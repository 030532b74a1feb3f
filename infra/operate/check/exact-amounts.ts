/**
 * Sums that keep every digit: whole numbers of units, of which one has 10^10, as many as the ledger's
 * decimals.
 */

const DECIMALS = 10;
const ONE = 10n ** BigInt(DECIMALS);

const NUMBER_TEXT = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

const PLAIN = new Intl.NumberFormat('en', {
  minimumFractionDigits: DECIMALS,
  maximumFractionDigits: DECIMALS,
  useGrouping: false,
});

/** @returns undefined if the text is no finite number */
export function parseAmount(text: string): bigint | undefined {
  if (!NUMBER_TEXT.test(text) || !Number.isFinite(Number(text))) return undefined;
  return BigInt(PLAIN.format(text as Intl.StringNumericLiteral).replace('.', ''));
}

/** Such as `-12.5`. */
export function formatAmount(units: bigint): string {
  const size = units < 0n ? -units : units;
  const decimals = String(size % ONE)
    .padStart(DECIMALS, '0')
    .replace(/0+$/, '');
  return `${units < 0n ? '-' : ''}${size / ONE}${decimals && `.${decimals}`}`;
}

/** How many decimals an amount has, from 0 to 10. */
export function countDecimals(units: bigint): number {
  const [, decimals = ''] = formatAmount(units).split('.');
  return decimals.length;
}

/** Half a unit of the last of some decimals, in units. */
export function halfOfLastDigit(decimals: number): number {
  return 10 ** (DECIMALS - decimals) / 2;
}
