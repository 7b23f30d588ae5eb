/** What is shown of one stream at an instant: its counters, who is inside, when anybody was last seen. */
import { contains, MINUTE_MS } from './calendar.ts';
import type { Calendar, CountingPeriod, Span } from './calendar.ts';
import { at } from './counts.ts';
import type { CounterValues } from './customer-metrics.ts';
import { PATH_STEP_MS } from './minutes.ts';
import type { StreamState } from './state.ts';

/** Occupancy older than this says nothing about who is inside now. */
export const OCCUPANCY_AGE_MS = 15 * MINUTE_MS;

export interface StreamRecord {
  state: StreamState;
  /** What is exported: per kind the high-water mark of the snapshot's totals. */
  shown: readonly number[];
}

/** People inside, as long as the newest good poll tells it. */
export function occupancyOf(
  record: StreamRecord | undefined,
  calendar: Calendar,
  nowMs: number,
): number | undefined {
  const snapshot = record?.state.snapshot;
  const fresh =
    snapshot !== undefined &&
    // In both directions: after a step back, the newest good poll lies in the future.
    Math.abs(nowMs - snapshot.atMs) <= OCCUPANCY_AGE_MS &&
    snapshot.day.startMs === calendar.dayAt(nowMs).startMs;
  return fresh ? snapshot.minutes?.occupancy : undefined;
}

/** How the occupancy of a day went, as far as it is known. */
export interface OccupancyPath {
  readonly day: Span;
  readonly stepMs: number;
  /** People inside at the end of each step from the start of the day on; the last one ends at `atMs`. */
  readonly inside: readonly number[];
  readonly atMs: number;
}

/** How today's occupancy went; also while the newest good poll is too old to tell who is inside now. */
export function occupancyPathAt(
  record: StreamRecord | undefined,
  calendar: Calendar,
  nowMs: number,
): OccupancyPath | undefined {
  const snapshot = record?.state.snapshot;
  const day = calendar.dayAt(nowMs);
  return snapshot?.minutes === undefined || snapshot.day.startMs !== day.startMs
    ? undefined
    : { day, stepMs: PATH_STEP_MS, inside: snapshot.minutes.path, atMs: snapshot.atMs };
}

/** When the occupancy is too old, unless there is a poll until then. */
export function occupancyEndMs(record: StreamRecord | undefined): number {
  return (record?.state.snapshot?.atMs ?? Infinity) + OCCUPANCY_AGE_MS + 1;
}

/** The newest minute that counted anybody, as long as it lies in today or the day before. */
export function lastSeenOf(
  record: StreamRecord,
  calendar: Calendar,
  nowMs: number,
): number | undefined {
  return asLongAsRecent(record.state.snapshot?.minutes?.lastSeenMs, calendar, nowMs);
}

/** An instant that lies in the running day or the one before; else undefined. */
export function asLongAsRecent(
  lastSeenMs: number | undefined,
  calendar: Calendar,
  nowMs: number,
): number | undefined {
  const today = calendar.dayAt(nowMs);
  const since = calendar.dayBefore(today);
  return lastSeenMs !== undefined && contains({ ...since, endMs: today.endMs }, lastSeenMs)
    ? lastSeenMs
    : undefined;
}

/** One counter of the running epoch and day; `kind` is its place in the counts of the stream. */
export function counterValuesOf(
  record: StreamRecord,
  kind: number,
  epoch: CountingPeriod,
  dayStartMs: number,
): CounterValues {
  const { snapshot } = record.state;
  const total = snapshot?.epoch.startMs === epoch.startMs ? record.shown[kind] : undefined;
  return {
    total,
    excess:
      total === undefined || snapshot === undefined ? undefined : total - at(snapshot.totals, kind),
    today: snapshot?.day.startMs === dayStartMs ? at(snapshot.today, kind) : undefined,
  };
}
