/**
 * What is not believed at once. A counter can never be taken back, so an answer that would be wrong
 * in a costly way has to come again first: one without rows where there were counts, and one out of
 * all proportion.
 */
import { at } from './counts.ts';
import type { Counts } from './counts.ts';
import { DAY_MS, MINUTE_MS } from './calendar.ts';

/** So many polls in a row must find nothing before nothing is believed. */
export const EMPTY_POLLS_BEFORE_BELIEF = 3;

const LARGE_RISE = 1000;
const LARGE_RISE_PER_MINUTE = 1000;

/** What the totals were when they were last believed, and when that was. */
export interface Believed {
  readonly totals: Counts;
  readonly atMs: number;
}

/**
 * Whether a rise from `before` to `totals` is out of all proportion: more than 1,000 that is also
 * more than 1,000 a minute, or that more than doubles a total that is a day old.
 */
export function isOutOfProportion(
  before: Believed,
  totals: Counts,
  nowMs: number,
  periodStartMs: number,
): boolean {
  const minutes = Math.max(1, (nowMs - before.atMs) / MINUTE_MS);
  const dayOld = nowMs - periodStartMs >= DAY_MS;
  return totals.some((total, kind) => {
    const known = at(before.totals, kind);
    const rise = total - known;
    return (
      rise > LARGE_RISE &&
      (rise > LARGE_RISE_PER_MINUTE * minutes || (dayOld && known > 0 && total > 2 * known))
    );
  });
}

/**
 * Whether totals that were out of proportion have come again: not below what was not believed, and
 * no further above it than the time since then explains.
 */
export function confirms(
  suspicion: Believed | undefined,
  totals: Counts,
  nowMs: number,
  periodStartMs: number,
): boolean {
  return (
    suspicion !== undefined &&
    totals.every((total, kind) => total >= at(suspicion.totals, kind)) &&
    !isOutOfProportion(suspicion, totals, nowMs, periodStartMs)
  );
}
