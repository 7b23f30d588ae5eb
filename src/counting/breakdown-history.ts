/**
 * A breakdown over a stretch of the past. The service cannot combine it with minutes, so it is told
 * in steps of a day: at the end of each, the totals since the epoch, each in one answer without a seam.
 */
import { COUNTERS } from '../base/model.ts';
import type { Breakdown, CounterName } from '../base/model.ts';
import { createWindowReader } from './query.ts';
import type { Query } from './query.ts';

import { askByKey, MOST_KEYS } from './breakdown.ts';
import { compareKeys, countsOf } from './by-key.ts';
import type { CountsByKey } from './by-key.ts';
import type { Calendar, Span } from './calendar.ts';
import { at } from './counts.ts';
import type { Counts } from './counts.ts';
import type { KeyMetrics, CounterValues } from './customer-metrics.ts';
import { isOver } from './history.ts';

export interface BreakdownHistory {
  readonly breakdown: Breakdown;
  /** In their order, those of which there is room. */
  readonly keys: readonly string[];
  readonly droppedKeys: number;
  /** In ascending order: at the end of which day, the totals since the epoch. None of them falls. */
  readonly steps: readonly BreakdownStep[];
}

interface BreakdownStep {
  readonly atMs: number;
  readonly totals: CountsByKey;
}

export interface BreakdownHistoryContext {
  readonly breakdown: Breakdown;
  readonly calendar: Calendar;
  /** From the start of the epoch on. */
  readonly span: Span;
  /** From when on it is told: the day that runs then is the first that is asked for. */
  readonly toldFromMs: number;
}

export async function readBreakdownHistory(
  context: BreakdownHistoryContext,
  query: Query,
): Promise<BreakdownHistory> {
  const { breakdown, calendar, span, toldFromMs } = context;
  const reader = createWindowReader({
    query,
    endpoint: 'peoplecount',
    counterCount: COUNTERS.people.length,
    calendar,
    nowMs: () => span.endMs,
    hasTime: () => true,
  });
  const steps: BreakdownStep[] = [];
  const highest = new Map<string, Counts>();
  let day = calendar.dayAt(Math.max(span.startMs, toldFromMs));
  // The day before ended where this one starts, and is what is told first.
  for (let atMs = day.startMs; atMs <= span.endMs; atMs = day.endMs, day = calendar.dayAt(atMs)) {
    if (atMs > span.startMs) {
      const { table } = await askByKey(reader, breakdown, span.startMs, atMs);
      for (const [key, counts] of table) {
        const before = highest.get(key) ?? [];
        highest.set(
          key,
          counts.map((count, kind) => Math.max(count, at(before, kind))),
        );
      }
      steps.push({ atMs, totals: new Map(highest) });
    }
  }
  const keys = [...highest.keys()].toSorted(compareKeys);
  const shown = keys.slice(0, MOST_KEYS);
  return { breakdown, keys: shown, droppedKeys: keys.length - shown.length, steps };
}

/** The counters of one key at an instant; no more than the ceilings, where it has any. */
export function keyFiguresAt(
  { steps }: BreakdownHistory,
  key: string,
  ceilings: Readonly<Partial<Record<CounterName, number>>>,
  atMs: number,
): KeyMetrics {
  const totals = steps.findLast((step) => isOver(step.atMs, atMs))?.totals;
  const counts = totals === undefined ? [] : countsOf(totals, key);
  const counters: Partial<Record<CounterName, CounterValues>> = {};
  COUNTERS.people.forEach((kind, i) => {
    const total = Math.min(at(counts, i), ceilings[kind] ?? Infinity);
    counters[kind] = { total, excess: undefined, today: undefined };
  });
  return { key, counters, occupancy: undefined };
}
