/**
 * Reads the totals of branches over a past time range. The service cannot combine branches with minutes, so
 * they are read at the end of each day, each in one response that starts with the counting period.
 */
import { COUNTERS } from '../base/model.ts';
import { compareKeys, readByKey, MAX_KEYS } from '../counting/breakdowns/poll-breakdown.ts';
import { HOUR_MS } from '../base/duration.ts';
import type { Calendar, Span } from '../counting/calendar/calendar.ts';
import { countOf, higher } from '../counting/rows/counts.ts';
import type { Counts, CountsByKey } from '../counting/rows/counts.ts';
import type { CounterValues, KeyMetrics } from '../counting/customer-metrics.ts';
import { isOver } from './targets.ts';
import { WindowReader } from '../counting/rows/window-reader.ts';
import type { Query } from '../counting/rows/window-reader.ts';

export interface BranchTotals {
  /** Sorted; at most as many as are exported. */
  readonly keys: readonly string[];
  /** In ascending order. No total decreases. */
  readonly steps: readonly TotalsAtTime[];
}

/** The totals since the start of the counting period. */
interface TotalsAtTime {
  readonly atMs: number;
  readonly totals: CountsByKey;
}

/** `startMs` is the start of the counting period; samples are written from `fromMs` on. */
export async function readBranchTotals(
  calendar: Calendar,
  { startMs, endMs }: Span,
  fromMs: number,
  query: Query,
): Promise<BranchTotals> {
  const reader = new WindowReader({
    query,
    stream: 'people',
    zone: calendar.zone,
    nowMs: () => endMs,
  });
  const steps: TotalsAtTime[] = [];
  const highest = new Map<string, Counts>();
  for (const atMs of readTimes(calendar, { startMs, endMs }, fromMs)) {
    const table = await readByKey(reader, 'branch', startMs, atMs);
    for (const [key, counts] of table) {
      highest.set(key, higher(counts, highest.get(key)) ?? counts);
    }
    steps.push({ atMs, totals: new Map(highest) });
  }
  const keys = [...highest.keys()].toSorted(compareKeys).slice(0, MAX_KEYS);
  return { keys, steps };
}

/**
 * `fromMs`, so that a range continues the one that ended there, and the ends of days after it. Also the
 * end of the range and one hour before it, so that neither the first live sample nor the hour before it
 * shows a whole day's counts.
 */
function readTimes(calendar: Calendar, { startMs, endMs }: Span, fromMs: number): number[] {
  const times: number[] = [];
  let atMs = fromMs;
  for (; atMs < endMs; atMs = calendar.dayAt(atMs).endMs) {
    times.push(atMs);
  }
  if (atMs > endMs) {
    times.push(endMs - HOUR_MS);
  }
  times.push(endMs);
  return [...new Set(times)].filter((ms) => ms > startMs).toSorted((a, b) => a - b);
}

/** The counters of one branch. */
export function keyMetricsAt({ steps }: BranchTotals, key: string, atMs: number): KeyMetrics {
  const counts = steps.findLast((step) => isOver(step.atMs, atMs))?.totals.get(key) ?? [];
  const counters = COUNTERS.people.map((name, i) => [name, pastTotal(countOf(counts, i))]);
  return { key, counters: Object.fromEntries(counters) as KeyMetrics['counters'] };
}

/** Returns the values of a counter of which nothing is known but its total. */
function pastTotal(total: number): CounterValues {
  return { total, excess: undefined, today: undefined };
}
