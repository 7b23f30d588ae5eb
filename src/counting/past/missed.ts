/** Who was missed at a poll of people, by what is usual. Pure. */
import { countAt } from '../rows/day-counts.ts';
import type { CountsToday } from '../rows/day-counts.ts';
import { countWithin, GRACE_MS, lastSeen, usual, windowEnd } from './usual.ts';
import type { SitePast, UsualPeople } from './usual.ts';

/** Numbers of people. */
export interface Missed {
  /** Since the last entry or exit: of the entries and the exits that are usual, the larger number. */
  readonly people: number;
  /** The most of one direction in a span of today that is over, in which the other one counted. */
  readonly earlierEntries: number;
  readonly earlierExits: number;
}

/** Returns what was missed. `expected` is {@link usualPeople} of the same arguments. */
export function missedPeople(past: SitePast, today: CountsToday, expected: UsualPeople): Missed {
  const { people } = past;
  const lastMs = Math.max(lastSeen(people, today, 0), lastSeen(people, today, 1));
  const fromMs = windowEnd(people, lastMs);
  function usualOf(counter: 0 | 1): number {
    return usual(past, people, [counter], fromMs, today.atMs - GRACE_MS);
  }
  return {
    people: expected.people === 0 ? 0 : Math.max(usualOf(0), usualOf(1)),
    earlierEntries: missedEarlier(past, today, 0),
    earlierExits: missedEarlier(past, today, 1),
  };
}

/**
 * Returns the most that a direction missed today before it counted again. Those of the other direction came in the
 * same span: before the first visitors, cleaners may be usual.
 */
function missedEarlier(past: SitePast, { counts, endMs }: CountsToday, counter: 0 | 1): number {
  const { day, stepMs, first } = counts;
  const end = Math.ceil((endMs - day.startMs) / stepMs);
  let [fromMs, otherMs, others, most] = [day.startMs, day.startMs, 0, 0];
  for (let step = first; step < end; step += 1) {
    const atMs = day.startMs + step * stepMs;
    if (countAt(counts, counter, step) > 0) {
      const spanEndMs = otherMs - GRACE_MS;
      if (fromMs < spanEndMs && others > most) {
        const missed = usual(past, past.people, [counter], fromMs, spanEndMs);
        const inSpan = countWithin(counts, 1 - counter, fromMs, spanEndMs);
        most = Math.max(most, Math.min(inSpan, missed));
      }
      fromMs = windowEnd(past.people, atMs);
      others = 0;
    }
    const came = countAt(counts, 1 - counter, step);
    if (came > 0) {
      otherMs = atMs;
      others += came;
    }
  }
  return most;
}
