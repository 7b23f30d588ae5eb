/**
 * A long answer, written from the parts that it is made of: a copy of 18 MB into one would take twice
 * the time of the writing. A slow reader holds up the parts that are left, nothing else.
 */
import type { ServerResponse } from 'node:http';

/** Handed to the socket at once: more than its buffer takes, so that a reader need not wait for our turn. */
const BYTES_OF_A_TURN = 4 * 1_024 * 1_024;

export function bytesOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

/** Writes the parts and ends the answer; returns early if the reader has gone. */
export async function writeParts(
  response: ServerResponse,
  parts: readonly Uint8Array[],
): Promise<void> {
  let bytes = 0;
  response.cork();
  for (const part of parts) {
    response.write(part);
    bytes += part.length;
    if (bytes >= BYTES_OF_A_TURN) {
      response.uncork();
      await drained(response);
      if (response.destroyed) {
        return;
      }
      response.cork();
      bytes = 0;
    }
  }
  response.end();
  response.uncork();
}

/** Until the reader has taken what was written, or has gone. */
async function drained(response: ServerResponse): Promise<void> {
  if (response.writableNeedDrain && !response.destroyed) {
    await new Promise<void>((resolve) => {
      function done(): void {
        response.off('drain', done);
        response.off('close', done);
        resolve();
      }
      response.on('drain', done);
      response.on('close', done);
    });
  }
}
