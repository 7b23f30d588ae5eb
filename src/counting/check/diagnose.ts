/**
 * A diagnosis of a stream for `check --connect`: polls it as the exporter would at its start, and reads
 * what explains the result. Sends more requests than a poll.
 */
import { DAY_MS } from '../../base/duration.ts';
import type { Key } from '../../base/model.ts';
import { isZero } from '../rows/counts.ts';
import type { Counts } from '../rows/counts.ts';
import { parseKey } from '../rows/keys.ts';
import { POLLS_TO_CONFIRM } from '../totals/accept.ts';
import { createReader, pollStream } from '../totals/poll.ts';
import { INITIAL_STATE } from '../totals/state.ts';
import type { PollContext, PollResult, StreamState } from '../totals/state.ts';
import { MIN_CHUNK_MS, readByMinute } from '../rows/window-reader.ts';
import type { Query, WindowReader, WindowResponse } from '../rows/window-reader.ts';
import { areConsistent } from '../totals/period-total.ts';
import type { TotalAggregation } from '../totals/period-total.ts';
import { compareKeyTimes, newestKey } from './key-times.ts';
import type { KeyTimesFit } from './key-times.ts';

export interface StreamDiagnosis {
  /** The exporter's state after the polls. */
  readonly state: StreamState;
  /** Result of the last poll. */
  readonly result: PollResult;
  /** The newest key of two weeks with counts. */
  readonly key: Key | undefined;
  /** Undefined without a key. */
  readonly keyTimesFit: KeyTimesFit | undefined;
  /** The newest minute of two weeks that counted anybody; undefined if keys cannot be parsed. */
  readonly lastSeenMs: number | undefined;
  readonly day: DayAgreement;
  /** Whether even the shortest window by minute is forced into another aggregation. */
  readonly isMinuteForced: boolean;
}

/** Whether `day` has the same counts as `minute`. */
export type DayAgreement =
  | { readonly agrees: true }
  /** There was nothing to compare. */
  | { readonly agrees: undefined }
  | {
      readonly agrees: false;
      /** What the exporter reads totals by: `day` if it cannot see the disagreement. */
      readonly totalAggregation: TotalAggregation;
      /** The sums of one window by `day`, and by `minute`. */
      readonly byDay: Counts;
      readonly byMinute: Counts;
    };

const LOOK_BACK_MS = 14 * DAY_MS;

/** Diagnoses a stream from the initial state. */
export async function diagnoseStream(context: PollContext, query: Query): Promise<StreamDiagnosis> {
  let state = INITIAL_STATE;
  let result: PollResult = 'pending';
  const patient = { ...context, reconcileIntervalMs: 0 };
  for (let polls = 0; polls < POLLS_TO_CONFIRM && state.snapshot === undefined; polls++) {
    ({ state, result } = await pollStream(state, 'baseline', patient, query));
  }
  const reader = createReader(context, query);
  const nowMs = context.clocks.nowMs();
  const { keyTimes, calendar } = context;
  const windows = await newestWindows(state, context, reader);
  const key = newestKey(windows, calendar.zone, keyTimes, nowMs);
  const fit =
    key === undefined
      ? undefined
      : await compareKeyTimes(key, calendar.zone, keyTimes, nowMs, reader);
  return {
    state,
    result,
    key,
    keyTimesFit: fit,
    lastSeenMs: key === undefined ? undefined : parseKey(key, calendar.zone, keyTimes),
    ...(await compareDay(state, context, reader)),
  };
}

async function compareDay(
  { totalSource: { aggregation }, snapshot }: StreamState,
  { clocks }: PollContext,
  reader: WindowReader,
): Promise<Pick<StreamDiagnosis, 'day' | 'isMinuteForced'>> {
  if (snapshot === undefined) {
    return { day: { agrees: undefined }, isMinuteForced: false };
  }
  const { startMs } = snapshot.day;
  const today = await reader.read('minute', startMs);
  if (aggregation === 'day' && today.aggregation === 'minute') {
    return { day: { agrees: isZero(snapshot.today) ? undefined : true }, isMinuteForced: false };
  }
  // If today's minutes were forced into a coarser aggregation, that one was compared with itself.
  const fromMs = today.aggregation === 'minute' ? startMs : clocks.nowMs() - MIN_CHUNK_MS;
  const minutes = await reader.read('minute', fromMs);
  const { sums: byDay } = await reader.read('day', fromMs);
  const byMinute = minutes.sums;
  const isMinuteForced = minutes.aggregation !== 'minute';
  const unlimited = byDay.map(() => Infinity);
  if (aggregation !== 'day' || !areConsistent(byDay, byMinute, unlimited)) {
    return {
      day: { agrees: false, totalAggregation: aggregation, byDay, byMinute },
      isMinuteForced,
    };
  }
  const agrees = isMinuteForced || isZero(byMinute) ? undefined : true;
  return { day: { agrees }, isMinuteForced };
}

/** Returns today's minutes, or those of {@link LOOK_BACK_MS} if nobody came today. */
async function newestWindows(
  { snapshot }: StreamState,
  { clocks }: PollContext,
  reader: WindowReader,
): Promise<readonly WindowResponse[]> {
  const sinceMs = [snapshot?.day.startMs, clocks.nowMs() - LOOK_BACK_MS];
  for (const fromMs of sinceMs.filter((ms) => ms !== undefined)) {
    const windows = await readByMinute(reader, await reader.read('minute', fromMs));
    if (windows !== undefined && windows.length > 0) {
      return windows;
    }
  }
  return [];
}
