/**
 * One gzip stream from chunks that are compressed separately, each once for as long as it lives.
 *
 * Exists for speed alone: compressing the whole text at every scrape takes 70 ms at 280,000 series, which is
 * 0.18 of pushgateway's time; with compressed chunks the scrape takes 13 ms (bench/scrape.ts). zlib
 * does all the work. One gzip member per chunk would be simpler, but curl fails at the second one.
 */
import { constants, crc32, deflateRawSync } from 'node:zlib';

/** Level 6 saves a tenth of the bytes for four times the work. */
const LEVEL = 1;

/** Magic number, deflate, no flags, no time, fastest level, unknown system (RFC 1952). */
const HEADER = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255);

const encoder = new TextEncoder();

/** A text that never changes. */
export class Chunk {
  readonly plain: Uint8Array;
  #deflated: Uint8Array | undefined;

  constructor(text: string) {
    // Not Buffer.from: that gives a slice of 64 KiB, all of which stay in memory with it.
    this.plain = encoder.encode(text);
  }

  /** A sync flush ends it at a whole byte, so that another chunk can follow (RFC 1951). */
  deflated(): Uint8Array {
    this.#deflated ??= deflate(this.plain, constants.Z_SYNC_FLUSH);
    return this.#deflated;
  }
}

/** Returns the gzip stream of the chunks one after the other. */
export function joinGzip(chunks: readonly Chunk[]): Uint8Array {
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(
    chunks.reduce((crc, { plain }) => crc32(plain, crc), 0),
    0,
  );
  trailer.writeUInt32LE(chunks.reduce((sum, { plain }) => sum + plain.length, 0) % 2 ** 32, 4);
  const end = deflate(new Uint8Array(0), constants.Z_FINISH);
  return Buffer.concat([HEADER, ...chunks.map((chunk) => chunk.deflated()), end, trailer]);
}

function deflate(plain: Uint8Array, finishFlush: number): Uint8Array {
  // Copied: the result is a view of a whole output buffer, which would stay in memory.
  return new Uint8Array(deflateRawSync(plain, { level: LEVEL, finishFlush }));
}
