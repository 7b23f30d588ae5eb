/**
 * What the exporter would have shown at instants of the past: the same figures, from minutes that
 * are known by now. Late records stand where they belong, as they do not where they came live.
 */
import { COUNTERS, MINUTE_STREAMS } from '../base/model.ts';
import type { Breakdown, CounterName, MinuteStream } from '../base/model.ts';
import { MINUTE_MS } from './calendar.ts';
import type { Calendar, CountingPeriod } from './calendar.ts';
import { describedAt } from './description.ts';
import type { CustomerDescription } from './description.ts';
import type { CustomerMetrics, CounterValues, StreamMetrics } from './customer-metrics.ts';
import { UNPOLLED } from './health.ts';
import type { MinuteHistory } from './minute-history.ts';
import { insideAfter } from './minutes.ts';
import { asLongAsRecent } from './shown.ts';

export interface CountingPeriodHistory {
  readonly customer: string;
  readonly timezone: string;
  readonly description: CustomerDescription;
  readonly calendar: Calendar;
  readonly epoch: CountingPeriod;
  /** Each from the start of the epoch on. */
  readonly streams: Readonly<Partial<Record<MinuteStream, MinuteHistory>>>;
  /** What no counter may exceed: what the running exporter showed first, where it was in this epoch. */
  readonly ceilings: Readonly<Partial<Record<CounterName, number>>>;
}

/** Figures at instants that ascend. What nobody can know of the past is undefined. */
export class HistoryWalk {
  readonly #history: CountingPeriodHistory;
  readonly #streams: readonly StreamWalk[];

  constructor(history: CountingPeriodHistory) {
    this.#history = history;
    const { streams } = history;
    this.#streams = MINUTE_STREAMS.flatMap((stream) => {
      const minutes = streams[stream];
      return minutes === undefined ? [] : [new StreamWalk(stream, minutes, history)];
    });
  }

  /** `breakdowns` are none: they come in steps of a day, key by key. */
  metricsAt(atMs: number): CustomerMetrics {
    const { customer, timezone, description, calendar, epoch } = this.#history;
    const counters: Partial<Record<CounterName, CounterValues>> = {};
    const streams: Partial<Record<MinuteStream, StreamMetrics>> = {};
    let occupancy: number | undefined;
    for (const walk of this.#streams) {
      walk.goTo(atMs);
      COUNTERS[walk.stream].forEach((kind, i) => {
        counters[kind] = walk.figuresOf(kind, i);
      });
      streams[walk.stream] = {
        ...UNPOLLED,
        lastSeenMs: asLongAsRecent(walk.lastSeenMs, calendar, atMs),
      };
      occupancy = walk.stream === 'people' ? walk.inside : occupancy;
    }
    return {
      customer,
      timezone,
      ...describedAt(description, calendar.zone, timezone, atMs),
      periodStartMs: epoch.startMs,
      credentialsValid: undefined,
      occupancy,
      counters,
      breakdowns: NO_BREAKDOWNS,
      streams,
      validUntilMs: Infinity,
    };
  }
}

const NO_BREAKDOWNS: Readonly<Partial<Record<Breakdown, never>>> = {};

/** Whether what ended at `endMs` belongs to what is shown at an instant: a second before it has ended, it does. */
export function isOver(endMs: number, atMs: number): boolean {
  return endMs <= atMs + 1_000;
}

/** One stream, minute by minute. */
class StreamWalk {
  readonly stream: MinuteStream;
  readonly #history: MinuteHistory;
  readonly #calendar: Calendar;
  readonly #ceilings: CountingPeriodHistory['ceilings'];
  readonly #totals: number[];
  /** The totals where the running day started. */
  #atDayStart: readonly number[];
  #dayStartMs = -Infinity;
  #next = 0;
  inside = 0;
  lastSeenMs: number | undefined;

  constructor(
    stream: MinuteStream,
    history: MinuteHistory,
    { calendar, ceilings }: CountingPeriodHistory,
  ) {
    this.stream = stream;
    this.#history = history;
    this.#calendar = calendar;
    this.#ceilings = ceilings;
    this.#totals = history.minutes.map(() => 0);
    this.#atDayStart = this.#totals;
    this.lastSeenMs = history.lastSeenBeforeMs;
  }

  /** Takes in every minute that is over. */
  goTo(atMs: number): void {
    const { span, minutes } = this.#history;
    const count = minutes[0]?.length ?? 0;
    for (; this.#next < count; this.#next += 1) {
      const startMs = span.startMs + this.#next * MINUTE_MS;
      if (!isOver(startMs + MINUTE_MS, atMs)) {
        break;
      }
      this.#enterDay(startMs);
      this.#take(startMs);
    }
    this.#enterDay(atMs);
  }

  figuresOf(kind: CounterName, i: number): CounterValues {
    const total = this.#totals[i] ?? 0;
    return {
      total: Math.min(total, this.#ceilings[kind] ?? Infinity),
      excess: undefined,
      today: total - (this.#atDayStart[i] ?? 0),
    };
  }

  #enterDay(atMs: number): void {
    const { startMs } = this.#calendar.dayAt(atMs);
    if (startMs !== this.#dayStartMs) {
      this.#dayStartMs = startMs;
      this.#atDayStart = [...this.#totals];
      this.inside = 0;
    }
  }

  #take(startMs: number): void {
    const counts = this.#history.minutes.map((minutes) => minutes[this.#next] ?? 0);
    counts.forEach((count, i) => {
      // Below 0 only where a record came while it was read; a counter must not fall for that.
      this.#totals[i] = (this.#totals[i] ?? 0) + Math.max(0, count);
    });
    const [entered = 0, exited = 0] = counts;
    this.inside = insideAfter(this.inside, entered, exited);
    if (counts.some((count) => count > 0)) {
      this.lastSeenMs = startMs;
    }
  }
}
