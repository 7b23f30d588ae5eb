import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ServiceError } from '../../src/base/errors.ts';
import type { AggregatedResponse } from '../../src/base/model.ts';
import { decodeAggregated } from '../../src/service/decode.ts';
import { peopleAnswer } from './support/fake-service.ts';

const GOOD = peopleAnswer([
  { key: '2026-11-01T10:00', in: 3, out: 1 },
  { key: 1_793_523_600, in: 12, out: 0 },
]);

const bytesChanged = fc
  .array(
    fc.record({
      at: fc.nat(1_000),
      remove: fc.nat(3),
      insert: fc.oneof(
        fc.uint8Array({ maxLength: 3 }),
        fc.stringMatching(/^[0-9{}[\]",:.eE-]{1,3}$/).map((text) => Buffer.from(text)),
      ),
    }),
    { minLength: 1, maxLength: 3 },
  )
  .map((edits) =>
    edits.reduce(
      (body, { at, remove, insert }) => {
        const place = at % (body.length + 1);
        return Buffer.concat([body.subarray(0, place), insert, body.subarray(place + remove)]);
      },
      Buffer.from(JSON.stringify(GOOD)),
    ),
  );

/** What the answer says, read without any of the client's checks. */
function readPlainly(body: Buffer): AggregatedResponse {
  const { metadata, result } = JSON.parse(body.toString().replace(/^\ufeff/, '')) as {
    metadata: { aggregation: string };
    result: { key: string | number; in: number; out: number }[];
  };
  return {
    aggregation: metadata.aggregation.toLowerCase(),
    rows: result.map((row) => ({ key: row.key, counts: [row.in, row.out] })),
  };
}

/** The decoded answer, undefined if it is malformed. Any other error is a failure of the test. */
function decoded(body: Buffer): AggregatedResponse | undefined {
  try {
    return decodeAggregated('peoplecount', { contentType: 'application/json', body }, []);
  } catch (error) {
    if (error instanceof ServiceError && error.reason === 'malformed' && error.status === 200) {
      return undefined;
    }
    throw error;
  }
}

test('a good answer with changed bytes is decoded as it is written, or is malformed', () => {
  const outcomes = { decoded: 0, malformed: 0 };
  fc.assert(
    fc.property(bytesChanged, (body) => {
      const response = decoded(body);
      outcomes[response === undefined ? 'malformed' : 'decoded'] += 1;
      expect(response).toEqual(response && readPlainly(body));
      const rows = response?.rows ?? [];
      expect(rows.every(({ key }) => typeof key === 'string' || Number.isSafeInteger(key))).toBe(
        true,
      );
      const counts = rows.flatMap((row) => row.counts);
      expect(counts.every((count) => Number.isSafeInteger(count) && count >= 0)).toBe(true);
    }),
    { numRuns: 3_000 },
  );
  // Neither branch is tested in name only.
  expect(Math.min(outcomes.decoded, outcomes.malformed)).toBeGreaterThan(100);
});
