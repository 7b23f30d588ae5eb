/** The counts of a library as if it were a branch of a customer: from windows of a quarter-hour. */
import { countsOfKey, sumsOf, unknownDay, WINDOW_MS } from '../../src/counting/branches/day.ts';
import type { Sums } from '../../src/counting/branches/day.ts';
import { finishedWindows } from '../../src/counting/branches/plan.ts';
import type { Span } from '../../src/counting/calendar/calendar.ts';
import { Zone } from '../../src/counting/calendar/zone.ts';
import type { DayCounts } from '../../src/counting/rows/day-counts.ts';
import { MINUTE_MS } from '../../src/base/duration.ts';

/** Entries and exits since the day's start, after each of its steps. */
export type SumsByStep = readonly Float64Array[];

const CALENDAR = { zone: new Zone('UTC') };
const KEY = 'branch';
/** A window is read this long after its end. */
const SETTLE_MINUTES = 5;

/**
 * Returns the counts of a branch after some minutes of the day.
 *
 * @param released the sums by minute that are known from a minute of the day on, the first ones from its start on
 */
export function countedByWindow(
  day: Span,
  minute: number,
  released: readonly { readonly fromMinute: number; readonly sums: SumsByStep }[],
): DayCounts {
  function knownAt(atMinute: number): SumsByStep {
    const known = released.findLast(({ fromMinute }) => fromMinute <= atMinute);
    return known?.sums ?? [];
  }
  const endMs = day.startMs + minute * MINUTE_MS;
  const windowMinutes = WINDOW_MS / MINUTE_MS;
  const windows = finishedWindows(unknownDay(day, WINDOW_MS), endMs);
  // Later records are in the windows after it.
  const sums = Array.from({ length: windows }, (_, window) => {
    const untilMinute = (window + 1) * windowMinutes;
    return sumsUntil(knownAt(Math.min(minute, untilMinute + SETTLE_MINUTES)), untilMinute);
  });
  const running = { sums: sumsUntil(knownAt(minute), minute), endMs };
  return countsOfKey(CALENDAR, { ...unknownDay(day, WINDOW_MS), sums }, 0, running);
}

/** Returns the sums of counts up to each step. */
export function sumsByStep(counts: readonly Float64Array[]): SumsByStep {
  return counts.map((all) => {
    let sum = 0;
    return all.map((count) => (sum += count));
  });
}

function sumsUntil(sums: SumsByStep, minute: number): Sums {
  return sumsOf([KEY], new Map([[KEY, sums.map((all) => all[minute - 1] ?? 0)]]));
}
