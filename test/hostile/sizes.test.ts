/** Answers that are too large, and compressions that are no good: at /metrics, with their reason. */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { body, reply, stream } from './support/bytes.ts';
import type { Misbehaviour } from './support/hostile-service.ts';
import { accepts, answering, DATA, suffers } from './support/suffer.ts';
import { expectWell, World } from './support/world.ts';

const MIB = 1024 * 1024;

/** Every one of these is the reason malformed. */
function malformed(cases: readonly (readonly [string, Misbehaviour])[]): void {
  test.for(cases)('%s', async ([, behave]) => {
    expect(await suffers({ reason: 'malformed', ...answering(behave) })).toEqual([]);
  });
}

describe('an answer is too large when', () => {
  malformed([
    ['it has 50,001 rows', body((good) => withRows(good, 50_001))],
    ['it is longer than 8 MiB', body((good) => good + ' '.repeat(8 * MIB))],
    ['gzip makes it longer than 8 MiB', gzipped((good) => good + ' '.repeat(8 * MIB))],
    ['gzip makes it 300 MiB', reply(200, gzip(gzipSync(Buffer.alloc(300 * MIB, 32))))],
    ['gzip in a thousand parts makes it so', reply(200, gzip(bombInParts()))],
    ['gzip is a bomb with another inside', reply(200, gzip(gzipSync(bombInParts())))],
    [
      'a string in it is',
      body(`{"metadata":{"aggregation":"${'a'.repeat(8 * MIB)}"},"result":[]}`),
    ],
  ]);

  test.for([
    ['with its length announced', 'content-length: 1099511627776\r\n'],
    ['to the end of the connection', ''],
  ])('it has ten million rows, %s: it is cut off on the way', async ([, length]) => {
    await using world = await World.create();
    await world.start();
    let mostBytes = 0;
    world.service.misbehave(
      DATA,
      stream(function* millionsOfRows({ socket }) {
        yield `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${length}\r\n`;
        yield '{"metadata":{"aggregation":"minute"},"result":[';
        const rows = '{"key":1,"in":1,"out":1,"value":1},'.repeat(1000);
        for (let thousand = 0; thousand < 10_000; thousand += 1) {
          yield rows;
          mostBytes = Math.max(mostBytes, socket.bytesWritten);
        }
        yield '{"key":1,"in":1,"out":1,"value":1}]}';
      }),
    );
    await world.turn();
    // What was in the buffers of both sides comes on top.
    expect(mostBytes).toBeGreaterThan(8 * MIB);
    expect(mostBytes).toBeLessThan(32 * MIB);
    world.service.heal();
    await world.turn();
    await expectWell(world);
  });

  test('it has millions of rows at every poll', async () => {
    const rows = '{"key":1,"in":1,"out":1,"value":1},'.repeat(1000);
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{"result":[';
    expect(
      await suffers({
        reason: 'malformed',
        ...answering(
          stream(function* endlessRows() {
            yield head;
            for (;;) {
              yield rows;
            }
          }),
        ),
      }),
    ).toEqual([]);
  });
});

describe('a compression is no good when it', () => {
  malformed([
    ['was not asked for: br', encoded('br', (good) => brotliCompressSync(good))],
    ['was not asked for: deflate', encoded('deflate', (good) => deflateSync(good))],
    ['was not asked for: two', encoded('gzip, gzip', (good) => gzipSync(gzipSync(good)))],
    ['is unknown', encoded('rot13', (good) => good)],
    ['is not there', encoded('gzip', (good) => good)],
    ['is cut off', encoded('gzip', (good) => gzipSync(good).subarray(0, -9))],
    ['is damaged', encoded('gzip', (good) => gzipSync(good).fill(0, 20, 40))],
    ['has a wrong checksum', encoded('gzip', (good) => withWrongChecksum(good))],
    ['is empty', encoded('gzip', () => '')],
    ['is not told', body((good) => gzipSync(good))],
  ]);

  test('is gzip, all is well', async () => {
    expect(await accepts(encoded('gzip', (good) => gzipSync(good)))).toEqual([]);
    expect(await accepts(encoded('X-GZIP', (good) => gzipSync(good)))).toEqual([]);
  });
});

function gzip(content: Uint8Array): { headers: Record<string, string>; body: Uint8Array } {
  return { headers: { 'content-encoding': 'gzip' }, body: content };
}

function gzipped(content: (good: string) => string): Misbehaviour {
  return encoded('gzip', (good) => gzipSync(content(good)));
}

function encoded(coding: string, content: (good: string) => string | Uint8Array): Misbehaviour {
  return reply(200, {
    headers: { 'content-encoding': coding },
    body: ({ good }) => content(good),
  });
}

function withWrongChecksum(good: string): Uint8Array {
  const zipped = gzipSync(good);
  // The last eight bytes are checksum and length (RFC 1952, 2.3.1).
  return zipped.fill(1, zipped.length - 8, zipped.length - 4);
}

/** Many members of gzip, one after the other, as RFC 1952 allows. */
function bombInParts(): Uint8Array {
  const part = gzipSync(Buffer.alloc(16 * 1024, 32));
  return Buffer.concat(Array.from({ length: 1000 }, () => part));
}

function withRows(good: string, count: number): string {
  const [row] = /\{"key":[^}]*\}/.exec(good) ?? ['{"key":1,"in":0,"out":0,"value":0}'];
  return good.replace(/"result":.*/, `"result":[${`${row},`.repeat(count - 1)}${row}]}`);
}
