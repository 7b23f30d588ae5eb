/**
 * Replays a counting period: the metrics that the exporter would have exported in the past. Each sample
 * is a poll of a customer with the minutes that were over. Late records are in the minute they belong
 * to, unlike live. Pure.
 */
import { ALL_COUNTERS, COUNTERS, MINUTE_STREAMS } from '../base/model.ts';
import type { CounterName, MinuteStream } from '../base/model.ts';
import type { Calendar, CountingPeriod, Span } from '../counting/calendar/calendar.ts';
import { Customer } from '../counting/customer.ts';
import type {
  CounterValues,
  CustomerDescription,
  CustomerMetrics,
} from '../counting/customer-metrics.ts';
import { counterOwner, HighWaterMarks } from '../counting/high-water-marks.ts';
import { HISTORY_DAYS } from '../counting/occupancy/door-model.ts';
import { createHistory } from '../counting/occupancy/history.ts';
import { plus } from '../counting/rows/counts.ts';
import type { Counts } from '../counting/rows/counts.ts';
import { lastSeenIn, positiveSums, stepsUntil } from '../counting/rows/day-counts.ts';
import type { DayCounts } from '../counting/rows/day-counts.ts';
import { INITIAL_STATE } from '../counting/totals/state.ts';
import type { Snapshot } from '../counting/totals/state.ts';
import type { BranchHistory } from './read-branches.ts';
import type { MinuteHistory } from './read-minutes.ts';
import { BranchesReplay } from './replay-branches.ts';
import { LAST_SECOND_MS } from './targets.ts';

export interface PeriodHistory {
  readonly customer: string;
  readonly timezone: string;
  readonly description: CustomerDescription;
  readonly calendar: Calendar;
  readonly period: CountingPeriod;
  /** Each from the start of the period on. */
  readonly streams: Readonly<Partial<Record<MinuteStream, MinuteHistory>>>;
  /**
   * The days before the first one with a sample, up to the start of the period, from which follow the
   * estimate and what is usual. A stream without them has neither.
   */
  readonly daysBefore: Readonly<Partial<Record<MinuteStream, readonly DayCounts[]>>>;
  /** Undefined for a customer that is one building. */
  readonly branches: BranchHistory | undefined;
  /** Upper limits of the counters: the first live values, if they are of this period. */
  readonly maxValues: Readonly<Partial<Record<CounterName, number>>>;
}

export interface PastMetrics {
  readonly atMs: number;
  /** There are no breakdowns, branches are counted in the windows that are over, and what describes polls means nothing. */
  readonly metrics: CustomerMetrics;
}

/** Returns the metrics at these times, which ascend and are within the period. */
export function* replayPeriod(
  history: PeriodHistory,
  times: readonly number[],
): Generator<PastMetrics> {
  const { calendar, period, maxValues, timezone, description, branches } = history;
  const customer = customerOf(history);
  const ofBranches =
    branches && description.branches
      ? new BranchesReplay(calendar, timezone, description.branches, branches)
      : undefined;
  const replays = MINUTE_STREAMS.flatMap((stream) => {
    const minutes = history.streams[stream];
    return minutes === undefined ? [] : [new StreamReplay(stream, minutes, period)];
  });
  for (const atMs of times) {
    const day = calendar.dayAt(atMs);
    for (const { stream } of replays) {
      if (customer.historyDay(stream)?.startMs !== day.startMs) {
        readHistory(customer, history, stream, day);
      }
    }
    for (const replay of replays) {
      const state = { ...INITIAL_STATE, snapshot: replay.snapshotAt(atMs) };
      customer.pollSucceeded(replay.stream, { state, result: 'accepted' }, atMs);
    }
    const metrics = limit(customer.metricsAt(atMs), maxValues);
    yield {
      atMs,
      metrics: { ...metrics, branches: ofBranches?.metricsAt(atMs) ?? metrics.branches },
    };
  }
}

function customerOf(history: PeriodHistory): Customer {
  const { customer: name, timezone, description, calendar, streams } = history;
  return new Customer({
    name,
    timezone,
    description,
    calendar,
    streams: MINUTE_STREAMS.filter((stream) => streams[stream] !== undefined),
    owner: counterOwner('', '', name),
    marks: new HighWaterMarks(),
  });
}

/** The days before, as on that day. */
function readHistory(
  customer: Customer,
  { calendar, streams, daysBefore }: PeriodHistory,
  stream: MinuteStream,
  day: Span,
): void {
  const ofPeriod = streams[stream]?.days.filter((past) => past.day.endMs <= day.startMs) ?? [];
  const before = daysBefore[stream];
  if (before !== undefined) {
    const days = [...before, ...ofPeriod].slice(-HISTORY_DAYS);
    customer.historyRead(stream, createHistory(calendar, day, days));
  }
}

/** The counters are at most the first live values, which follow them. */
function limit(metrics: CustomerMetrics, maxValues: PeriodHistory['maxValues']): CustomerMetrics {
  const counters: Partial<Record<CounterName, CounterValues>> = {};
  for (const name of ALL_COUNTERS) {
    const { total = 0, today } = metrics.counters[name] ?? {};
    if (metrics.counters[name] !== undefined) {
      counters[name] = {
        total: Math.min(total, maxValues[name] ?? Infinity),
        excess: undefined,
        today,
      };
    }
  }
  return { ...metrics, counters };
}

/** One stream, day by day. */
class StreamReplay {
  readonly stream: MinuteStream;
  readonly #days: readonly DayCounts[];
  readonly #period: CountingPeriod;
  #totalsBefore: Counts;
  #lastSeenBeforeMs: number | undefined;
  #today = 0;

  constructor(stream: MinuteStream, history: MinuteHistory, period: CountingPeriod) {
    this.stream = stream;
    this.#days = history.days;
    this.#period = period;
    this.#totalsBefore = COUNTERS[stream].map(() => 0);
    this.#lastSeenBeforeMs = history.lastSeenBeforeMs;
  }

  /** Returns the values of a poll at this instant; it sees the minutes that are over. */
  snapshotAt(atMs: number): Snapshot | undefined {
    let counted = this.#days[this.#today];
    while (counted !== undefined && counted.day.endMs <= atMs) {
      this.#totalsBefore = plus(this.#totalsBefore, positiveSums(counted));
      this.#lastSeenBeforeMs = lastSeenIn(counted) ?? this.#lastSeenBeforeMs;
      this.#today += 1;
      counted = this.#days[this.#today];
    }
    if (counted === undefined) {
      return undefined;
    }
    const minutes = stepsUntil(counted, atMs + LAST_SECOND_MS);
    const today = positiveSums(minutes);
    return {
      period: this.#period,
      day: counted.day,
      atMs,
      totals: plus(this.#totalsBefore, today),
      today,
      order: {
        minutes,
        endMs: atMs + 1,
        lastSeenMs: lastSeenIn(minutes) ?? this.#lastSeenBeforeMs,
      },
    };
  }
}
