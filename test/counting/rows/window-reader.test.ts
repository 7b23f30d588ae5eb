import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/base/duration.ts';
import { ServiceError } from '../../../src/base/errors.ts';
import { isForced, readChunks, WindowReader } from '../../../src/counting/rows/window-reader.ts';
import { sumChunks } from '../../../src/counting/totals/period-total.ts';
import { COPENHAGEN, NOW_MS } from '../../support/owner.ts';
import { queryFrom, responseOf } from '../../support/responses.ts';

test.each([
  ['are all sent', undefined, 2],
  ['end with the first one that fails', 'timeout', 1],
] as const)('optional requests %s', async (_, reason, count) => {
  const necessities: unknown[] = [];
  const reader = new WindowReader({
    query(_question, necessity) {
      necessities.push(necessity);
      return reason === undefined
        ? Promise.resolve(responseOf({}, 'minute'))
        : Promise.reject(new ServiceError(reason, 'no response'));
    },
    stream: 'people',
    zone: COPENHAGEN,
    nowMs: () => NOW_MS,
  });
  for (let i = 0; i < 2; i++) {
    const response = await reader.readOptional('minute', NOW_MS - 60_000);
    expect(response !== undefined).toBe(count === 2);
  }
  expect(necessities).toEqual(Array(count).fill('optional'));
});

/** Times of records beside whole minutes, where windows begin and end. */
const anyTimes = fc.array(
  fc.record({ minute: fc.nat(20 * 24 * 60), ms: fc.constantFrom(-1, 0, 0, 0, 1, 30_000) }),
  { maxLength: 40 },
);

test('a window and its parts count every record once, whatever edges they include', async () => {
  const anyCase = fc.record({
    includesFrom: fc.boolean(),
    includesTo: fc.boolean(),
    isOpen: fc.boolean(),
    minutes: fc.oneof(
      fc.integer({ min: 31, max: 300 }),
      fc.integer({ min: 1, max: 24 * 60 }),
      fc.integer({ min: 1, max: 20 * 24 * 60 }),
    ),
    maxMs: fc.oneof(fc.constant(HOUR_MS), fc.constant(12 * HOUR_MS), fc.constant(3 * DAY_MS)),
    maxRows: fc.integer({ min: 2, max: 12 }),
    times: anyTimes,
  });
  let parts = 0;
  await fc.assert(
    fc.asyncProperty(anyCase, async (drawn) => {
      const { includesFrom, includesTo, isOpen, minutes, maxMs, maxRows } = drawn;
      const startMs = COPENHAGEN.instantOfWall(Date.UTC(2026, 9, 15, 4));
      const endMs = startMs + minutes * MINUTE_MS;
      const recordsMs = drawn.times
        .map(({ minute, ms }) => startMs + (minute % (minutes + 2)) * MINUTE_MS + ms)
        .filter((atMs) => isOpen || atMs <= endMs);
      function served(fromMs: number, toMs: number): readonly number[] {
        return recordsMs.filter(
          (atMs) =>
            (includesFrom ? atMs >= fromMs : atMs > fromMs) &&
            (includesTo ? atMs <= toMs : atMs < toMs),
        );
      }
      const reader = new WindowReader({
        query: queryFrom(({ from, to }) => {
          const rows = served(Date.parse(from), to === undefined ? Infinity : Date.parse(to));
          const lengthOfWindowMs =
            Date.parse(to ?? new Date(endMs).toISOString()) - Date.parse(from);
          const isTooLong = rows.length > maxRows || lengthOfWindowMs > maxMs;
          return {
            aggregation: isTooLong ? 'day' : 'minute',
            rows: rows.map((atMs) => ({ key: atMs, counts: [1, 0] })),
          };
        }),
        stream: 'people',
        zone: COPENHAGEN,
        nowMs: () => endMs,
      });
      const toMs = isOpen ? undefined : endMs;
      const whole = await reader.read('minute', startMs, toMs);
      const chunks = await readChunks(
        whole,
        (from, to) => reader.read('minute', from, to),
        isForced,
      );
      parts += (chunks?.length ?? 0) > 1 ? 1 : 0;
      const expected = served(startMs, isOpen ? Infinity : endMs).length;
      expect(sumChunks(chunks ?? [])).toEqual([expected, 0]);
      expect(chunks?.filter((chunk) => isForced(chunk))).toEqual([]);
    }),
    { seed: 46, numRuns: 400 },
  );
  expect(parts).toBeGreaterThan(100);
});
