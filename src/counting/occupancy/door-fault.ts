/**
 * What makes today's counts of a building wrong, by what is usual: as long as it lasts there is no estimate.
 * Pure: the same counts have the same fault after a restart and in a replica.
 */
import type { CountsToday } from '../rows/day-counts.ts';
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
  { counts: { day, stepMs, first, counts }, endMs }: CountsToday,
  direction: typeof ENTRIES | typeof EXITS,
): boolean {
  const [own = [], other = []] = [counts[direction], counts[1 - direction]];
  const end = Math.min(own.length, Math.ceil((endMs - day.startMs) / stepMs) - first);
  let seenMs: number | undefined;
  let others = 0;
  let otherMs = day.startMs;
  for (let i = 0; i < end; i += 1) {
    const atMs = day.startMs + (first + i) * stepMs;
    if ((own[i] ?? 0) > 0) {
      const fromMs = seenMs === undefined ? day.startMs : windowEnd(past.people, seenMs);
      if (
        others >= MIN_MISSED_IN_DIRECTION &&
        usual(past, past.people, [direction], fromMs, otherMs - GRACE_MS) >= MIN_MISSED_IN_DIRECTION
      ) {
        return true;
      }
      seenMs = atMs;
      others = 0;
    }
    const passed = other[i] ?? 0;
    if (passed > 0) {
      others += passed;
      otherMs = atMs;
    }
  }
  return false;
}
