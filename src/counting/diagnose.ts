/**
 * A diagnosis of a stream for `check --connect`: polls it as the exporter would at its start, and reads
 * what explains the result. Sends more requests than a poll.
 */
import { DAY_MS } from '../base/duration.ts';
import { isZero } from './rows/counts.ts';
import type { Counts } from './rows/counts.ts';
import { detectKeyFormat } from './rows/key-format.ts';
import type { KeyFormatState } from './rows/key-format.ts';
import { addWindows, DayCounter, lastSeenIn } from './rows/day-counts.ts';
import { POLLS_TO_CONFIRM } from './totals/accept.ts';
import { createReader, pollStream } from './totals/poll.ts';
import { INITIAL_STATE } from './totals/state.ts';
import type { PollContext, PollResult, StreamState } from './totals/state.ts';
import { MIN_CHUNK_MS, readByMinute } from './rows/window-reader.ts';
import type { Query, WindowReader } from './rows/window-reader.ts';
import { areConsistent } from './totals/period-total.ts';
import type { TotalAggregation } from './totals/period-total.ts';

export interface StreamDiagnosis {
  /** The exporter's state after the polls. */
  readonly state: StreamState;
  /** Result of the last poll. */
  readonly result: PollResult;
  /** Detected from older rows if the newest days have none. */
  readonly keyFormat: KeyFormatState;
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
  const { keyFormat, snapshot } = state;
  const lastSeenMs = snapshot?.order?.lastSeenMs;
  const agreement = await compareDay(state, context, reader);
  return lastSeenMs === undefined && keyFormat.status !== 'unknown'
    ? { state, result, ...agreement, ...(await lookBack(keyFormat, context, reader)) }
    : { state, result, ...agreement, keyFormat, lastSeenMs };
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

/** If neither today nor the day before counted anybody. */
async function lookBack(
  keyFormat: KeyFormatState,
  { stream, calendar, clocks }: PollContext,
  reader: WindowReader,
): Promise<Pick<StreamDiagnosis, 'keyFormat' | 'lastSeenMs'>> {
  const response = await reader.read('minute', clocks.nowMs() - LOOK_BACK_MS);
  const windows = (await readByMinute(reader, response)) ?? [];
  const detected = await detectKeyFormat(reader, keyFormat, windows, calendar.zone);
  const { startMs, endMs } = response.window;
  const counter = new DayCounter(calendar, [{ startMs, endMs: endMs + 1 }], stream);
  const [counted] = addWindows(counter, windows, detected, calendar.zone) ? counter.days() : [];
  return { keyFormat: detected, lastSeenMs: counted && lastSeenIn(counted) };
}
