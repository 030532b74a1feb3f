/**
 * CRC32 of a whole from the CRC32 of its parts, so that each byte is looked at once. A CRC is a polynomial modulo P:
 * appending n bytes multiplies it by x^8n, which takes some thirty multiplications whatever n is.
 */

/** P, bit-reversed as CRC32 is: bit 31 is the coefficient of x^0. */
const P = 0xedb88320;
const ONE = 0x80000000;

/** x^(2^k) modulo P. The powers repeat after 31, since 2^32 - 1 is a multiple of x's order. */
const SQUARES = squares();

/** @returns the CRC32 of `first` followed by `second`, where `second` is `bytes` long */
export function combineCrc32(first: number, second: number, bytes: number): number {
  return (multiply(power(bytes * 8), first) ^ second) >>> 0;
}

/** As S3 states it: four bytes, big endian, base64. */
export function base64Crc32(crc: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc);
  return bytes.toString('base64');
}

/** x^exponent modulo P. */
function power(exponent: number): number {
  let result = ONE;
  for (let k = 0, rest = exponent; rest > 0; k++, rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) result = multiply(SQUARES[k % 32] ?? ONE, result);
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

function squares(): readonly number[] {
  const list = [ONE >>> 1];
  while (list.length < 32) {
    const last = list.at(-1) ?? ONE;
    list.push(multiply(last, last));
  }
  return list;
}
