/** When somebody was last seen before today, as the last snapshot says. */
import { expect, test } from 'vitest';
import type { Span } from '../../../src/counting/calendar/calendar.ts';
import { DayCounter } from '../../../src/counting/rows/day-counts.ts';
import { ANY_KEY_FORMAT } from '../../../src/counting/rows/key-format.ts';
import { isLastSeenKnown, lastSeenBefore } from '../../../src/counting/totals/snapshot.ts';
import { INITIAL_STATE } from '../../../src/counting/totals/state.ts';
import type { StreamState } from '../../../src/counting/totals/state.ts';
import { CALENDAR, NOVEMBER, NOW_MS } from '../../support/owner.ts';
import { MINUTE_MS } from '../fixture.ts';

const TODAY = CALENDAR.dayAt(NOW_MS);
const YESTERDAY = CALENDAR.dayBefore(TODAY);
const SEEN_MS = YESTERDAY.startMs + 600 * MINUTE_MS;
const IN_TIME_MS = TODAY.startMs - 15 * MINUTE_MS;

/** `lastSeenMs` is in the order of the minutes; null if there is none, because keys cannot be parsed. */
function stateAfter(
  day: Span,
  atMs: number,
  lastSeenMs: number | null | undefined,
  lastSeenBeforeMs?: number,
): StreamState {
  const [minutes] = new DayCounter(CALENDAR, [day], 'people').days();
  const order =
    minutes && lastSeenMs !== null ? { minutes, endMs: atMs + 1, lastSeenMs } : undefined;
  const snapshot = { period: NOVEMBER, day, atMs, totals: [], today: [], order };
  return { ...INITIAL_STATE, snapshot, lastSeenBeforeMs };
}

test.each([
  ['today, with the time', stateAfter(TODAY, NOW_MS, NOW_MS, SEEN_MS), SEEN_MS],
  ['today, without it', stateAfter(TODAY, NOW_MS, NOW_MS), undefined],
  ['the end of the day before', stateAfter(YESTERDAY, IN_TIME_MS, SEEN_MS), SEEN_MS],
  ['too long before its end', stateAfter(YESTERDAY, IN_TIME_MS - 1, SEEN_MS), undefined],
  ['its end, without an order', stateAfter(YESTERDAY, IN_TIME_MS, null, SEEN_MS), undefined],
  ['nothing', INITIAL_STATE, undefined],
])('the last snapshot is of %s', (_, state, lastSeenMs) => {
  const context = { stream: 'people', calendar: CALENDAR } as const;
  const answers = { day: TODAY, sinceDayBefore: undefined, keyFormat: ANY_KEY_FORMAT };
  expect(isLastSeenKnown(state, TODAY)).toBe(lastSeenMs !== undefined);
  expect(lastSeenBefore(state, context, answers)).toBe(lastSeenMs);
});
