/**
 * What is shown of one stream of minutes at an instant: figures of another epoch or day than the one
 * that is running then are not.
 */
import { contains } from './calendar.ts';
import type { Calendar, Epoch } from './calendar.ts';
import { at } from './counts.ts';
import type { KindFigures } from './figures.ts';
import type { StreamState } from './state.ts';

/** Occupancy older than this says nothing about who is inside now. */
export const OCCUPANCY_AGE_MS = 15 * 60_000;

export interface StreamRecord {
  state: StreamState;
  /** What is exported: per kind the high-water mark of the snapshot's totals. */
  shown: readonly number[];
}

export function kindFigures(
  record: StreamRecord,
  kind: number,
  epoch: Epoch,
  dayStartMs: number,
): KindFigures {
  const { snapshot } = record.state;
  const total = snapshot?.epoch.startMs === epoch.startMs ? record.shown[kind] : undefined;
  return {
    total,
    held:
      total === undefined || snapshot === undefined ? undefined : total - at(snapshot.totals, kind),
    today: snapshot?.day.startMs === dayStartMs ? at(snapshot.today, kind) : undefined,
  };
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
