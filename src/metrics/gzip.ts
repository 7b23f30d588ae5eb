/**
 * One gzip stream out of many pieces that are compressed apart, each once for as long as it does not
 * change. This is clever, and only for speed: to compress what 10,000 customers show takes a tenth of a
 * second, to join its pieces a millisecond (bench/scrape.ts), for a twelfth more bytes. Tests unpack it after
 * random histories.
 *
 * A piece that ends with a sync flush ends at a whole byte without ending the stream (RFC 1951), so
 * that pieces can stand one after the other. Members one after the other would be simpler, but not
 * every client reads beyond the first.
 */
import { constants, crc32, deflateRawSync } from 'node:zlib';
import { nextTurn } from '../base/clock.ts';

/** Magic number, deflate, no flags, no time, fastest, unknown system: the same bytes each time. */
const HEADER = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255);

/** What level 6 saves beyond level 1 is a tenth of the bytes, for four times the work. */
const LEVEL = 1;

/** So many bytes are compressed in one or two milliseconds. */
const BYTES_OF_A_TURN = 512 * 1_024;

interface Packed {
  readonly deflated: Uint8Array;
  readonly crc: number;
  /** What the CRC of everything before the piece is multiplied by. */
  readonly shift: number;
}

/** Bytes that never change, and their compressed form once it was asked for. */
export class Piece {
  readonly plain: Uint8Array;
  #packed: Packed | undefined;

  constructor(plain: Uint8Array) {
    this.plain = plain;
  }

  get isPacked(): boolean {
    return this.#packed !== undefined;
  }

  packed(): Packed {
    this.#packed ??= {
      deflated: deflate(this.plain, constants.Z_SYNC_FLUSH),
      crc: crc32(this.plain),
      shift: shiftOf(this.plain.length),
    };
    return this.#packed;
  }
}

/** The first part of a stream. */
export interface CompressedStart {
  readonly deflated: readonly Uint8Array[];
  readonly crc: number;
  /** Before compression. */
  readonly bytes: number;
}

/** Compresses those that are not, and lets others run in between. */
export async function packAll(pieces: Iterable<Piece>): Promise<void> {
  let bytes = 0;
  for (const piece of pieces) {
    if (!piece.isPacked) {
      piece.packed();
      bytes += piece.plain.length;
    }
    if (bytes >= BYTES_OF_A_TURN) {
      bytes = 0;
      await nextTurn();
    }
  }
}

/** What a stream begins with. */
export async function compressStart(pieces: readonly Piece[]): Promise<CompressedStart> {
  await packAll(pieces);
  let crc = 0;
  let bytes = 0;
  const deflated = pieces.map((piece) => {
    const packed = piece.packed();
    crc = combineCrc(crc, packed.shift, packed.crc);
    bytes += piece.plain.length;
    return packed.deflated;
  });
  return { deflated, crc, bytes };
}

/** The whole stream: `start`, then `rest`, which is compressed here. In this order the parts are it. */
export function gzipWithRest(start: CompressedStart, rest: Uint8Array): readonly Uint8Array[] {
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc32(rest, start.crc), 0);
  trailer.writeUInt32LE((start.bytes + rest.length) % 2 ** 32, 4);
  return [HEADER, ...start.deflated, deflate(rest, constants.Z_FINISH), trailer];
}

function deflate(plain: Uint8Array, finishFlush: number): Uint8Array {
  const chunkSize = Math.max(1_024, plain.length >> 2);
  // Copied, for what comes back keeps the whole chunk that it was written into.
  return new Uint8Array(deflateRawSync(plain, { level: LEVEL, chunkSize, finishFlush }));
}

/*
 * The CRC-32 of pieces one after the other, from the CRC of each: 18 MB need not be read for it at
 * every scrape. A CRC is a remainder of polynomials over GF(2) (RFC 1952, 8): n bytes that follow
 * multiply what was before by x^8n. Polynomials are numbers of 32 bits, the highest power in the
 * lowest bit, as the CRC itself.
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
