/**
 * Replays a counting period: the metrics that the exporter would have exported in the past. Each sample
 * is a poll of a customer with the minutes that were over. Late records are in the minute they belong
 * to, unlike live. Pure.
 */
import { COUNTERS, MINUTE_STREAMS } from '../base/model.ts';
import type { MinuteStream } from '../base/model.ts';
import type { CustomerConfig } from '../config/types.ts';
import { contains } from '../counting/calendar/calendar.ts';
import type { CountingPeriod, Span } from '../counting/calendar/calendar.ts';
import { Customer } from '../counting/customer.ts';
import type { CustomerMetrics } from '../counting/customer-metrics.ts';
import { counterOwner, HighWaterMarks } from '../counting/high-water-marks.ts';
import { HISTORY_DAYS } from '../counting/occupancy/door-model.ts';
import { createPast } from '../counting/past/past.ts';
import { plus } from '../counting/rows/counts.ts';
import type { Counts } from '../counting/rows/counts.ts';
import { lastSeenIn, positiveSums, stepsUntil } from '../counting/rows/day-counts.ts';
import type { DayCounts } from '../counting/rows/day-counts.ts';
import { INITIAL_STATE } from '../counting/totals/state.ts';
import type { Snapshot } from '../counting/totals/state.ts';
import { replayBranches } from './branches.ts';
import type { BranchPast } from './branches.ts';
import type { PastCounts } from '../counting/past/read-past.ts';
import { LAST_SECOND_MS } from './targets.ts';
import type { BackfillTarget } from './targets.ts';

export interface PeriodPast extends Pick<BackfillTarget, 'calendar' | 'description'> {
  readonly config: Pick<CustomerConfig, 'name' | 'timezone'>;
  readonly period: CountingPeriod;
  /** Each from the start of the period on. */
  readonly streams: Readonly<Partial<Record<MinuteStream, PastCounts>>>;
  /**
   * The days before the first one with a sample, up to the start of the period, from which follow the
   * estimate and what is usual. A stream without them has neither.
   */
  readonly daysBefore: Readonly<Partial<Record<MinuteStream, readonly DayCounts[]>>>;
  /** Undefined for a customer that is one building. */
  readonly branches: BranchPast | undefined;
}

export interface PastMetrics {
  readonly atMs: number;
  /** There are no breakdowns, branches are counted in the windows that are over, and what describes polls means nothing. */
  readonly metrics: CustomerMetrics;
}

/** Returns the metrics at these times, which ascend and are within the period. */
export function* replayPeriod(past: PeriodPast, times: readonly number[]): Generator<PastMetrics> {
  const { calendar, description, period, streams, branches } = past;
  const { name, timezone } = past.config;
  const replays = MINUTE_STREAMS.flatMap((stream) => {
    const minutes = streams[stream];
    return minutes === undefined ? [] : [{ stream, days: replayedDays(stream, minutes) }];
  });
  const customer = new Customer({
    name,
    timezone,
    description,
    calendar,
    // Minutes are replayed as they were read: no key is parsed.
    keyTimes: 'local',
    streams: replays.map(({ stream }) => stream),
    owner: counterOwner('', '', name),
    marks: new HighWaterMarks(),
  });
  const branchesAt =
    branches &&
    description.branches &&
    replayBranches(calendar, timezone, description.branches, branches);
  for (const atMs of times) {
    const day = calendar.dayAt(atMs);
    for (const { stream } of replays) {
      if (customer.streamOf(stream).days.comparedPastOf(day) === undefined) {
        takePast(customer, past, stream, day);
      }
    }
    for (const { stream, days } of replays) {
      const state = { ...INITIAL_STATE, snapshot: snapshotAt(days, period, atMs) };
      customer.pollSucceeded(stream, { state, result: 'accepted' }, atMs);
    }
    const metrics = customer.metricsAt(atMs);
    const ofBranches = branchesAt?.(atMs, metrics.streams.logins?.lastSeenMs);
    yield { atMs, metrics: { ...metrics, branches: ofBranches ?? metrics.branches } };
  }
}

/** The days before, as on that day. */
function takePast(
  customer: Customer,
  { calendar, streams, daysBefore }: PeriodPast,
  stream: MinuteStream,
  day: Span,
): void {
  const ofPeriod =
    streams[stream]?.days.filter((counted) => counted.day.endMs <= day.startMs) ?? [];
  const before = daysBefore[stream];
  if (before !== undefined) {
    const days = [...before, ...ofPeriod].slice(-HISTORY_DAYS);
    customer.pastRead(stream, createPast(calendar, day, days));
  }
}

/** A day, and what was counted in the period before it. */
interface ReplayedDay {
  readonly counted: DayCounts;
  readonly totalsBefore: Counts;
}

function replayedDays(stream: MinuteStream, { days }: PastCounts): readonly ReplayedDay[] {
  let totals: Counts = COUNTERS[stream].map(() => 0);
  return days.map((counted) => {
    const replayed = { counted, totalsBefore: totals };
    totals = plus(totals, positiveSums(counted));
    return replayed;
  });
}

/** Returns the values of a poll at an instant; it sees the minutes that are over. */
function snapshotAt(
  days: readonly ReplayedDay[],
  period: CountingPeriod,
  atMs: number,
): Snapshot | undefined {
  const found = days.find(({ counted }) => contains(counted.day, atMs));
  if (found === undefined) {
    return undefined;
  }
  const { counted, totalsBefore } = found;
  const counts = stepsUntil(counted, atMs + LAST_SECOND_MS);
  const today = positiveSums(counts);
  return {
    period,
    day: counted.day,
    atMs,
    totals: plus(totalsBefore, today),
    today,
    minutes: { counts, atMs, endMs: atMs + 1, lastSeenMs: lastSeenIn(counts) },
  };
}
