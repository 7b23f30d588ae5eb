/**
 * The estimate of a library as if it were a branch of a customer: from windows of a quarter-hour, and a
 * history by hour.
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
import { Zone } from '../../src/counting/calendar/zone.ts';
import type { DoorModel } from '../../src/counting/occupancy/door-model.ts';
import { UNKNOWN_HOURS } from '../../src/counting/occupancy/estimate.ts';
import type { Estimate } from '../../src/counting/occupancy/estimate.ts';
import { estimateToday } from '../../src/counting/occupancy/today-estimate.ts';
import type { TodayEstimate } from '../../src/counting/occupancy/today-estimate.ts';
import type { DayCounts } from '../../src/counting/rows/day-counts.ts';
import { DAY_MS, MINUTE_MS } from '../../src/base/duration.ts';

/** Counts by step of a day. */
interface Counts {
  readonly entered: readonly number[];
  readonly exited: readonly number[];
}

/** Sums since the day's start at the end of each step. */
export type SumsByStep = Counts;

const CALENDAR = { zone: new Zone('UTC') };
const KEY = 'branch';
const DAY = { startMs: 0, endMs: DAY_MS };
/** A window is a quarter-hour, so that every distance from its end occurs. */
const EVERY_MINUTES = 7;

/** Returns a past day as the history of a branch has it. */
export function pastDayByHour(weekday: number, byQuarter: Counts): DayCounts {
  const perHour = PAST_WINDOW_MS / WINDOW_MS;
  const hours = byQuarter.entered.length / perHour;
  const branchDay = branchDayOf(sumsByStep(byQuarter), PAST_WINDOW_MS, perHour, hours);
  return { ...pastDayOfKey(CALENDAR, branchDay, 0), weekday };
}

/**
 * Returns the estimate of a branch after some minutes of the day, each seventh one, up to `endMinute`.
 *
 * @param knownAt returns the sums by minute that are known after some minutes of the day
 */
export function estimateByWindow(
  model: DoorModel,
  endMinute: number,
  knownAt: (minute: number) => SumsByStep,
): ReadonlyMap<number, Estimate | undefined> {
  const estimates = new Map<number, Estimate | undefined>();
  const doors = { day: DAY, model, hours: UNKNOWN_HOURS };
  const windowMinutes = WINDOW_MS / MINUTE_MS;
  let before: TodayEstimate | undefined;
  for (let minute = EVERY_MINUTES; minute <= endMinute; minute += EVERY_MINUTES) {
    const endMs = minute * MINUTE_MS;
    const windows = finishedWindows(unknownDay(DAY, WINDOW_MS), endMs);
    // Late records are repaired when the next window is read.
    const branchDay = branchDayOf(
      knownAt(minute - (minute % windowMinutes)),
      WINDOW_MS,
      windowMinutes,
      windows,
    );
    const running = sumsBetween(knownAt(minute), windows * windowMinutes, minute);
    const today = todayOfKey(CALENDAR, branchDay, { sums: running, endMs }, 0);
    before = estimateToday(doors, today, endMs, before);
    estimates.set(minute, before.estimate);
  }
  return estimates;
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
  steps: SumsByStep,
  stepMs: number,
  stepsPerWindow: number,
  windows: number,
): BranchDay {
  const sums = Array.from({ length: windows }, (_, window) =>
    sumsBetween(steps, 0, (window + 1) * stepsPerWindow),
  );
  return { ...unknownDay(DAY, stepMs), sums };
}

function sumsBetween({ entered, exited }: SumsByStep, from: number, to: number): Sums {
  const counts = [entered, exited].map((sums) => (sums[to - 1] ?? 0) - (sums[from - 1] ?? 0));
  return sumsOf([KEY], new Map([[KEY, counts]]));
}
