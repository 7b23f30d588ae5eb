/**
 * The branches of a customer in the past, in windows as live: quarter-hours of the days that have samples,
 * hours of the days before. The customer's own counts show in which nobody was counted.
 */
import { MINUTE_MS } from '../base/duration.ts';
import { COUNTERS } from '../base/model.ts';
import {
  addKeys,
  asPastDay,
  endMsOf,
  NO_SUMS,
  PAST_WINDOW_MS,
  pastDayOfKey,
  sumOfKey,
  sumsAt,
  sumsOf,
  todayOfKey,
  totalOf,
  unknownDay,
  WINDOW_MS,
  windowsOf,
} from '../counting/branches/branch-day.ts';
import type { BranchDay, Sums } from '../counting/branches/branch-day.ts';
import { countedUntil } from '../counting/branches/branch-gaps.ts';
import { requestSums } from '../counting/branches/branch-windows.ts';
import { compareKeys } from '../counting/breakdowns/poll-breakdown.ts';
import { contains } from '../counting/calendar/calendar.ts';
import type { Calendar, Span } from '../counting/calendar/calendar.ts';
import type { BranchDescriptions, BranchMetrics } from '../counting/customer-metrics.ts';
import { HISTORY_DAYS } from '../counting/occupancy/door-model.ts';
import { createHistory } from '../counting/occupancy/history.ts';
import { areEqual, countOf } from '../counting/rows/counts.ts';
import { lastSeenIn } from '../counting/rows/day-counts.ts';
import type { DayCounts } from '../counting/rows/day-counts.ts';
import type { Query } from '../counting/rows/window-reader.ts';
import { Site } from '../counting/site.ts';
import { isOver } from './targets.ts';

export interface BranchHistory {
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
export async function readBranchHistory(
  calendar: Calendar,
  range: Span,
  counted: readonly DayCounts[],
  countedBefore: readonly DayCounts[] | undefined,
  query: Query,
): Promise<BranchHistory> {
  let keys: readonly string[] = [];

  async function readDay(counts: DayCounts, stepMs: number): Promise<BranchDay> {
    const unknown = unknownDay(counts.day, stepMs);
    const sums: Sums[] = [];
    let last = NO_SUMS;
    for (let window = 1; window <= windowsOf(unknown); window += 1) {
      const toMs = endMsOf(unknown, window);
      if (toMs > range.endMs) {
        break;
      }
      // By arrival, a record is in the window after that of its minute. A window may include the minute at its end.
      const before = countedUntil(unknown, Math.max(0, window - 2), counts);
      if (!areEqual(countedUntil(unknown, window, counts, MINUTE_MS), before)) {
        const asked = { fromMs: counts.day.startMs, toMs, atLeast: totalOf(last) };
        const table = await requestSums(asked, calendar, query);
        keys = addKeys(keys, table);
        last = sumsOf(keys, table);
      }
      sums.push(last);
    }
    return { ...unknown, sums };
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

interface BranchReplay {
  readonly key: string;
  /** Its place among the known keys. */
  readonly index: number;
  readonly site: Site;
}

/**
 * Replays the branches: each is a building whose day comes from the windows that are over. Returns a function
 * that returns their values at an instant, in the order of keys. Instants must ascend. `timezone` is that of
 * the opening hours.
 */
export function replayBranches(
  calendar: Calendar,
  timezone: string,
  { configured, others }: BranchDescriptions,
  { keys: known, days, daysBefore }: BranchHistory,
): (atMs: number) => readonly BranchMetrics[] {
  const keys = [...new Set([...known, ...Object.keys(configured)])].toSorted(compareKeys);
  const branches = keys.map((key): BranchReplay => {
    const own = Object.hasOwn(configured, key) ? configured[key] : undefined;
    const index = known.indexOf(key);
    return {
      key,
      index: index < 0 ? keys.length : index,
      site: new Site(calendar, timezone, own ?? others),
    };
  });
  /** The day of the last instant, and how many of its windows were over. */
  let counted: { readonly today: BranchDay; readonly windows: number } | undefined;

  /** Gives each branch the windows of a day that are over, and at its start the days before. */
  function count(today: BranchDay, windows: number): void {
    const over = { ...today, sums: today.sums.slice(0, windows) };
    const endMs = endMsOf(today, windows);
    const past =
      today !== counted?.today &&
      daysBefore &&
      [...daysBefore, ...days.slice(0, days.indexOf(today)).map(asPastDay)].slice(-HISTORY_DAYS);
    for (const { site, index } of branches) {
      if (past) {
        const pastDays = past.map((day) => pastDayOfKey(calendar, day, index));
        site.historyRead(createHistory(calendar, today.day, pastDays, PAST_WINDOW_MS));
      }
      const counts = todayOfKey(calendar, over, { sums: NO_SUMS, endMs }, index);
      const minutes = { counts, atMs: endMs, endMs, lastSeenMs: lastSeenIn(counts) };
      site.counted({ day: today.day, atMs: endMs, minutes });
    }
    counted = { today, windows };
  }

  return (atMs) => {
    const today = days.find(({ day }) => contains(day, atMs));
    const windows =
      today?.sums.filter((_, window) => isOver(endMsOf(today, window + 1), atMs)).length ?? 0;
    if (today !== undefined && (today !== counted?.today || windows !== counted.windows)) {
      count(today, windows);
    }
    return branches.map(({ key, index, site }) => {
      const sums = today && sumOfKey(sumsAt(today.sums, windows), index);
      const counters = COUNTERS.people.map((name, counter) => [
        name,
        { total: undefined, excess: undefined, today: sums && countOf(sums, counter) },
      ]);
      return {
        key,
        ...site.metricsAt(atMs),
        lastSeenMs: site.days.lastSeenAt(atMs),
        counters: Object.fromEntries(counters) as BranchMetrics['counters'],
      };
    });
  };
}
