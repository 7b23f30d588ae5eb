/**
 * The branches of a customer in the past, in windows as live: quarter-hours of the days that have samples,
 * hours of the days before. The customer's own counts show in which nobody was counted.
 */
import {
  addKeys,
  endMsOf,
  PAST_WINDOW_MS,
  sumsOf,
  unknownDay,
  WINDOW_MS,
  windowsOf,
} from '../counting/branches/day.ts';
import type { BranchDay } from '../counting/branches/day.ts';
import {
  addWindow,
  copyWindows,
  NO_BRANCHES,
  requestSums,
  windowTask,
} from '../counting/branches/plan.ts';
import { BranchSites } from '../counting/branches/sites.ts';
import { contains } from '../counting/calendar/calendar.ts';
import type { Calendar, Span } from '../counting/calendar/calendar.ts';
import type { BranchDescriptions, BranchMetrics } from '../counting/customer-metrics.ts';
import { HISTORY_DAYS } from '../counting/occupancy/door-model.ts';
import type { DayCounts } from '../counting/rows/day-counts.ts';
import type { Query } from '../counting/rows/window-reader.ts';
import { isOver } from './targets.ts';

export interface BranchPast {
  readonly keys: readonly string[];
  /** The days that reach into the range, as far as it goes. */
  readonly days: readonly BranchDay[];
  /** The days before, oldest first; undefined if they are not known of the customer. */
  readonly daysBefore: readonly BranchDay[] | undefined;
}

/**
 * Throws a ServiceError, also if another aggregation was forced.
 *
 * @param counted the customer's days from the start of the period on
 * @param countedBefore those before, as many as the estimate needs; undefined if they are unknown
 */
export async function readBranchPast(
  calendar: Calendar,
  range: Span,
  counted: readonly DayCounts[],
  countedBefore: readonly DayCounts[] | undefined,
  query: Query,
): Promise<BranchPast> {
  let keys: readonly string[] = [];

  async function readDay(counts: DayCounts, stepMs: number): Promise<BranchDay> {
    let branchDay = unknownDay(counts.day, stepMs);
    const { startMs, endMs } = counts.day;
    const isWhole = endMs <= range.endMs;
    const windows = isWhole ? windowsOf(branchDay) : Math.floor((range.endMs - startMs) / stepMs);
    for (;;) {
      branchDay = copyWindows(branchDay, windows, counts);
      if (branchDay.sums.length >= windows) {
        return branchDay;
      }
      const task = windowTask(branchDay, counts);
      const table = await requestSums(task, calendar, query);
      keys = addKeys(keys, table);
      branchDay = addWindow(task, sumsOf(keys, table));
    }
  }

  async function readDays(all: readonly DayCounts[], stepMs: number): Promise<BranchDay[]> {
    const read: BranchDay[] = [];
    for (const counts of all) {
      read.push(await readDay(counts, stepMs));
    }
    return read;
  }

  const before = counted.filter(({ day }) => day.endMs <= range.startMs);
  const days = await readDays(counted.slice(before.length), WINDOW_MS);
  const daysBefore =
    countedBefore &&
    (await readDays([...countedBefore, ...before].slice(-HISTORY_DAYS), PAST_WINDOW_MS));
  return { keys, days, daysBefore };
}

/**
 * Replays the branches: each is a building whose day comes from the windows that are over. Returns a function
 * that returns their values at an instant, in the order of keys. Instants must ascend; `loginMs` is the start of the
 * customer's newest minute with a login. `timezone` is that of the opening hours.
 */
export function replayBranches(
  calendar: Calendar,
  timezone: string,
  descriptions: BranchDescriptions,
  { keys, days, daysBefore }: BranchPast,
): (atMs: number, loginMs: number | undefined) => readonly BranchMetrics[] {
  const sites = new BranchSites(calendar, timezone, descriptions);
  let shown: { readonly day: number; readonly windows: number } | undefined;
  return (atMs, loginMs) => {
    const day = days.findIndex((one) => contains(one.day, atMs));
    const today = days[day];
    const windows =
      today?.sums.filter((_, window) => isOver(endMsOf(today, window + 1), atMs)).length ?? 0;
    if (today !== undefined && (day !== shown?.day || windows !== shown.windows)) {
      const before = daysBefore === undefined ? [] : [...daysBefore, ...days.slice(0, day)];
      const past = before.slice(-HISTORY_DAYS).toReversed();
      sites.replay({
        ...(day === shown?.day ? sites.state : { ...NO_BRANCHES, keys, past }),
        today: { ...today, sums: today.sums.slice(0, windows) },
      });
      shown = { day, windows };
    }
    return sites.metricsAt(atMs, { isCurrent: true, loginMs });
  };
}
