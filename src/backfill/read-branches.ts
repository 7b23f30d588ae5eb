/**
 * Reads the branches of a customer over a past time range, in windows as live: quarter-hours of the days
 * that have samples, hours of the days before. The customer's own counts show in which nobody was counted.
 */
import { MINUTE_MS } from '../base/duration.ts';
import type { Calendar, Span } from '../counting/calendar/calendar.ts';
import {
  addKeys,
  endMsOf,
  NO_SUMS,
  PAST_WINDOW_MS,
  sumsOf,
  totalOf,
  unknownDay,
  WINDOW_MS,
  windowsOf,
} from '../counting/branches/branch-day.ts';
import type { BranchDay, Sums } from '../counting/branches/branch-day.ts';
import { countedUntil } from '../counting/branches/branch-gaps.ts';
import { requestSums } from '../counting/branches/branch-windows.ts';
import { HISTORY_DAYS } from '../counting/occupancy/door-model.ts';
import { areEqual } from '../counting/rows/counts.ts';
import type { DayCounts } from '../counting/rows/day-counts.ts';
import type { Query } from '../counting/rows/window-reader.ts';

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

  const isBefore = counted.map(({ day }) => day.endMs <= range.startMs);
  const before = [...(countedBefore ?? []), ...counted.filter((_, i) => isBefore[i])];
  const days: BranchDay[] = [];
  for (const counts of counted.filter((_, i) => isBefore[i] === false)) {
    days.push(await readDay(counts, WINDOW_MS));
  }
  const daysBefore: BranchDay[] = [];
  for (const counts of countedBefore === undefined ? [] : before.slice(-HISTORY_DAYS)) {
    daysBefore.push(await readDay(counts, PAST_WINDOW_MS));
  }
  return { keys, days, daysBefore: countedBefore && daysBefore };
}
