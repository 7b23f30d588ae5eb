/** The values of one poll: totals, today's figures, and what depends on the order of the minutes. */
import type { Baseline, BaselineResult } from './baseline.ts';
import type { CountingPeriod, Span } from '../calendar/calendar.ts';
import { contains, MINUTE_MS } from '../calendar/calendar.ts';
import { isZero, minus, plus } from '../rows/counts.ts';
import type { Counts } from '../rows/counts.ts';
import { detectKeyFormat, keyParser } from '../rows/key-format.ts';
import {
  addMinutes,
  continueDay,
  lastSeenIn,
  minutesOf,
  NO_MINUTES,
  unpackMinutes,
} from '../occupancy/occupancy.ts';
import type { DayState } from '../occupancy/occupancy.ts';
import type { PollContext, StreamState } from './poll.ts';
import type { WindowReader, WindowResponse } from '../rows/window-reader.ts';
import { estimateToday } from '../occupancy/today-estimate.ts';
import type { TodayEstimate } from '../occupancy/today-estimate.ts';

/** The accepted values of one poll. */
export interface Snapshot {
  readonly period: CountingPeriod;
  readonly day: Span;
  readonly atMs: number;
  /** The service's totals since the period started, corrections included. */
  readonly totals: Counts;
  /** The service's figures since the day started. */
  readonly today: Counts;
  /** What depends on the order of the minutes; undefined if keys cannot be parsed. */
  readonly order:
    | {
        /** People inside now, and at the end of each quarter of an hour until the last minute; of people only. */
        readonly occupancy: Pick<DayState, 'inside' | 'samples'>;
        /** The newest minute, today or the day before, that counted anybody. */
        readonly lastSeenMs: number | undefined;
        /** Undefined while the doors are not known. */
        readonly estimate: TodayEstimate | undefined;
      }
    | undefined;
}

/** How long before the end of a day its last snapshot has all of its minutes. */
const MAX_SNAPSHOT_AGE_MS = 15 * MINUTE_MS;

/** A minute has begun once it has by either clock: devices may follow one or the other. */
export function latestNowMs({ nowMs, serviceNowMs }: PollContext): number {
  return Math.max(nowMs(), serviceNowMs());
}

/** total = periodTotal + (recent - recentAtBaseline); today likewise, row by row if keys are known. */
export function createSnapshot(
  context: PollContext,
  baseline: Baseline,
  recent: WindowResponse,
  { keyFormat, lastSeenBeforeMs, snapshot: previous }: StreamState,
): Snapshot {
  const { doors } = context;
  const { period, day, recentStartMs, periodTotal, todayByMinute } = baseline;
  const came = minus(recent.sums, baseline.recentAtBaseline.sums);
  const isByMinute = recent.aggregation === 'minute' || isZero(recent.sums);
  const parse = keyParser(keyFormat, recent.window, context.calendar.zone);
  const added = isByMinute ? minutesOf(recent.rows, parse) : undefined;
  // A service may put late records into the recent window: then the whole day is read again.
  const isInOrder = added?.every(({ startMs }) => startMs >= recentStartMs) === true;
  const fromMs = isInOrder ? recentStartMs : -Infinity;
  const minutes =
    baseline.minutes && added && addMinutes(unpackMinutes(baseline.minutes, fromMs), added);
  const passed = { startMs: day.startMs, endMs: latestNowMs(context) + 1 };
  const soFar = continueDay(isInOrder ? baseline.beforeRecent : NO_MINUTES, minutes ?? [], passed);
  return {
    period,
    day,
    atMs: context.nowMs(),
    totals: plus(periodTotal, came),
    // Rows that are dated before the day arrived today, but are not of today.
    today: minus(plus(todayByMinute, came), soFar.sumsBefore),
    order: minutes && {
      occupancy: { inside: soFar.inside, samples: soFar.samples },
      lastSeenMs: soFar.lastSeenMs ?? lastSeenBeforeMs,
      estimate:
        doors?.day.startMs === day.startMs
          ? estimateToday(
              doors,
              baseline,
              minutes,
              isInOrder,
              passed.endMs,
              previous?.order?.estimate,
            )
          : undefined,
    },
  };
}

/**
 * When anybody was last seen on the day before. Taken from the last snapshot; after a restart the day
 * before is requested, while today is still empty. Its rows may decide the key format.
 */
export async function findLastSeenBefore(
  { snapshot, lastSeenBeforeMs }: StreamState,
  { calendar }: PollContext,
  reader: WindowReader,
  { baseline: { day, todayByMinute }, keyFormat }: BaselineResult,
): Promise<Pick<StreamState, 'lastSeenBeforeMs' | 'keyFormat'>> {
  const isOfToday = snapshot?.day.startMs === day.startMs;
  if (isOfToday && lastSeenBeforeMs !== undefined) {
    return { lastSeenBeforeMs, keyFormat };
  }
  const before = calendar.dayBefore(day);
  if (
    snapshot?.order !== undefined &&
    !isOfToday &&
    day.startMs - snapshot.atMs <= MAX_SNAPSHOT_AGE_MS
  ) {
    const { lastSeenMs } = snapshot.order;
    const isBefore = lastSeenMs !== undefined && contains(before, lastSeenMs);
    return { lastSeenBeforeMs: isBefore ? lastSeenMs : undefined, keyFormat };
  }
  const response = isZero(todayByMinute)
    ? await reader.readOptional('minute', before.startMs)
    : undefined;
  if (response?.aggregation !== 'minute') {
    return { lastSeenBeforeMs: undefined, keyFormat };
  }
  const detected = await detectKeyFormat(reader, keyFormat, [response], calendar.zone);
  const minutes = minutesOf(response.rows, keyParser(detected, response.window, calendar.zone));
  return { lastSeenBeforeMs: minutes && lastSeenIn(minutes, before), keyFormat: detected };
}
