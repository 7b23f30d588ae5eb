import { MINUTE_MS } from '../../src/base/duration.ts';
import type { Calendar, Span } from '../../src/counting/calendar/calendar.ts';
import { DayCounter } from '../../src/counting/rows/day-counts.ts';
import type { DayCounts } from '../../src/counting/rows/day-counts.ts';

export interface Day {
  readonly weekday?: number;
  readonly entered: readonly number[];
  readonly exited: readonly number[];
}

/** A day of 24 hours, by quarter-hour or another step. */
export function dayOf({ weekday = 3, entered, exited }: Day, stepMs = 15 * MINUTE_MS): DayCounts {
  const day = { startMs: 0, endMs: 24 * 60 * MINUTE_MS };
  const counts = [Float64Array.from(entered), Float64Array.from(exited)];
  return { day, weekday, stepMs, first: 0, counts, before: [0, 0] };
}

/** Returns the counts of a day by minute. */
export function minutesOf(entered: readonly number[], exited: readonly number[]): DayCounts {
  return dayOf({ entered, exited }, MINUTE_MS);
}

/** Returns a day with the people of instants, by minute or another step. */
export function countedDay(
  calendar: Calendar,
  day: Span,
  people: readonly (readonly [atMs: number, counts: readonly number[]])[],
  stepMs?: number,
): DayCounts {
  const counter = new DayCounter(calendar, [day], 'people', stepMs);
  people.forEach((counted) => counter.add(...counted));
  return (counter.days() as [DayCounts])[0];
}
