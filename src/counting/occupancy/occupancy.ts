/** Occupancy as counted: entries minus exits since the day's start, minute by minute (rule 9). */
import { countAt } from '../rows/day-counts.ts';
import type { DayCounts } from '../rows/day-counts.ts';

/** The distance of two points of a day's curve. */
export const CURVE_STEP_MS = 15 * 60_000;

/** Returns the people inside after the steps that start before `endMs`. */
export function occupancyAt(counted: DayCounts, endMs: number): number {
  return occupancyCurve(counted, endMs, Infinity).at(-1) ?? 0;
}

/** Returns the start of the step from which on more people are inside than a limit; undefined if there are not. */
export function aboveSince(counted: DayCounts, endMs: number, limit: number): number | undefined {
  const { day, stepMs, first } = counted;
  const end = endStep(counted, endMs);
  let sinceMs: number | undefined;
  let inside = 0;
  for (let step = first; step < end; step += 1) {
    inside = nextOccupancy(inside, countAt(counted, 0, step), countAt(counted, 1, step));
    sinceMs = inside > limit ? (sinceMs ?? day.startMs + step * stepMs) : undefined;
  }
  return sinceMs;
}

/** Returns the number after that of the last step with counts that starts before `endMs`. */
function endStep({ day, stepMs, first, counts }: DayCounts, endMs: number): number {
  return Math.min(first + (counts[0]?.length ?? 0), Math.ceil((endMs - day.startMs) / stepMs));
}

/**
 * Returns the people inside after each `pointMs` since the day's start, and after the last step that
 * starts before `endMs`.
 */
export function occupancyCurve(counted: DayCounts, endMs: number, pointMs: number): number[] {
  const { day, stepMs, first } = counted;
  const end = endStep(counted, endMs);
  const elapsedMs = Math.min(endMs, day.endMs) - day.startMs;
  const points: number[] = [];
  let inside = 0;
  for (let step = first; step < end; step += 1) {
    while ((points.length + 1) * pointMs <= step * stepMs) {
      points.push(inside);
    }
    inside = nextOccupancy(inside, countAt(counted, 0, step), countAt(counted, 1, step));
  }
  while ((points.length + 1) * pointMs <= elapsedMs) {
    points.push(inside);
  }
  return [...points, inside];
}

/**
 * Returns the people inside after a step. Clamped at 0 in each step: after a missed entry, an exit is
 * ignored and does not lower the rest of the day.
 */
export function nextOccupancy(inside: number, entered: number, exited: number): number {
  return Math.max(0, inside + Math.max(0, entered) - Math.max(0, exited));
}
