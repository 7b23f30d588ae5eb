/** Golden vectors of an independent reference implementation: estimates from windows, of days by hour. */
import { describe, expect, test } from 'vitest';
import { MINUTE_MS } from '../../../src/base/duration.ts';
import {
  countsOfKey,
  PAST_WINDOW_MS,
  sumsOf,
  unknownDay,
  WINDOW_MS,
} from '../../../src/counting/branches/day.ts';
import type { BranchDay } from '../../../src/counting/branches/day.ts';
import { learnDoors } from '../../../src/counting/occupancy/door-model.ts';
import { estimateInside } from '../../../src/counting/occupancy/estimate.ts';
import { plus } from '../../../src/counting/rows/counts.ts';
import { CALENDAR, NOW_MS } from '../../support/owner.ts';
import golden from './testdata/branches-golden.json' with { type: 'json' };

const DIGITS = 9;
const KEY = '101';
const DAY = CALENDAR.dayAt(NOW_MS);

/** A day of one branch, from its sums at the ends of successive windows. */
function dayOf(stepMs: number, sums: readonly (readonly number[])[]): BranchDay {
  const known = sums.map((counts) => sumsOf([KEY], new Map([[KEY, counts]])));
  return { ...unknownDay(DAY, stepMs), sums: known };
}

/** The sums of entries and exits at the end of each hour. */
function hourly({ entered, exited }: { entered: readonly number[]; exited: readonly number[] }) {
  let sums: readonly number[] = [0, 0];
  return entered.map((count, hour) => (sums = plus(sums, [count, exited[hour] ?? 0])));
}

describe.each(golden.cases)('$name', ({ weekday, closingMinute, history, polls }) => {
  const days = history.map((day) => {
    const counts = countsOfKey(CALENDAR, dayOf(PAST_WINDOW_MS, hourly(day)), 0);
    return { ...counts, weekday: day.weekday };
  });

  test.each(polls)('estimates as the reference does at minute $minute', (poll) => {
    const model = learnDoors(days, weekday);
    const ends: (readonly number[])[] = [];
    // Ends without new counts are left out.
    for (const { minute, entered, exited } of poll.finished) {
      const before = ends.at(-1) ?? [0, 0];
      while ((ends.length + 1) * WINDOW_MS < minute * MINUTE_MS) {
        ends.push(before);
      }
      ends.push([entered, exited]);
    }
    const endMs = DAY.startMs + poll.minute * MINUTE_MS;
    const now = plus(ends.at(-1) ?? [0, 0], [poll.running.entered, poll.running.exited]);
    const running = sumsOf([KEY], new Map([[KEY, now]]));
    const today = countsOfKey(CALENDAR, dayOf(WINDOW_MS, ends), 0, { sums: running, endMs });
    const closedMs = closingMinute === null ? DAY.endMs : DAY.startMs + closingMinute * MINUTE_MS;
    const open = [{ startMs: DAY.startMs, endMs: closedMs }];
    const estimate = estimateInside(model, today, endMs, open);
    for (const value of ['people', 'lower', 'upper'] as const) {
      expect(estimate[value]).toBeCloseTo(poll.expected[value], DIGITS);
    }
  });
});
