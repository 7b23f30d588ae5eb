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
import {
  HISTORY_DAYS,
  QUARTER_MS,
  QUARTERS_PER_DAY,
  sumQuarters,
} from '../occupancy/door-model.ts';
import type { PastDay } from '../occupancy/door-model.ts';

/** What a comparison of the past with the service's own sums of its days has found. */
export interface Comparison {
  /** Start of the day on which it was compared, or read as a whole. */
  readonly dayMs: number;
  /** The service's sums that differ, although their days were read again, by the start of their bucket. */
  readonly differing: readonly (readonly [startMs: number, sums: Counts])[];
}

/** The past of one stream. */
export interface Past {
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
  readonly comparison: Comparison;
  /** The quarter-hours from `first` on that any day has counts in; all others counted nobody. */
  readonly first: number;
  readonly length: number;
  /**
   * By day, the oldest first; in it by counter; in it by quarter-hour. Each times the quarter-hours of a window:
   * a quarter of a person would take eight bytes.
   */
  readonly counts: Steps;
}

/**
 * Returns the past of successive days, oldest first, of which the last one ends when `today` starts.
 *
 * @param days at most {@link HISTORY_DAYS}, in steps of a quarter-hour or less
 * @param windowMs what was counted, where that is longer than a quarter-hour
 */
export function createPast(
  calendar: Pick<Calendar, 'zone'>,
  today: Span,
  days: readonly DayCounts[],
  windowMs = QUARTER_MS,
): Past {
  const counters = days[0]?.counts ?? [];
  const lastSeenMs = counters.map((_, counter) => newestIn(days, counter));
  const comparison = { dayMs: today.startMs, differing: [] };
  const weekday = weekdayOf(calendar, today);
  return { today, weekday, lastSeenMs, comparison, ...pack(days, windowMs) };
}

/** How long before its end a day's last poll has all of its counts. */
const MAX_LAST_POLL_AGE_MS = 15 * MINUTE_MS;

/**
 * Returns the past at the first poll of a new day: with the day before, if that was polled to its end. Else it
 * is that of an earlier day, and lacks days. Undefined if it is that of a later day: the clock was set back.
 */
export function appendDay(
  calendar: Calendar,
  past: Past | undefined,
  yesterday: CountsToday | undefined,
  today: Span,
): Past | undefined {
  if (past === undefined || past.today.startMs > today.startMs) {
    return undefined;
  }
  const isOver =
    yesterday !== undefined &&
    yesterday.counts.day.startMs === past.today.startMs &&
    yesterday.counts.day.endMs === today.startMs &&
    today.startMs - yesterday.atMs <= MAX_LAST_POLL_AGE_MS;
  return isOver ? updateDays(calendar, past, today, [yesterday.counts]) : past;
}

/**
 * Returns the past at the start of `today`: its days as they were counted anew, the others as they are known.
 * There must be no gap between the days. `windowMs` is that of {@link createPast}.
 */
export function updateDays(
  calendar: Calendar,
  before: Past,
  today: Span,
  counted: readonly DayCounts[],
  windowMs = before.windowMs,
): Past {
  const others = new Set(daysBefore(calendar, today).map(({ startMs }) => startMs));
  counted.forEach(({ day }) => others.delete(day.startMs));
  const known = pastDays(before);
  const kept = daysBefore(calendar, before.today)
    .slice(HISTORY_DAYS - before.days)
    .flatMap((day, i) => (known[i] === undefined ? [] : [{ day, ...known[i] }]))
    .filter(({ day }) => others.has(day.startMs));
  const days = [...kept, ...counted].toSorted((a, b) => a.day.startMs - b.day.startMs);
  const lastSeenMs = (counted[0]?.counts ?? before.sums).map((_, counter) => {
    const seenMs = before.lastSeenMs[counter];
    const isKept = kept.some(({ day }) => contains(day, seenMs ?? NaN));
    // The days that are kept have no minutes.
    return newestOf([newestIn(counted, counter), isKept ? seenMs : newestIn(kept, counter)]);
  });
  const weekday = weekdayOf(calendar, today);
  return { ...before, today, weekday, lastSeenMs, ...pack(days, windowMs) };
}

function newestOf(instants: readonly (number | undefined)[]): number | undefined {
  const known = instants.filter((atMs) => atMs !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

/** Returns the start of the newest step of successive days in which a counter counted anybody. */
function newestIn(
  days: readonly Pick<DayCounts, 'day' | 'stepMs' | 'first' | 'counts'>[],
  counter: number,
): number | undefined {
  const day = days.findLast((one) => lastSeenIn(one, one.day.endMs, counter) !== undefined);
  return day && lastSeenIn(day, day.day.endMs, counter);
}

/** Returns the {@link HISTORY_DAYS} days before a day, oldest first. */
export function daysBefore(calendar: Calendar, today: Span): readonly Span[] {
  const days: Span[] = [];
  for (let day = today; days.length < HISTORY_DAYS;) {
    day = calendar.dayBefore(day);
    days.unshift(day);
  }
  return days;
}

/** Returns the sums by counter of a span within the past; linear within each quarter-hour. */
export function sumsWithin(calendar: Calendar, past: Past, span: Span): Counts {
  const days = daysBefore(calendar, past.today).slice(HISTORY_DAYS - past.days);
  return past.sums.map((_, counter) =>
    days.reduce((sum, { startMs }, i) => {
      const from = Math.max(0, span.startMs - startMs) / QUARTER_MS;
      const to = (span.endMs - startMs) / QUARTER_MS;
      return sum + sumWithin(past, past.days - i, counter, from, to);
    }, 0),
  );
}

/**
 * Returns when anybody was last seen, by today's counts or by the past; undefined if that is more than
 * four weeks before the day of `nowMs`, or after it.
 */
export function lastSeenAt(
  calendar: Calendar,
  nowMs: number,
  todayMs: number | undefined,
  past: Past | undefined,
): number | undefined {
  const { startMs, endMs } = calendar.dayAt(nowMs);
  const span = { startMs: startMs - HISTORY_DAYS * DAY_MS, endMs };
  const seenMs = [todayMs, ...(past?.lastSeenMs ?? [])];
  return newestOf(seenMs.filter((atMs) => contains(span, atMs ?? NaN)));
}

/** Returns the days, oldest first. */
export function pastDays(past: Past): readonly PastDay[] {
  const { weekday, days, windowMs, sums, first, length } = past;
  const perPerson = windowMs / QUARTER_MS;
  const counts =
    perPerson === 1 ? past.counts : new Float64Array(past.counts).map((count) => count / perPerson);
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

/** Returns whether a day of the past counted anybody; `daysAgo` is 1 for the day before {@link Past.today}. */
export function hasCounts({ days, sums, length, counts }: Past, daysAgo: number): boolean {
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
  { days, windowMs, sums, first, length, counts }: Past,
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
  return total / (windowMs / QUARTER_MS);
}

function pack(
  days: readonly PastDay[],
  windowMs: number,
): Pick<Past, 'days' | 'windowMs' | 'sums' | 'first' | 'length' | 'counts'> {
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
  const packed = smallest(counts.map((count) => count * (windowMs / QUARTER_MS)));
  return { days: days.length, windowMs, sums, first, length, counts: packed };
}
