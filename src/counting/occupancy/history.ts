/**
 * The 28 days before a day by quarter-hour: what doors are learned from, and what is usual. Packed,
 * because every customer keeps it.
 */
import { DAY_MS, MINUTE_MS } from '../../base/duration.ts';
import { contains } from '../calendar/calendar.ts';
import type { Calendar, Span } from '../calendar/calendar.ts';
import { countOf, grandTotal } from '../rows/counts.ts';
import type { Counts } from '../rows/counts.ts';
import { lastSeenIn, smallest, weekdayOf } from '../rows/day-counts.ts';
import type { CountsToday, DayCounts, Steps } from '../rows/day-counts.ts';
import { HISTORY_DAYS, QUARTER_MS, QUARTERS_PER_DAY, sumQuarters } from './door-model.ts';
import type { PastDay } from './door-model.ts';

/** The history of one stream. */
export interface History {
  /** The day that follows it. */
  readonly today: Span;
  /** Local weekday of `today`, 0 for Sunday. */
  readonly weekday: number;
  readonly days: number;
  /** What was counted: quarter-hours, or a branch's hours, spread evenly over their quarter-hours. */
  readonly windowMs: number;
  /** Sums of all days by counter. */
  readonly sums: Counts;
  /** Start of the newest minute, or of its quarter-hour, that counted anybody, by counter. */
  readonly lastSeenMs: readonly (number | undefined)[];
  /** The quarter-hours from `first` on that any day has counts in; all others counted nobody. */
  readonly first: number;
  readonly length: number;
  /** By day, the oldest first; in it by counter; in it by quarter-hour. */
  readonly counts: Steps;
}

/**
 * Returns the history of successive days, oldest first, of which the last one ends when `today` starts.
 *
 * @param days at most {@link HISTORY_DAYS}, in steps of a quarter-hour or less
 * @param windowMs what was counted, where that is longer than a quarter-hour
 */
export function createHistory(
  calendar: Pick<Calendar, 'zone'>,
  today: Span,
  days: readonly DayCounts[],
  windowMs = QUARTER_MS,
): History {
  const counters = days[0]?.counts ?? [];
  const lastSeenMs = counters.map((_, counter) =>
    days.reduce<number | undefined>(
      (newest, day) => lastSeenIn(day, day.day.endMs, counter) ?? newest,
      undefined,
    ),
  );
  return { today, weekday: weekdayOf(calendar, today), windowMs, lastSeenMs, ...pack(days) };
}

/** How long before its end a day's last poll has all of its counts. */
const MAX_LAST_POLL_AGE_MS = 15 * MINUTE_MS;

/**
 * Returns the history at the first poll of a new day, as known before it is read: one day later, with the
 * day that was polled to its end. Undefined if that day is not known.
 */
export function continueHistory(
  calendar: Pick<Calendar, 'zone'>,
  history: History | undefined,
  yesterday: CountsToday | undefined,
  today: Span,
): History | undefined {
  if (history === undefined || history.today.startMs === today.startMs) {
    return history;
  }
  if (yesterday === undefined) {
    return undefined;
  }
  const { counts, atMs } = yesterday;
  if (
    counts.day.startMs !== history.today.startMs ||
    counts.day.endMs !== today.startMs ||
    counts.day.endMs - atMs > MAX_LAST_POLL_AGE_MS
  ) {
    return undefined;
  }
  const days = [...pastDays(history), counts].slice(-HISTORY_DAYS);
  const lastSeenMs = counts.counts.map(
    (_, counter) => lastSeenIn(counts, Infinity, counter) ?? history.lastSeenMs[counter],
  );
  const { windowMs } = history;
  return { today, weekday: weekdayOf(calendar, today), windowMs, lastSeenMs, ...pack(days) };
}

/**
 * Returns when anybody was last seen, by today's counts or by the history; undefined if that is more than
 * four weeks before the day of `nowMs`, or after it.
 */
export function lastSeenAt(
  calendar: Calendar,
  nowMs: number,
  todayMs: number | undefined,
  history: History | undefined,
): number | undefined {
  const { startMs, endMs } = calendar.dayAt(nowMs);
  const span = { startMs: startMs - HISTORY_DAYS * DAY_MS, endMs };
  const seenMs = [todayMs, ...(history?.lastSeenMs ?? [])]
    .filter((atMs) => atMs !== undefined)
    .filter((atMs) => contains(span, atMs));
  return seenMs.length === 0 ? undefined : Math.max(...seenMs);
}

/** Returns the days, oldest first. */
export function pastDays(history: History): readonly PastDay[] {
  const { weekday, days, sums, first, length, counts } = history;
  return Array.from({ length: days }, (_, index) => {
    const start = index * sums.length * length;
    return {
      weekday: (weekday + HISTORY_DAYS - (days - index)) % 7,
      stepMs: QUARTER_MS,
      first,
      counts: sums.map((__, counter) =>
        counts.subarray(start + counter * length, start + (counter + 1) * length),
      ),
    };
  });
}

/** Returns whether a day of the history counted anybody; `daysAgo` is 1 for the day before {@link History.today}. */
export function hasCounts({ days, sums, length, counts }: History, daysAgo: number): boolean {
  const size = sums.length * length;
  const start = (days - daysAgo) * size;
  for (let i = start; i < start + size; i += 1) {
    if (counts[i] !== 0) {
      return true;
    }
  }
  return false;
}

/** Returns a counter's sum over a part of a day, in quarter-hours since its start; linear within each. */
export function sumWithin(
  { days, sums, first, length, counts }: History,
  daysAgo: number,
  counter: number,
  fromQuarter: number,
  toQuarter: number,
): number {
  const start = ((days - daysAgo) * sums.length + counter) * length - first;
  const from = Math.max(fromQuarter, first);
  const to = Math.min(toQuarter, first + length);
  if (daysAgo > days || from >= to) {
    return 0;
  }
  let total = 0;
  for (let quarter = Math.floor(from); quarter < to; quarter += 1) {
    const share = Math.min(to, quarter + 1) - Math.max(from, quarter);
    total += share * countOf(counts, start + quarter);
  }
  return total;
}

function pack(
  days: readonly PastDay[],
): Pick<History, 'days' | 'sums' | 'first' | 'length' | 'counts'> {
  const byDay = days.map((day) => day.counts.map((_, counter) => sumQuarters(day, counter)));
  const all = byDay.flat();
  const isCounted = Array.from({ length: QUARTERS_PER_DAY }, (_, quarter) =>
    all.some((quarters) => quarters[quarter] !== 0),
  );
  const first = Math.max(0, isCounted.indexOf(true));
  const length = isCounted.lastIndexOf(true) + 1 - first;
  const counts = new Float64Array(all.length * Math.max(0, length));
  all.forEach((quarters, i) => counts.set(quarters.subarray(first, first + length), i * length));
  const sums = (days[0]?.counts ?? []).map((_, counter) =>
    byDay.reduce((total, day) => total + grandTotal(day[counter] ?? []), 0),
  );
  return { days: days.length, sums, first, length, counts: smallest(counts) };
}
