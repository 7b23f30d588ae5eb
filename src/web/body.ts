/**
 * A long answer as a stream. Its parts are joined as the reader takes them: a slow one holds up a
 * chunk, not a copy of the whole.
 */
import { Readable } from 'node:stream';

/** Few enough bytes to be copied in no time, and enough for one turn of the socket. */
const CHUNK_BYTES = 256 * 1_024;

/** `bytes` is the length of the whole. */
export interface Body {
  readonly bytes: number;
  readonly stream: Readable;
}

export function bodyOf(parts: readonly Uint8Array[]): Body {
  return {
    bytes: parts.reduce((sum, { length }) => sum + length, 0),
    stream: Readable.from(chunksOf(parts), { objectMode: false }),
  };
}

function* chunksOf(parts: readonly Uint8Array[]): Generator<Uint8Array> {
  let chunk: Uint8Array[] = [];
  let bytes = 0;
  for (const part of parts) {
    chunk.push(part);
    bytes += part.length;
    if (bytes >= CHUNK_BYTES) {
      yield Buffer.concat(chunk, bytes);
      chunk = [];
      bytes = 0;
    }
  }
  if (bytes > 0) {
    yield Buffer.concat(chunk, bytes);
  }
}
