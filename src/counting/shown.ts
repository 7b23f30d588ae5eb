/** What the order of the minutes says of one stream at an instant: who is inside, when anybody was last seen. */
import { contains } from './calendar.ts';
import type { Calendar } from './calendar.ts';
import type { StreamState } from './state.ts';

/** Occupancy older than this says nothing about who is inside now. */
export const OCCUPANCY_AGE_MS = 15 * 60_000;

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

/** When that is too old, unless there is a poll until then. */
export function occupancyEndMs(record: StreamRecord | undefined): number {
  return (record?.state.snapshot?.atMs ?? Infinity) + OCCUPANCY_AGE_MS + 1;
}

/** The newest minute that counted anybody, as long as it lies in today or the day before. */
export function lastSeenOf(
  record: StreamRecord,
  calendar: Calendar,
  nowMs: number,
): number | undefined {
  const lastSeenMs = record.state.snapshot?.minutes?.lastSeenMs;
  const today = calendar.dayAt(nowMs);
  const since = calendar.dayBefore(today);
  return lastSeenMs !== undefined && contains({ ...since, endMs: today.endMs }, lastSeenMs)
    ? lastSeenMs
    : undefined;
}
