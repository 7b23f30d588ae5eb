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
import { packSteps, weekdayOf } from '../rows/day-counts.ts';
import type { DayCounts } from '../rows/day-counts.ts';

/**
 * Entries and exits since a day's start, in pairs: those of the whole response, then those of each known
 * key. An array that ends before a key has no counts of it. 10,000 branches keep 28 days of them.
 */
export type Sums = Uint16Array | Float64Array;

/** Immutable: replaced as a whole. */
export interface BranchDay {
  readonly day: Span;
  /** Length of a window. The last one of a day may be shorter. */
  readonly stepMs: number;
  /** At the end of each window from the day's start on, as far as they are known. */
  readonly sums: readonly Sums[];
  /** What the customer itself had counted in these windows, in each when it was read first: not what came later. */
  readonly customer: Counts;
}

/** The sums of a day at an instant after the last known end. */
export interface Running {
  readonly sums: Sums;
  /** The minute after the newest one. */
  readonly endMs: number;
}

export const WINDOW_MS = QUARTER_MS;
export const PAST_WINDOW_MS = HOUR_MS;

const COUNTERS_PER_KEY = COUNTERS.people.length;
const MAX_SMALL_SUM = 2 ** 16 - 1;
const NO_COUNTS: Counts = COUNTERS.people.map(() => 0);
export const NO_SUMS: Sums = new Uint16Array(COUNTERS_PER_KEY);

/** Returns a day of which nothing is known. */
export function unknownDay(day: Span, stepMs: number): BranchDay {
  return { day, stepMs, sums: [], customer: NO_COUNTS };
}

/** Returns the number of windows of a whole day. */
export function windowsOf({ day, stepMs }: BranchDay): number {
  return Math.ceil((day.endMs - day.startMs) / stepMs);
}

/** Returns whether all windows of the day are known. */
export function isComplete(branchDay: BranchDay): boolean {
  return branchDay.sums.length >= windowsOf(branchDay);
}

/** Returns the end of the first `windows` windows; without any, the day's start. */
export function endMsOf({ day, stepMs }: BranchDay, windows: number): number {
  return Math.min(day.startMs + windows * stepMs, day.endMs);
}

/** Returns the sums at the last known end. */
export function lastSums({ sums }: BranchDay): Sums {
  return sums.at(-1) ?? NO_SUMS;
}

/** Returns the entries and exits of all branches together. */
export function totalOf(sums: Sums): Counts {
  return NO_COUNTS.map((_, counter) => countOf(sums, counter));
}

/** Returns the entries and exits of a key; `index` is its place in the list of known keys. */
export function sumOfKey(sums: Sums, index: number): Counts {
  return NO_COUNTS.map((_, counter) => countOf(sums, COUNTERS_PER_KEY * (index + 1) + counter));
}

/** Returns the known keys and those of a response that are new, up to {@link MAX_KEYS}. */
export function addKeys(keys: readonly string[], table: CountsByKey): readonly string[] {
  const isKnown = new Set(keys);
  const added = [...table.keys()].filter((key) => !isKnown.has(key)).toSorted(compareKeys);
  return added.length === 0 ? keys : [...keys, ...added].slice(0, MAX_KEYS);
}

/** Returns a response as sums of the known keys. Other keys are in the total alone. */
export function sumsOf(keys: readonly string[], table: CountsByKey): Sums {
  const total = [...table.values()].reduce(plus, NO_COUNTS);
  const byKey = keys.map((key) => table.get(key) ?? NO_COUNTS);
  return packSums([total, ...byKey].flat());
}

/** Returns sums, up to the last that is not 0, in the smallest array that holds them. */
export function packSums(values: readonly number[]): Sums {
  const length = values.findLastIndex((value) => value !== 0) + 1;
  const used = values.slice(0, Math.max(NO_SUMS.length, length));
  return used.every((value) => value <= MAX_SMALL_SUM)
    ? Uint16Array.from(used)
    : Float64Array.from(used);
}

/**
 * Returns a day of a key by quarter-hour: a longer window evenly over its quarters, and the running one, if
 * it counted anybody, as the last step.
 */
export function countsOfKey(
  calendar: Pick<Calendar, 'zone'>,
  branchDay: BranchDay,
  index: number,
  running?: Running,
): DayCounts {
  const { day, stepMs, sums } = branchDay;
  const quarters = stepMs / QUARTER_MS;
  const length = sums.length * quarters;
  const last = lastSums(branchDay);
  const ofRunning = minus(sumOfKey(running?.sums ?? last, index), sumOfKey(last, index));
  const isRunning = !isZero(ofRunning);
  const steps = ofRunning.map((count, counter) => {
    const place = COUNTERS_PER_KEY * (index + 1) + counter;
    const counts = new Float64Array(isRunning ? length + 1 : length).fill(count);
    let before = 0;
    sums.forEach((ofEnd, window) => {
      const sum = countOf(ofEnd, place);
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

/** A day of a customer's branches as it is stored. */
export interface StoredBranchDay {
  readonly dayStartMs: number;
  /** JSON. */
  readonly content: string;
}

/** Returns a day that is known at least in part. In place of sums, null stands for those of the window before. */
export function serializeDay(keys: readonly string[], branchDay: BranchDay): StoredBranchDay {
  const { day, stepMs, sums, customer } = branchDay;
  const ends = sums.map((ofEnd, i) => (ofEnd === (sums[i - 1] ?? NO_SUMS) ? null : [...ofEnd]));
  const content = { end_ms: day.endMs, window_ms: stepMs, keys, customer, sums: ends };
  return { dayStartMs: day.startMs, content: JSON.stringify(content) };
}

/**
 * Returns the days that were stored, newest first, and their keys. Left out are those that are invalid, or whose
 * keys are not the first ones of the longest list.
 */
export function restoreDays(stored: readonly StoredBranchDay[]): {
  readonly keys: readonly string[];
  readonly days: readonly BranchDay[];
} {
  const restored = stored.map(restoreDay).filter((one) => one !== undefined);
  const [keys = []] = restored.map((one) => one.keys).toSorted((a, b) => b.length - a.length);
  const known = restored.filter((one) => one.keys.every((key, i) => key === keys[i]));
  return { keys, days: known.map(({ branchDay }) => branchDay) };
}

function restoreDay({ dayStartMs: startMs, content }: StoredBranchDay) {
  const { end_ms: endMs, window_ms: stepMs, keys, customer, sums } = parse(content);
  if (
    !areIntegers([endMs], startMs + 1) ||
    (stepMs !== WINDOW_MS && stepMs !== PAST_WINDOW_MS) ||
    !areKeys(keys) ||
    !areIntegers(customer, -Infinity, COUNTERS_PER_KEY) ||
    !Array.isArray(sums)
  ) {
    return undefined;
  }
  const maxLength = COUNTERS_PER_KEY * (keys.length + 1);
  const restored: Sums[] = [];
  for (const ofEnd of sums as readonly unknown[]) {
    if (ofEnd !== null && !areIntegers(ofEnd, 0, maxLength)) {
      return undefined;
    }
    restored.push(ofEnd === null ? (restored.at(-1) ?? NO_SUMS) : packSums(ofEnd));
  }
  const day = { startMs, endMs: Number(endMs) };
  const branchDay: BranchDay = { day, stepMs, sums: restored, customer };
  return restored.length <= windowsOf(branchDay) ? { keys, branchDay } : undefined;
}

function parse(content: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(content)) as Readonly<Record<string, unknown>>;
  } catch {
    return {};
  }
}

function areIntegers(value: unknown, min: number, maxLength = Infinity): value is number[] {
  return (
    Array.isArray(value) &&
    value.length <= maxLength &&
    value.every((number) => Number.isSafeInteger(number) && Number(number) >= min)
  );
}

function areKeys(value: unknown): value is readonly string[] {
  return (
    Array.isArray(value) &&
    value.length <= MAX_KEYS &&
    value.every((key) => typeof key === 'string') &&
    new Set(value).size === value.length
  );
}
