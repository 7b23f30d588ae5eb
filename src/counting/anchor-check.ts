/** Whether what the totals are read by can be believed: the same stretch, read by it and by the minute. */
import type { AnchorContext } from './anchor.ts';
import type { WindowResponse } from './query.ts';
import { DAY_MS } from './calendar.ts';
import { isZero } from './counts.ts';

const WEEK_MS = 7 * DAY_MS;

/**
 * The same stretch by the minute and by `totalsBy`: today, or where nobody has come today and
 * `totalsBy` is not proven yet, the last week, for that nothing is equal to nothing proves nothing.
 */
export async function readCheck(
  context: AnchorContext,
  totalsBy: 'day' | 'quarter',
  today: WindowResponse,
): Promise<{ readonly minutes: WindowResponse; readonly coarse: WindowResponse }> {
  const { reader, epoch, day, expected, isProven } = context;
  const weekStartMs = Math.max(epoch.startMs, day.startMs - WEEK_MS);
  if (!isZero(today.sums) || isProven || weekStartMs >= day.startMs) {
    const coarse = await reader.readAgainIfBelow(expected.today, totalsBy, day.startMs);
    return { minutes: today, coarse };
  }
  let sinceMs = weekStartMs;
  let minutes = await reader.read('minute', sinceMs);
  if (minutes.aggregation !== 'minute') {
    // Forced into the aggregation that is to be checked, it would agree with itself.
    sinceMs = Math.max(epoch.startMs, day.startMs - 2 * DAY_MS);
    minutes = await reader.read('minute', sinceMs);
  }
  const coarse = await reader.read(totalsBy, sinceMs);
  return { minutes, coarse };
}
