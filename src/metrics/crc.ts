/**
 * The CRC-32 of two pieces one after the other, from the CRC of each: 18 MB need not be read for it
 * at every scrape. A CRC is a remainder of polynomials over GF(2) (RFC 1952, 8): what follows n bytes
 * multiplies what was before by x^8n.
 *
 * Polynomials are numbers of 32 bits, the highest power in the lowest bit, as the CRC itself.
 */

/** x^32 modulo the polynomial of the CRC. */
const POLYNOMIAL = 0xedb88320;
/** The polynomial 1. */
const ONE = 0x80000000;
/** x^8. */
const BYTE = 0x00800000;

/** What {@link combineCrc} needs of a piece of so many bytes. */
export function shiftOf(bytes: number): number {
  let shift = ONE;
  let square = BYTE;
  for (let left = bytes; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) {
      shift = multiply(shift, square);
    }
    square = multiply(square, square);
  }
  return shift;
}

/** The CRC of two pieces: `before` of the first, `crc` of the second and its shift. */
export function combineCrc(before: number, shift: number, crc: number): number {
  return (multiply(before, shift) ^ crc) >>> 0;
}

function multiply(a: number, b: number): number {
  let product = 0;
  let power = b;
  for (let left = a | 0; left !== 0; left <<= 1) {
    // The lowest power that is left stands in the highest bit, which is the sign.
    if (left < 0) {
      product ^= power;
    }
    power = (power & 1) === 0 ? power >>> 1 : (power >>> 1) ^ POLYNOMIAL;
  }
  return product >>> 0;
}
