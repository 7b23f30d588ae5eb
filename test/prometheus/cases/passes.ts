/** Who passes the doors, minute by minute, in the cases of several alerts. */
import { until } from '../story.ts';
import type { Value } from '../story.ts';

/** One a minute. */
export function count(minute: number): number {
  return minute;
}

/** At 0 from a minute on, and what is counted after it. */
export function startAgainAt(minute: number, before: (minute: number) => number): Value {
  return until(minute, before, (later) => before(later) - before(minute));
}

/** The newest minute that counted anybody, where nobody came after `lastMinute`. */
export function seenUntil(lastMinute: number): (minute: number) => number {
  return (minute) => 60 * Math.min(minute, lastMinute);
}
