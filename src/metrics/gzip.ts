/**
 * One gzip stream from chunks that are compressed separately, each once for as long as it lives.
 *
 * For speed alone: compressing the whole text at every scrape takes 70 ms at 280,000 series, which is
 * 0.18 of pushgateway's time; joining compressed chunks takes 5 ms, and 20 ms with a checksum of the
 * whole text in place of the chunks' (bench/scrape.ts). One gzip member per chunk would be simpler, but
 * curl fails at the second one.
 */
import { constants, crc32, deflateRawSync } from 'node:zlib';

/** Level 6 saves a tenth of the bytes for four times the work. */
const LEVEL = 1;

/** Magic number, deflate, no flags, no time, fastest level, unknown system (RFC 1952). */
const HEADER = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255);

interface Compressed {
  readonly deflated: Uint8Array;
  readonly crc: number;
  /** x^8n, n the number of bytes: by this the CRC of what is before is multiplied. */
  readonly shift: number;
}

/** Bytes that never change. */
export class Chunk {
  readonly plain: Uint8Array;
  #compressed: Compressed | undefined;

  constructor(plain: Uint8Array) {
    this.plain = plain;
  }

  compressed(): Compressed {
    this.#compressed ??= {
      // A sync flush ends it at a whole byte, so that another chunk can follow (RFC 1951).
      deflated: deflate(this.plain, constants.Z_SYNC_FLUSH),
      crc: crc32(this.plain),
      shift: powerOfByte(this.plain.length),
    };
    return this.#compressed;
  }
}

/** The gzip stream of the chunks one after the other. */
export function joinGzip(chunks: readonly Chunk[]): Uint8Array {
  const parts = chunks.map((chunk) => chunk.compressed());
  const crc = parts.reduce((before, { crc: own, shift }) => multiply(before, shift) ^ own, 0);
  const bytes = chunks.reduce((sum, { plain }) => sum + plain.length, 0);
  const trailer = Buffer.alloc(8);
  trailer.writeInt32LE(crc, 0);
  trailer.writeUInt32LE(bytes % 2 ** 32, 4);
  const end = deflate(new Uint8Array(0), constants.Z_FINISH);
  return Buffer.concat([HEADER, ...parts.map(({ deflated }) => deflated), end, trailer]);
}

function deflate(plain: Uint8Array, finishFlush: number): Uint8Array {
  // Copied: the result is a view of a whole output buffer, which would stay in memory.
  return new Uint8Array(deflateRawSync(plain, { level: LEVEL, finishFlush }));
}

/*
 * A CRC-32 is a polynomial over GF(2), modulo the one of RFC 1952. It is written as a number whose
 * highest bit is the constant term and whose lowest bit belongs to x^31.
 */
const POLYNOMIAL = 0xedb88320;
const ONE = 0x80000000;
const X_TO_THE_8 = 0x00800000;

/** By squaring. */
function powerOfByte(exponent: number): number {
  let power = ONE;
  let square = X_TO_THE_8;
  for (let rest = exponent; rest > 0; rest = Math.floor(rest / 2)) {
    power = rest % 2 === 1 ? multiply(power, square) : power;
    square = multiply(square, square);
  }
  return power;
}

function multiply(a: number, b: number): number {
  let product = 0;
  let shifted = b;
  for (let bits = a; bits !== 0; bits <<= 1) {
    // The highest bit, which is the sign.
    product = bits >> 31 === 0 ? product : product ^ shifted;
    shifted = (shifted & 1) === 0 ? shifted >>> 1 : (shifted >>> 1) ^ POLYNOMIAL;
  }
  return product;
}
