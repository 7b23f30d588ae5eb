/**
 * Reads a breakdown over a past time range. The service cannot combine a breakdown with minutes, so the
 * totals are read at the end of each day, each in one response that starts with the counting period.
 */
import { COUNTERS } from '../base/model.ts';
import type { Breakdown } from '../base/model.ts';
import { compareKeys, readByKey, MAX_KEYS } from '../counting/breakdowns/poll-breakdown.ts';
import { HOUR_MS } from '../base/duration.ts';
import type { Calendar, Span } from '../counting/calendar/calendar.ts';
import { higher } from '../counting/rows/counts.ts';
import type { Counts, CountsByKey } from '../counting/rows/counts.ts';
import type { KeyMetrics } from '../counting/customer-metrics.ts';
import { limited } from './live-start.ts';
import type { MaxValues } from './live-start.ts';
import { isOver } from './targets.ts';
import { WindowReader } from '../counting/rows/window-reader.ts';
import type { Query } from '../counting/rows/window-reader.ts';

export interface BreakdownHistory {
  readonly breakdown: Breakdown;
  /** Sorted; at most as many as are exported. */
  readonly keys: readonly string[];
  /** In ascending order. No total decreases. */
  readonly steps: readonly BreakdownStep[];
}

/** The totals since the start of the counting period. */
interface BreakdownStep {
  readonly atMs: number;
  readonly totals: CountsByKey;
}

/** `startMs` is the start of the counting period; the history is exported from `fromMs` on. */
export async function readBreakdownHistory(
  breakdown: Breakdown,
  calendar: Calendar,
  { startMs, endMs }: Span,
  fromMs: number,
  query: Query,
): Promise<BreakdownHistory> {
  const reader = new WindowReader({
    query,
    stream: 'people',
    zone: calendar.zone,
    nowMs: () => endMs,
  });
  const steps: BreakdownStep[] = [];
  const highest = new Map<string, Counts>();
  for (const atMs of readTimes(calendar, { startMs, endMs }, fromMs)) {
    const table = await readByKey(reader, breakdown, startMs, atMs);
    for (const [key, counts] of table) {
      highest.set(key, higher(counts, highest.get(key)) ?? counts);
    }
    steps.push({ atMs, totals: new Map(highest) });
  }
  const keys = [...highest.keys()].toSorted(compareKeys).slice(0, MAX_KEYS);
  return { breakdown, keys, steps };
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

/** The counters of one key, limited to `maxValues`. */
export function keyMetricsAt(
  { steps }: BreakdownHistory,
  key: string,
  maxValues: MaxValues,
  atMs: number,
): KeyMetrics {
  const counts = steps.findLast((step) => isOver(step.atMs, atMs))?.totals.get(key) ?? [];
  const counters = COUNTERS.people.map((name, i) => [name, limited(counts[i], maxValues[name])]);
  return { key, counters: Object.fromEntries(counters) as KeyMetrics['counters'] };
}
