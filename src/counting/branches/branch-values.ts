/** The counts of single branches, today and on the days before. */
import { MINUTE_MS } from '../../base/duration.ts';
import type { Calendar } from '../calendar/calendar.ts';
import { HISTORY_DAYS } from '../occupancy/door-model.ts';
import { isZero } from '../rows/counts.ts';
import { lastSeenIn } from '../rows/day-counts.ts';
import type { DayCounts } from '../rows/day-counts.ts';
import { pastDayOfKey, sumOfKey, sumsAt, todayOfKey } from './branch-day.ts';
import { finishedWindows, isRunningKnown } from './branch-gaps.ts';
import type { BranchState, CustomerCounts } from './branch-state.ts';

/** A branch today. */
export interface BranchToday {
  readonly counts: DayCounts;
  /** Start of the newest minute that counted anybody, or of its window. */
  readonly lastSeenMs: number | undefined;
}

/** Returns today's counts of some keys; undefined unless they are those of the customer's newest poll. */
export function branchesToday(
  state: BranchState,
  calendar: Calendar,
  customer: CustomerCounts,
  keys = state.keys,
): ReadonlyMap<string, BranchToday> | undefined {
  const { today, running, seenMs } = state;
  if (
    today?.day.startMs !== customer.today.day.startMs ||
    running === undefined ||
    today.sums.length < finishedWindows(today, customer.endMs) ||
    !isRunningKnown(state, customer)
  ) {
    return undefined;
  }
  const { startMs } = today.day;
  const endMs = startMs + Math.ceil((customer.endMs - startMs) / MINUTE_MS) * MINUTE_MS;
  return new Map(
    keys.map((key) => {
      const index = indexOf(state, key);
      const counts = todayOfKey(calendar, today, { sums: running.sums, endMs }, index);
      const seen = [seenMs.get(key), lastSeenIn(counts)].filter((atMs) => atMs !== undefined);
      return [key, { counts, lastSeenMs: seen.length === 0 ? undefined : Math.max(...seen) }];
    }),
  );
}

/** Whether all past days are complete and verified. */
export function isPastKnown({ past, verified }: BranchState): boolean {
  return past.length === HISTORY_DAYS && past.every(({ day }) => verified.has(day.startMs));
}

/** Returns the past days of a key by quarter-hour, oldest first. */
export function pastDaysOf(
  state: BranchState,
  calendar: Calendar,
  key: string,
): readonly DayCounts[] {
  const index = indexOf(state, key);
  return state.past.map((branchDay) => pastDayOfKey(calendar, branchDay, index)).toReversed();
}

/** Returns the place of a key; of an unknown one, a place without counts. */
function indexOf({ keys }: BranchState, key: string): number {
  const index = keys.indexOf(key);
  return index < 0 ? keys.length : index;
}

/** Returns the keys that counted anybody in the days that are known. */
export function countedKeys({ keys, today, past, running }: BranchState): readonly string[] {
  const days = today === undefined ? past : [today, ...past];
  const sums = days.map((branchDay) => sumsAt(branchDay.sums, branchDay.sums.length));
  const all = running === undefined ? sums : [...sums, running.sums];
  return keys.filter((_, index) => all.some((ofDay) => !isZero(sumOfKey(ofDay, index))));
}
