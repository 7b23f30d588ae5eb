/** What a poll says about the keys of its minutes, each once: totals are right all the same. */
import { HOUR_MS, MINUTE_MS } from '../../base/duration.ts';
import { anyBelow, isZero } from '../rows/counts.ts';
import { parseKey, readKey, unreadableKey } from '../rows/keys.ts';
import type { WindowResponse } from '../rows/window-reader.ts';
import type { KeyNote, PollContext, Snapshot, StreamState } from './state.ts';

/** Half an hour is the smallest difference of two zones; clocks differ by less. */
const MIN_DIFFERENCE_MS = 30 * MINUTE_MS;
/** Zones differ by less; devices with wrong clocks by more. */
const MAX_DIFFERENCE_MS = 15 * HOUR_MS;

/** What a poll has read. A baseline has today's minutes, unless the service forces another aggregation. */
interface PolledKeys {
  readonly kind: 'recent' | 'baseline';
  readonly recent: WindowResponse;
  readonly minutes?: readonly WindowResponse[] | undefined;
}

/** Returns a note on the keys of a poll; undefined if there is none, or if it is the newest one. */
export function noteKeys(
  { keysNoted, recent: recentBefore }: StreamState,
  { kind, recent, minutes = [] }: PolledKeys,
  snapshot: Snapshot,
  context: PollContext,
): KeyNote | undefined {
  if (snapshot.minutes === undefined) {
    const byMinute = [recent, ...minutes].filter(({ aggregation }) => aggregation === 'minute');
    const key = unreadableKey(byMinute.flatMap(({ rows }) => rows));
    return key === undefined || keysNoted === 'keys_unreadable'
      ? undefined
      : { kind: 'keys_unreadable', key };
  }
  if (kind === 'baseline' || keysNoted !== undefined) {
    return undefined;
  }
  const hasRisen = recentBefore !== undefined && anyBelow(recentBefore, recent.sums);
  return noteOffClock(recent, snapshot.minutes.endMs, hasRisen, context);
}

/** Only a key without an offset depends on a setting. */
function noteOffClock(
  { rows, window }: WindowResponse,
  nowMs: number,
  hasRisen: boolean,
  { calendar: { zone }, keyTimes }: PollContext,
): KeyNote | undefined {
  const [newest] = rows
    .filter(({ key, counts }) => !isZero(counts) && readKey(key)?.zone === 'missing')
    .map(({ key }) => ({ key, startMs: parseKey(key, zone, keyTimes) ?? NaN }))
    .toSorted((a, b) => b.startMs - a.startMs);
  if (newest === undefined) {
    return undefined;
  }
  const aheadMs = newest.startMs - nowMs;
  const isAhead = aheadMs > MIN_DIFFERENCE_MS - MINUTE_MS;
  // A record that is late does not make a total rise without others for long.
  const isBehind = hasRisen && newest.startMs < window.startMs - MIN_DIFFERENCE_MS;
  return (isAhead || isBehind) && Math.abs(aheadMs) < MAX_DIFFERENCE_MS
    ? {
        kind: 'keys_off_clock',
        key: JSON.stringify(newest.key),
        hours: Math.round((2 * aheadMs) / HOUR_MS) / 2,
      }
    : undefined;
}
