/**
 * A day of all branches of a customer: sums since the day's start at the ends of windows, which are a
 * quarter-hour long, and an hour on days from before the first start.
 */
import { HOUR_MS } from '../../base/duration.ts';
import { COUNTERS } from '../../base/model.ts';
import { compareKeys, MAX_KEYS } from '../breakdowns/poll-breakdown.ts';
import type { Calendar, Span } from '../calendar/calendar.ts';
import { QUARTER_MS } from '../occupancy/door-model.ts';
import { countOf, isZero, minus, plus } from '../rows/counts.ts';
import type { Counts, CountsByKey } from '../rows/counts.ts';
import { packSteps, smallest, weekdayOf } from '../rows/day-counts.ts';
import type { DayCounts, Steps } from '../rows/day-counts.ts';

/**
 * Entries and exits since a day's start, in pairs: those of the whole response, then those of each known
 * key. An array that ends before a key has no counts of it.
 */
export type Sums = Steps;

/** A past day whose windows are in the past of each branch. */
export interface FoldedDay {
  readonly day: Span;
  /** Length of a window. The last one of a day may be shorter. */
  readonly stepMs: number;
  /** What the customer itself had counted in the windows, in each when it was read first: not what came later. */
  readonly customer: Counts;
}

/** Immutable: replaced as a whole. */
export interface BranchDay extends FoldedDay {
  /** At the end of each window from the day's start on, as far as they are known. */
  readonly sums: readonly Sums[];
}

export const WINDOW_MS = QUARTER_MS;
export const PAST_WINDOW_MS = HOUR_MS;

const COUNTERS_PER_KEY = COUNTERS.people.length;
const NO_COUNTS: Counts = COUNTERS.people.map(() => 0);
export const NO_SUMS: Sums = new Uint8Array(COUNTERS_PER_KEY);

/** Returns a day of which nothing is known. */
export function unknownDay(day: Span, stepMs: number): BranchDay {
  return { day, stepMs, sums: [], customer: NO_COUNTS };
}

/** Returns the number of windows of a whole day. */
export function windowsOf({ day, stepMs }: FoldedDay): number {
  return Math.ceil((day.endMs - day.startMs) / stepMs);
}

/** Returns whether the windows of a day are not folded. */
export function hasWindows(day: BranchDay | FoldedDay): day is BranchDay {
  return 'sums' in day;
}

/** Returns whether a day has windows that are not known. */
export function isUnread(day: BranchDay | FoldedDay): day is BranchDay {
  return hasWindows(day) && day.sums.length < windowsOf(day);
}

/** Returns the end of the first `windows` windows, by default the known ones; without any, the day's start. */
export function endMsOf({ day, stepMs, sums }: BranchDay, windows = sums.length): number {
  return Math.min(day.startMs + windows * stepMs, day.endMs);
}

/** Returns the sums at the last known end. */
export function lastSums({ sums }: BranchDay): Sums {
  return sums.at(-1) ?? NO_SUMS;
}

/** Returns the entries and exits of all branches together. */
export function totalOf(sums: Sums): Counts {
  return sumOfKey(sums, -1);
}

/** Returns the entries and exits of a key; `index` is its place in the list of known keys. */
export function sumOfKey(sums: Sums, index: number): Counts {
  return NO_COUNTS.map((_, counter) => countOf(sums, COUNTERS_PER_KEY * (index + 1) + counter));
}

/** Returns the known keys and those of a response that are new, up to {@link MAX_KEYS}. */
export function addKeys(
  keys: readonly string[],
  table: ReadonlyMap<string, unknown>,
): readonly string[] {
  const isKnown = new Set(keys);
  const added = [...table.keys()].filter((key) => !isKnown.has(key)).toSorted(compareKeys);
  return added.length === 0 ? keys : [...keys, ...added].slice(0, MAX_KEYS);
}

/** Returns a response as sums of the known keys. Other keys are in the total alone. */
export function sumsOf(keys: readonly string[], table: CountsByKey): Sums {
  const total = [...table.values()].reduce(plus, NO_COUNTS);
  const byKey = keys.map((key) => table.get(key) ?? NO_COUNTS);
  return smallest(Float64Array.from([total, ...byKey].flat()));
}

/**
 * Returns a day of a key by quarter-hour: a longer window evenly over its quarters, and the running one, if
 * it counted anybody, as the last step. Its `sums` are those at `endMs`, a whole minute.
 */
export function countsOfKey(
  calendar: Pick<Calendar, 'zone'>,
  branchDay: BranchDay,
  index: number,
  running?: { readonly sums: Sums; readonly endMs: number },
): DayCounts {
  const { day, stepMs, sums } = branchDay;
  const quarters = stepMs / QUARTER_MS;
  const last = lastSums(branchDay);
  const ofRunning = minus(sumOfKey(running?.sums ?? last, index), sumOfKey(last, index));
  const isRunning = !isZero(ofRunning);
  const steps = ofRunning.map((count, counter) => {
    const counts = new Float64Array(sums.length * quarters + (isRunning ? 1 : 0)).fill(count);
    let before = 0;
    sums.forEach((ofEnd, window) => {
      const sum = countOf(ofEnd, COUNTERS_PER_KEY * (index + 1) + counter);
      counts.fill((sum - before) / quarters, window * quarters, (window + 1) * quarters);
      before = sum;
    });
    return counts;
  });
  return {
    day,
    weekday: weekdayOf(calendar, day),
    stepMs: QUARTER_MS,
    before: NO_COUNTS,
    ...(running && isRunning && { lastStepEndMs: running.endMs }),
    ...packSteps(steps),
  };
}
