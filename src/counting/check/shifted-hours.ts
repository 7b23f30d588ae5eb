/** For `check --connect`: whether people come at the opening hours, or as in another time zone. */
import { HOUR_MS } from '../../base/duration.ts';
import type { Calendar } from '../calendar/calendar.ts';
import { pastDays } from '../past/past.ts';
import type { Past } from '../past/past.ts';

/** How many came, and when. */
export type Arrivals = readonly (readonly [atMs: number, people: number])[];

export interface HoursShift {
  /** By how many hours people come later than the opening hours say; negative if earlier. */
  readonly hours: number;
  /** Share of the people who come outside the opening hours. */
  readonly outside: number;
  /** The same, if the opening hours were so much later. */
  readonly outsideShifted: number;
}

const MAX_SHIFT_HOURS = 12;
const MIN_PEOPLE = 100;
/** Some come early or late, as staff does. */
const MIN_SHARE_OUTSIDE = 0.05;
/** Hours that are too short at one end lose people at the other when they are shifted. */
const MAX_REMAINING_SHARE = 0.25;

/** Returns the shift of the opening hours that fits far better; undefined if there is none. */
export function findShift(
  arrivals: Arrivals,
  isOpenAt: (atMs: number) => boolean,
): HoursShift | undefined {
  const total = arrivals.reduce((sum, [, people]) => sum + people, 0);
  function shareOutside(hours: number): number {
    return (
      arrivals.reduce(
        (sum, [atMs, people]) => sum + (isOpenAt(atMs - hours * HOUR_MS) ? 0 : people),
        0,
      ) / total
    );
  }
  const outside = shareOutside(0);
  if (total < MIN_PEOPLE || outside < MIN_SHARE_OUTSIDE) {
    return undefined;
  }
  const [best] = Array.from({ length: MAX_SHIFT_HOURS }, (_, i) => [i + 1, -i - 1])
    .flat()
    .map((hours) => ({ hours, outside, outsideShifted: shareOutside(hours) }))
    .toSorted((a, b) => a.outsideShifted - b.outsideShifted);
  return best !== undefined && best.outsideShifted <= outside * MAX_REMAINING_SHARE
    ? best
    : undefined;
}

/** Returns the entries of a past of people by quarter-hour. */
export function arrivalsOf(calendar: Calendar, past: Past): Arrivals {
  let day = past.today;
  return pastDays(past)
    .toReversed()
    .flatMap(({ first, stepMs, counts: [entered = []] }) => {
      day = calendar.dayBefore(day);
      const { startMs } = day;
      return Array.from(entered, (people, i) => [startMs + (first + i) * stepMs, people] as const);
    });
}
