/**
 * What makes today's counts of a building wrong, by what is usual: as long as it lasts there is no estimate.
 * Pure: the same counts have the same fault after a restart and in a replica.
 */
import type { Span } from '../calendar/calendar.ts';
import { countAt } from '../rows/day-counts.ts';
import type { CountsToday, DayCounts } from '../rows/day-counts.ts';
import { GRACE_MS, usual, windowEnd } from './usual.ts';
import type { SitePast, UsualPeople } from './usual.ts';

export const DOOR_FAULTS = ['exits_missing', 'entries_missing', 'silent'] as const;
export type DoorFault = (typeof DOOR_FAULTS)[number];

/** Entries and exits missed since the last of them. Whether the building is in use is not known here. */
const MIN_MISSED = 10;
/** Missed in one direction while the other one counts. */
const MIN_MISSED_IN_DIRECTION = 6;

const ENTRIES = 0;
const EXITS = 1;

/**
 * Returns the fault of today's counts: `silent` until somebody is counted, a missing direction until the day
 * ends. Undefined without one.
 *
 * @param expected what was to be expected at the poll of `today`
 */
export function doorFault(
  past: SitePast,
  today: CountsToday,
  expected: UsualPeople,
): DoorFault | undefined {
  if (expected.people >= MIN_MISSED) {
    return 'silent';
  }
  if (expected.entries >= MIN_MISSED_IN_DIRECTION || wasMissing(past, today, ENTRIES)) {
    return 'entries_missing';
  }
  return expected.exits >= MIN_MISSED_IN_DIRECTION || wasMissing(past, today, EXITS)
    ? 'exits_missing'
    : undefined;
}

/** Whether a direction missed as many today before it counted again: then the difference stays wrong. */
function wasMissing(
  past: SitePast,
  { counts, endMs }: CountsToday,
  direction: typeof ENTRIES | typeof EXITS,
): boolean {
  const { day, stepMs, first } = counts;
  const [own = [], other = []] = [counts.counts[direction], counts.counts[1 - direction]];
  let [fromMs, otherMs] = [day.startMs, day.startMs];
  for (let i = 0; i < own.length; i += 1) {
    const atMs = day.startMs + (first + i) * stepMs;
    if (atMs >= endMs) {
      return false;
    }
    if ((own[i] ?? 0) > 0) {
      if (wereMissed(past, counts, direction, { startMs: fromMs, endMs: otherMs - GRACE_MS })) {
        return true;
      }
      fromMs = windowEnd(past.people, atMs);
    }
    if ((other[i] ?? 0) > 0) {
      otherMs = atMs;
    }
  }
  return false;
}

/** Those of the other direction came in the same span: before the first visitors, cleaners may be usual. */
function wereMissed(
  past: SitePast,
  counts: DayCounts,
  direction: typeof ENTRIES | typeof EXITS,
  { startMs, endMs }: Span,
): boolean {
  const { day, stepMs } = counts;
  let others = 0;
  for (let atMs = startMs; atMs < endMs; atMs += stepMs) {
    others += Math.max(0, countAt(counts, 1 - direction, (atMs - day.startMs) / stepMs));
  }
  return (
    others >= MIN_MISSED_IN_DIRECTION &&
    usual(past, past.people, [direction], startMs, endMs) >= MIN_MISSED_IN_DIRECTION
  );
}
