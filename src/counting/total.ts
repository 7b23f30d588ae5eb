/**
 * The total since the epoch, in as few answers as the service can be trusted with: one by `day`;
 * one by `quarter` where `day` lags; else by `minute` in pieces that are small enough not to be
 * forced into another aggregation.
 */
import type { Asking, Inquirer } from './asking.ts';
import { floorToMinute, MINUTE_MS } from './calendar.ts';
import { isZero, plus } from './counts.ts';
import type { Counts } from './counts.ts';

/** By what the total is read. */
export type TotalsBy = 'day' | 'quarter' | 'minute';

/** What to read by once this one has been caught lagging. */
export function finerThan(totalsBy: TotalsBy): TotalsBy {
  return totalsBy === 'day' ? 'quarter' : 'minute';
}

/** A piece this short is taken as it is answered. */
export const SHORTEST_PIECE_MS = 30 * MINUTE_MS;
/** How far from the middle of a piece a quiet minute is looked for, in steps. */
const SEAM_STEPS_MS = [0, 7, -7, 17, -17, 41, -41, 97, -97].map((minutes) => minutes * MINUTE_MS);

/**
 * The sum of everything from `fromMs` on, read by the minute. Pieces meet in a minute without
 * counts, where it does not matter whether a window includes its edges.
 */
export function* totalByMinutes(
  inquirer: Inquirer,
  fromMs: number,
  toMs: number | undefined,
  nowMs: number,
): Asking<Counts> {
  const answer = yield* inquirer.ask('minute', fromMs, toMs);
  const endMs = toMs ?? nowMs;
  if (answer.aggregation === 'minute' || endMs - fromMs <= SHORTEST_PIECE_MS) {
    return answer.sums;
  }
  const seamMs = yield* quietMinute(inquirer, fromMs, endMs);
  const before = yield* totalByMinutes(inquirer, fromMs, seamMs, nowMs);
  const after = yield* totalByMinutes(inquirer, seamMs, toMs, nowMs);
  return plus(before, after);
}

/** A minute near the middle with nobody counted beside it; the middle itself where there is none. */
function* quietMinute(inquirer: Inquirer, fromMs: number, toMs: number): Asking<number> {
  const middleMs = floorToMinute((fromMs + toMs) / 2);
  for (const stepMs of SEAM_STEPS_MS) {
    const seamMs = middleMs + stepMs;
    if (seamMs - fromMs > 2 * MINUTE_MS && toMs - seamMs > 2 * MINUTE_MS) {
      const around = yield* inquirer.ask('minute', seamMs - 2 * MINUTE_MS, seamMs + 2 * MINUTE_MS);
      if (isZero(around.sums)) {
        return seamMs;
      }
    }
  }
  return middleMs;
}
