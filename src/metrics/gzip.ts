/**
 * One gzip stream out of two pieces that are compressed apart: the customers' lines, compressed once
 * for as long as they do not change, and the exporter's own, different at every scrape. Two members
 * one after the other would be simpler, but not every client reads beyond the first.
 *
 * A piece that ends with a sync flush ends at a whole byte without ending the stream (RFC 1951), and
 * a CRC can be carried on from one piece to the next (RFC 1952, 2.3.1).
 */
import { promisify } from 'node:util';
import { constants, crc32, deflateRaw } from 'node:zlib';

const deflate = promisify(deflateRaw);

/** The first piece of a stream. */
export interface CompressedStart {
  readonly deflated: Uint8Array;
  readonly crc: number;
  /** Before compression. */
  readonly bytes: number;
}

/** Magic number, deflate, no flags, no time, fastest, unknown system: the same bytes each time. */
const HEADER = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255);

/** What level 6 saves beyond level 1 is a tenth of the bytes, for four times the work. */
const LEVEL = 1;

/** Compresses, on the thread pool, what a stream begins with. */
export async function compressStart(plain: Uint8Array): Promise<CompressedStart> {
  const deflated = await deflate(plain, {
    level: LEVEL,
    chunkSize: chunkSizeFor(plain),
    finishFlush: constants.Z_SYNC_FLUSH,
  });
  return { deflated, crc: crc32(plain), bytes: plain.length };
}

/** The whole stream: `start`, then `rest`, which is compressed here. */
export async function gzipWithRest(start: CompressedStart, rest: Uint8Array): Promise<Uint8Array> {
  const end = await deflate(rest, { level: LEVEL, chunkSize: chunkSizeFor(rest) });
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc32(rest, start.crc), 0);
  trailer.writeUInt32LE((start.bytes + rest.length) % 2 ** 32, 4);
  return Buffer.concat([HEADER, start.deflated, end, trailer]);
}

/** Each chunk of the result is a turn of the thread pool: few for much, without much for little. */
function chunkSizeFor(plain: Uint8Array): number {
  return Math.min(Math.max(plain.length >> 3, 16 * 1_024), 1_024 * 1_024);
}
