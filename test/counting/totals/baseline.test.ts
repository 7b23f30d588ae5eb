/** When the readings of a baseline agree, and when later polls may count on it. transitions.test.ts has what follows. */
import { expect, test } from 'vitest';
import { createBaseline, verifiedSource } from '../../../src/counting/totals/baseline.ts';
import type { BaselineReadings } from '../../../src/counting/totals/baseline.ts';
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

test.each([
  ['has who came while it was read', 42, { recentAtBaseline: response(7) }, 'verified'],
  ['is read when minutes are days', 40, { recentBefore: response(40, 'day') }, 'unverified'],
  ['lacks some', 39, {}, undefined],
  ['lacks some of the last minutes, as today does', 40, { recentBefore: response(41) }, undefined],
])('a total that %s', (_, byDay, readings, kind) => {
  const comparison = { byMinute: response(40), coarse: response(byDay, 'day') };
  expect(verifiedSource({ ...AGREEING, comparison, ...readings })?.kind).toBe(kind);
});

/** The day has one count, and the last minutes were empty twice. Times are minutes from now. */
test.each([
  ['before the last minutes', -16, -15, true],
  ['in their first minute', -15, -15, false],
  ['in the minute that starts now', 0, -15, false],
  ['before they start: now', -16, 0, true],
  ['before they start, which is in the future: the clock was set back', -16, 1, false],
])('a baseline can be used again: somebody came %s', (_, seenAt, startsAt, isReusable) => {
  const context = new StreamFixture({ records: [] }).context();
  const day = context.calendar.dayAt(NOW_MS);
  const key = new Date(NOW_MS + seenAt * MINUTE_MS).toISOString();
  const window = { startMs: NOW_MS + startsAt * MINUTE_MS, endMs: NOW_MS + MINUTE_MS };
  const todayByMinute = { ...response(1), rows: [{ key, counts: [1, 0] }], window: day };
  const recent = { ...response(0), window };
  const readings = { ...AGREEING, todayByMinute, recentBefore: recent, recentAtBaseline: recent };
  const baseline = createBaseline(context, day, readings, [todayByMinute], NOW_MS);
  expect(baseline.isReusable).toBe(isReusable);
});
