import { expect, test } from 'vitest';
import {
  createBaseline,
  verifiedSource,
  verifyBaseline,
} from '../../../src/counting/totals/baseline.ts';
import type { BaselineReadings, Verification } from '../../../src/counting/totals/baseline.ts';
import { BY_DAY } from '../../../src/counting/totals/period-total.ts';
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

test.each([
  ['it has all of the minutes', {}, 'verified'],
  [
    'it has who came while it was read',
    { ...compared(40, 42), recentAtBaseline: response(7) },
    'verified',
  ],
  ['nobody came in the last minutes', { recentBefore: response(0) }, 'unproven'],
  ['the last minutes are answered by day', { recentBefore: response(40, 'day') }, 'unproven'],
  ['it was read by minute', { comparison: undefined }, 'by minute'],
  ['it lacks some', compared(40, 39), 'disagrees'],
  ['it has more than came meanwhile', compared(40, 41), 'disagrees'],
  [
    'it lacks some, and the last minutes lost counts',
    { ...compared(40, 39), recentAtBaseline: response(0) },
    'disagrees',
  ],
  ['the comparison is forced into quarters', compared(40, 40, 'quarter'), 'other aggregation'],
  [
    'today has fewer than its last minutes',
    { recentBefore: response(41), recentAtBaseline: response(41) },
    'lacks recent',
  ],
] as const satisfies readonly (readonly [string, Partial<BaselineReadings>, Verification])[])(
  'a total of which %s',
  (_, readings, verification) => {
    expect(verifyBaseline({ ...AGREEING, ...readings })).toBe(verification);
  },
);

test('a total is used if it agrees; one that is proven stays verified', () => {
  const verified = { kind: 'verified', aggregation: 'day' };
  const unproven = { recentBefore: response(0) };
  expect(verifiedSource(AGREEING)).toEqual(verified);
  expect(verifiedSource({ ...AGREEING, ...unproven })).toEqual(BY_DAY);
  for (const readings of [
    compared(40, 39),
    compared(40, 40, 'quarter'),
    { recentBefore: response(41), recentAtBaseline: response(41) },
  ]) {
    expect(verifiedSource({ ...AGREEING, ...readings })).toBeUndefined();
  }
});

/** The day has one count, and the last minutes were empty twice. Times are minutes from now. */
test.each([
  ['before the last minutes', -16, true],
  ['in their first minute', -15, false],
  ['in the minute that starts now', 0, false],
  ['after now', 1, true],
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
  const { isReusable: canBeUsed } = createBaseline(context, {
    kind: 'baseline',
    day,
    readings,
    source: BY_DAY,
    minutes: [minutes],
    sinceDayBefore: undefined,
    keyFormat: { status: 'detected', formats: [{ form: 'iso', zone: 'written' }] },
    atMs: NOW_MS,
  });
  expect(canBeUsed).toBe(isReusable);
});
