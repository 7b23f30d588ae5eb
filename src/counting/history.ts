/**
 * Replays a counting period day by day: the metrics that the exporter would have exported in the past.
 * Late records are in the minute they belong to, unlike live. Pure.
 */
import { COUNTERS, MINUTE_STREAMS } from '../base/model.ts';
import type { CounterName, MinuteStream } from '../base/model.ts';
import { MINUTE_MS } from './calendar.ts';
import type { Calendar, CountingPeriod } from './calendar.ts';
import { ifRecentlySeen } from './customer.ts';
import { descriptionMetrics, NO_ESTIMATE, UNPOLLED } from './customer-metrics.ts';
import type {
  CounterValues,
  CustomerDescription,
  CustomerMetrics,
  StreamMetrics,
} from './customer-metrics.ts';
import type { MinuteHistory } from './minute-history.ts';
import { nextOccupancy } from './occupancy.ts';

export interface PeriodHistory {
  readonly customer: string;
  readonly timezone: string;
  readonly description: CustomerDescription;
  readonly calendar: Calendar;
  readonly period: CountingPeriod;
  /** Each from the start of the period on. */
  readonly streams: Readonly<Partial<Record<MinuteStream, MinuteHistory>>>;
  /** Upper limits of the counters: the first live values, if they are of this period. */
  readonly maxValues: Readonly<Partial<Record<CounterName, number>>>;
}

export interface PastMetrics {
  readonly atMs: number;
  /** What cannot be known of the past is undefined; there are no breakdowns. */
  readonly metrics: CustomerMetrics;
}

/** `times` ascend and are within the period. */
export function* replayPeriod(
  history: PeriodHistory,
  times: readonly number[],
): Generator<PastMetrics> {
  const { calendar, period } = history;
  const replays = MINUTE_STREAMS.flatMap((stream) => {
    const minutes = history.streams[stream];
    return minutes === undefined ? [] : [new StreamReplay(stream, minutes)];
  });
  let day = calendar.dayAt(period.startMs);
  for (const atMs of times) {
    while (atMs >= day.endMs) {
      const { endMs } = day;
      replays.forEach((replay) => replay.endDay(endMs));
      day = calendar.dayAt(endMs);
    }
    replays.forEach((replay) => replay.advance(atMs));
    yield { atMs, metrics: metricsAt(atMs, history, replays) };
  }
}

/** True if an interval counts as over: one second before its end, for the last sample of a period. */
export function isOver(endMs: number, atMs: number): boolean {
  return endMs <= atMs + 1_000;
}

function metricsAt(
  atMs: number,
  { customer, timezone, description, calendar, period, maxValues }: PeriodHistory,
  replays: readonly StreamReplay[],
): CustomerMetrics {
  const counters: Partial<Record<CounterName, CounterValues>> = {};
  const streams: Partial<Record<MinuteStream, StreamMetrics>> = {};
  for (const replay of replays) {
    COUNTERS[replay.stream].forEach((name, i) => {
      counters[name] = replay.valuesOf(i, maxValues[name]);
    });
    const lastSeenMs = ifRecentlySeen(replay.lastSeenMs, calendar, atMs);
    streams[replay.stream] = { ...UNPOLLED, lastSeenMs };
  }
  return {
    customer,
    timezone,
    ...descriptionMetrics(description, calendar.zone, timezone, atMs),
    periodStartMs: period.startMs,
    credentialsValid: undefined,
    estimate: NO_ESTIMATE,
    occupancy: replays.find(({ stream }) => stream === 'people')?.occupancy,
    counters,
    breakdowns: {},
    streams,
    validUntilMs: Infinity,
  };
}

/** One stream, minute by minute. */
class StreamReplay {
  readonly stream: MinuteStream;
  readonly #history: MinuteHistory;
  readonly #totals: number[];
  #totalsAtDayStart: readonly number[];
  #next = 0;
  occupancy = 0;
  lastSeenMs: number | undefined;

  constructor(stream: MinuteStream, history: MinuteHistory) {
    this.stream = stream;
    this.#history = history;
    this.#totals = history.minutes.map(() => 0);
    this.#totalsAtDayStart = [...this.#totals];
    this.lastSeenMs = history.lastSeenBeforeMs;
  }

  /** Adds every minute that is over. */
  advance(atMs: number): void {
    const { span, minutes } = this.#history;
    const count = minutes[0]?.length ?? 0;
    for (; this.#next < count; this.#next += 1) {
      const startMs = span.startMs + this.#next * MINUTE_MS;
      if (!isOver(startMs + MINUTE_MS, atMs)) {
        return;
      }
      this.#addMinute(startMs);
    }
  }

  endDay(endMs: number): void {
    this.advance(endMs - 1_000);
    this.#totalsAtDayStart = [...this.#totals];
    this.occupancy = 0;
  }

  valuesOf(i: number, maxValue = Infinity): CounterValues {
    const total = this.#totals[i] ?? 0;
    return {
      total: Math.min(total, maxValue),
      excess: undefined,
      today: total - (this.#totalsAtDayStart[i] ?? 0),
    };
  }

  #addMinute(startMs: number): void {
    const counts = this.#history.minutes.map((minutes) => minutes[this.#next] ?? 0);
    counts.forEach((count, i) => {
      // Below 0 if a record came while the history was read. A counter must not decrease.
      this.#totals[i] = (this.#totals[i] ?? 0) + Math.max(0, count);
    });
    const [entered = 0, exited = 0] = counts;
    this.occupancy = nextOccupancy(this.occupancy, entered, exited);
    if (counts.some((count) => count > 0)) {
      this.lastSeenMs = startMs;
    }
  }
}
