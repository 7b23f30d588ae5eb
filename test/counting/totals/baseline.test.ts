import { expect, test } from 'vitest';
import { createBaseline, verifiedSource } from '../../../src/counting/totals/baseline.ts';
import type { BaselineReadings } from '../../../src/counting/totals/baseline.ts';
import { BY_DAY } from '../../../src/counting/totals/period-total.ts';
import type { TotalSource } from '../../../src/counting/totals/period-total.ts';
import { NOW_MS } from '../../support/owner.ts';
import { MINUTE_MS, StreamFixture } from '../fixture.ts';

/** Entries of one window by an aggregation. */
function response(entered: number, aggregation = 'minute') {
  const window = { startMs: NOW_MS, endMs: NOW_MS };
  return { aggregation, rows: [], sums: [entered], window, toMs: undefined };
}

/** A day of 40, of whom 5 came in the last minutes, read by `day`. */
const AGREEING: BaselineReadings = {
  recentBefore: response(5),
  total: response(400, 'day'),
  source: BY_DAY,
  todayByMinute: response(40),
  comparison: { byMinute: response(40), coarse: response(40, 'day') },
  recentAtBaseline: response(5),
};

function compared(
  byMinute: number,
  coarse: number,
  aggregation = 'day',
): Partial<BaselineReadings> {
  return { comparison: { byMinute: response(byMinute), coarse: response(coarse, aggregation) } };
}

const BY_MINUTE: TotalSource = { kind: 'minutes', aggregation: 'minute' };
const VERIFIED: TotalSource = { kind: 'verified', aggregation: 'day' };
/** All of the last minutes' people, who are not in today's minutes. */
const RECENT_ONLY = { recentBefore: response(41), recentAtBaseline: response(41) };

test.each<[string, Partial<BaselineReadings>, TotalSource | undefined]>([
  ['has all of the minutes', {}, VERIFIED],
  [
    'has who came while it was read',
    { ...compared(40, 42), recentAtBaseline: response(7) },
    VERIFIED,
  ],
  ['is read when they are answered by day', { recentBefore: response(40, 'day') }, BY_DAY],
  ['is read by minute', { source: BY_MINUTE, comparison: undefined }, BY_MINUTE],
  ['lacks some', compared(40, 39), undefined],
  ['is compared with forced quarters', compared(40, 40, 'quarter'), undefined],
  ['lacks some of the last minutes, as today does', RECENT_ONLY, undefined],
])('a total that %s', (_, readings, source) => {
  expect(verifiedSource({ ...AGREEING, ...readings })).toEqual(source);
});

/** The day has one count, and the last minutes were empty twice. Times are minutes from now. */
test.each([
  ['before the last minutes', -16, true],
  ['in their first minute', -15, false],
  ['in the minute that starts now', 0, false],
])('a baseline can be used again: somebody came %s', (_, seenAt, isReusable) => {
  const context = new StreamFixture({ records: [] }).context();
  const day = context.calendar.dayAt(NOW_MS);
  const key = new Date(NOW_MS + seenAt * MINUTE_MS).toISOString();
  const window = { startMs: NOW_MS - 15 * MINUTE_MS, endMs: NOW_MS };
  const minutes = { ...response(1), rows: [{ key, counts: [1, 0] }], window: day };
  const readings = {
    ...AGREEING,
    todayByMinute: minutes,
    recentBefore: { ...response(0), window },
    recentAtBaseline: { ...response(0), window },
  };
  const baseline = createBaseline(context, day, readings, [minutes], NOW_MS);
  expect(baseline.isReusable).toBe(isReusable);
});

test('a baseline cannot be used again if its last minutes start in the future: the clock was set back', () => {
  const context = new StreamFixture({ records: [] }).context();
  const day = context.calendar.dayAt(NOW_MS);
  const minutes = { ...response(0), window: day };
  const reusable = [0, 1].map((aheadMs) => {
    const window = { startMs: NOW_MS + aheadMs, endMs: NOW_MS + MINUTE_MS };
    const readings = {
      ...AGREEING,
      todayByMinute: minutes,
      recentBefore: { ...response(0), window },
      recentAtBaseline: { ...response(0), window },
    };
    return createBaseline(context, day, readings, [minutes], NOW_MS).isReusable;
  });
  expect(reusable).toEqual([true, false]);
});
