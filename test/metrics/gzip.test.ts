import { crc32 } from 'node:zlib';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { combineCrc, shiftOf } from '../../src/metrics/gzip.ts';

test('the CRC of pieces, combined one after the other, is that of the whole', () => {
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.integer({ min: 1_000, max: 70_000 }).map((length) => Buffer.alloc(length, length)),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
      const combined = pieces.reduce(
        (crc, one) => combineCrc(crc, shiftOf(one.length), crc32(one)),
        0,
      );
      expect(combined).toBe(crc32(Buffer.concat(pieces)));
    }),
  );
});
