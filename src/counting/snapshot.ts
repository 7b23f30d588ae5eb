/** The values of one poll: totals, today's figures, and what depends on the order of the minutes. */
import type { Baseline, BaselineResult } from './baseline.ts';
import type { Span } from './calendar.ts';
import { MINUTE_MS } from './calendar.ts';
import { isZero, minus, plus } from './counts.ts';
import type { Counts } from './counts.ts';
import { detectKeyFormat, keyParser } from './key-format.ts';
import { addMinutes, computeOccupancy, lastSeenIn, minutesOf, sumOf } from './occupancy.ts';
import type { Minutes } from './occupancy.ts';
import type { MinuteOrder, PollContext, Snapshot, StreamState } from './poll.ts';
import type { WindowReader, WindowResponse } from './query.ts';
import { estimateToday } from './today-estimate.ts';

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
  { keyFormat, dayBefore, snapshot: previous }: StreamState,
): Snapshot {
  const came = minus(recent.sums, baseline.recentAtBaseline.sums);
  const isByMinute = recent.aggregation === 'minute' || isZero(recent.sums);
  const parse = keyParser(keyFormat, recent.window, context.calendar.zone);
  const added = isByMinute ? minutesOf(recent.rows, parse) : undefined;
  const minutes = baseline.minutes && added && addMinutes(baseline.minutes, added);
  const { period, day, periodTotal, todayByMinute } = baseline;
  const before = dayBefore?.dayStartMs === day.startMs ? dayBefore.lastSeenMs : undefined;
  return {
    period,
    day,
    atMs: context.nowMs(),
    totals: plus(periodTotal, came),
    today: minus(plus(todayByMinute, came), countsBefore(minutes, day, came.length)),
    order: minutes && {
      ...minuteOrder(context, minutes, day, before),
      estimate:
        context.doors?.day.startMs === day.startMs
          ? estimateToday(
              context.doors,
              baseline,
              minutes,
              added,
              latestNowMs(context),
              previous?.order?.estimate,
            )
          : undefined,
    },
  };
}

/** Counts of rows that are dated before the day: they arrived today, but are not of today. */
function countsBefore(minutes: Minutes | undefined, day: Span, counterCount: number): Counts {
  return sumOf(minutes ?? [], { startMs: -Infinity, endMs: day.startMs }, counterCount);
}

function minuteOrder(
  context: PollContext,
  minutes: Minutes,
  { startMs }: Span,
  seenBeforeMs: number | undefined,
): Omit<MinuteOrder, 'estimate'> {
  const passed = { startMs, endMs: latestNowMs(context) + 1 };
  return {
    occupancy: context.stream === 'people' ? computeOccupancy(minutes, passed) : [],
    lastSeenMs: lastSeenIn(minutes, passed) ?? seenBeforeMs,
  };
}

/**
 * When the day before counted anybody last. Taken from its last snapshot; after a restart it is
 * requested, while today is still empty. Its rows may decide the key format.
 */
export async function findDayBefore(
  state: StreamState,
  { calendar }: PollContext,
  reader: WindowReader,
  { baseline: { day, todayByMinute }, keyFormat }: BaselineResult & { readonly kind: 'read' },
): Promise<Pick<StreamState, 'dayBefore' | 'keyFormat'>> {
  if (state.dayBefore?.dayStartMs === day.startMs) {
    return { dayBefore: state.dayBefore, keyFormat };
  }
  const before = calendar.dayBefore(day);
  const { snapshot } = state;
  if (
    snapshot?.order !== undefined &&
    snapshot.day.startMs === before.startMs &&
    day.startMs - snapshot.atMs <= MAX_SNAPSHOT_AGE_MS
  ) {
    const { lastSeenMs = -Infinity } = snapshot.order;
    const isOfDay = lastSeenMs >= before.startMs;
    const dayBefore = { dayStartMs: day.startMs, lastSeenMs: isOfDay ? lastSeenMs : undefined };
    return { dayBefore, keyFormat };
  }
  if (!isZero(todayByMinute)) {
    return { dayBefore: undefined, keyFormat };
  }
  const response = await reader.readOptional('minute', before.startMs);
  if (response?.aggregation !== 'minute') {
    return { dayBefore: undefined, keyFormat };
  }
  const detected = await detectKeyFormat(reader, keyFormat, [response], calendar.zone);
  const minutes = minutesOf(response.rows, keyParser(detected, response.window, calendar.zone));
  return {
    dayBefore: minutes && { dayStartMs: day.startMs, lastSeenMs: lastSeenIn(minutes, before) },
    keyFormat: detected,
  };
}
