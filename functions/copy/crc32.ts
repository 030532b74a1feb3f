/**
 * Derives the CRC32 of a whole from the CRC32s of its parts, so that no byte is read twice. A CRC is a
 * polynomial modulo P. Appending n bytes multiplies it by x^8n, which takes some 60 multiplications.
 */

/** P with its bits reversed, as in CRC32: bit 31 is the coefficient of x^0. */
const P = 0xedb88320;
const ONE = 0x80000000;
const X = 0x40000000;

/** @returns the CRC32 of `first` followed by `second`, where `second` is `bytes` long */
export function combineCrc32(first: number, second: number, bytes: number): number {
  return (multiply(powerOfX(bytes * 8), first) ^ second) >>> 0;
}

/** x^exponent modulo P, by squaring. */
function powerOfX(exponent: number): number {
  let result = ONE;
  let square = X;
  for (let rest = exponent; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) result = multiply(square, result);
    square = multiply(square, square);
  }
  return result;
}

function multiply(a: number, b: number): number {
  let product = 0;
  let shifted = b;
  for (let bit = ONE; bit !== 0; bit >>>= 1) {
    if (a & bit) product ^= shifted;
    shifted = shifted & 1 ? (shifted >>> 1) ^ P : shifted >>> 1;
  }
  return product >>> 0;
}
