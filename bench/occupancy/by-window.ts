/**
 * The counts of a library as if it were a branch of a customer: today's from windows of a quarter-hour, past
 * days by hour.
 */
import {
  PAST_WINDOW_MS,
  pastDayOfKey,
  sumsOf,
  todayOfKey,
  unknownDay,
  WINDOW_MS,
} from '../../src/counting/branches/branch-day.ts';
import type { BranchDay, Sums } from '../../src/counting/branches/branch-day.ts';
import { finishedWindows } from '../../src/counting/branches/branch-gaps.ts';
import type { Span } from '../../src/counting/calendar/calendar.ts';
import { Zone } from '../../src/counting/calendar/zone.ts';
import type { DayCounts } from '../../src/counting/rows/day-counts.ts';
import { MINUTE_MS } from '../../src/base/duration.ts';

/** Counts by step of a day. */
interface Counts {
  readonly entered: readonly number[];
  readonly exited: readonly number[];
}

/** Sums since the day's start at the end of each step. */
export type SumsByStep = Counts;

const CALENDAR = { zone: new Zone('UTC') };
const KEY = 'branch';

/** Returns a past day as the history of a branch has it. */
export function pastDayByHour(day: Span, byQuarter: Counts): DayCounts {
  const perHour = PAST_WINDOW_MS / WINDOW_MS;
  const hours = byQuarter.entered.length / perHour;
  const branchDay = branchDayOf(day, sumsByStep(byQuarter), PAST_WINDOW_MS, perHour, hours);
  return pastDayOfKey(CALENDAR, branchDay, 0);
}

/**
 * Returns the counts of a branch after some minutes of the day.
 *
 * @param knownAt returns the sums by minute that are known after some minutes of the day
 */
export function countedByWindow(
  day: Span,
  minute: number,
  knownAt: (minute: number) => SumsByStep,
): DayCounts {
  const endMs = day.startMs + minute * MINUTE_MS;
  const windowMinutes = WINDOW_MS / MINUTE_MS;
  const windows = finishedWindows(unknownDay(day, WINDOW_MS), endMs);
  // Late records are repaired when the next window is read.
  const branchDay = branchDayOf(
    day,
    knownAt(minute - (minute % windowMinutes)),
    WINDOW_MS,
    windowMinutes,
    windows,
  );
  const running = sumsBetween(knownAt(minute), windows * windowMinutes, minute);
  return todayOfKey(CALENDAR, branchDay, { sums: running, endMs }, 0);
}

/** Returns the sums of counts up to each step. */
export function sumsByStep({ entered, exited }: Counts): SumsByStep {
  function sumUp(counts: readonly number[]): readonly number[] {
    let sum = 0;
    return counts.map((count) => (sum += count));
  }
  return { entered: sumUp(entered), exited: sumUp(exited) };
}

function branchDayOf(
  day: Span,
  steps: SumsByStep,
  stepMs: number,
  stepsPerWindow: number,
  windows: number,
): BranchDay {
  const sums = Array.from({ length: windows }, (_, window) =>
    sumsBetween(steps, 0, (window + 1) * stepsPerWindow),
  );
  return { ...unknownDay(day, stepMs), sums };
}

function sumsBetween({ entered, exited }: SumsByStep, from: number, to: number): Sums {
  const counts = [entered, exited].map((sums) => (sums[to - 1] ?? 0) - (sums[from - 1] ?? 0));
  return sumsOf([KEY], new Map([[KEY, counts]]));
}
