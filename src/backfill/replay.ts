/**
 * Replays a counting period day by day: the metrics that the exporter would have exported in the past.
 * Late records are in the minute they belong to, unlike live. Pure.
 */
import { COUNTERS, MINUTE_STREAMS } from '../base/model.ts';
import type { CounterName, MinuteStream } from '../base/model.ts';
import { MINUTE_MS } from '../counting/calendar/calendar.ts';
import type { Calendar, CountingPeriod, Span } from '../counting/calendar/calendar.ts';
import { ifRecentlySeen } from '../counting/customer.ts';
import {
  descriptionMetrics,
  doorMetrics,
  NO_ESTIMATE,
  UNPOLLED,
} from '../counting/customer-metrics.ts';
import type {
  CounterValues,
  CustomerDescription,
  CustomerMetrics,
  EstimateMetrics,
  StreamMetrics,
} from '../counting/customer-metrics.ts';
import { countDay, weekdayOf } from '../counting/occupancy/read-door-days.ts';
import { HISTORY_DAYS, learnDoors } from '../counting/occupancy/door-model.ts';
import type { CountedDay } from '../counting/occupancy/door-model.ts';
import { continueEstimate, estimateFrom, START_OF_DAY } from '../counting/occupancy/estimate.ts';
import type { EstimateState } from '../counting/occupancy/estimate.ts';
import type { MinuteHistory } from './read-minutes.ts';
import { nextOccupancy } from '../counting/occupancy/occupancy.ts';
import type { Minutes } from '../counting/occupancy/occupancy.ts';
import { findClosingMinute } from '../counting/occupancy/today-estimate.ts';
import type { DayDoors } from '../counting/occupancy/today-estimate.ts';

export interface PeriodHistory {
  readonly customer: string;
  readonly timezone: string;
  readonly description: CustomerDescription;
  readonly calendar: Calendar;
  readonly period: CountingPeriod;
  /** Each from the start of the period on. */
  readonly streams: Readonly<Partial<Record<MinuteStream, MinuteHistory>>>;
  /**
   * The days before the first one with a sample, up to the start of the period, for the estimate.
   * Undefined: there is no estimate.
   */
  readonly daysBefore: readonly CountedDay[] | undefined;
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
  const people = history.streams.people;
  const estimates =
    people && history.daysBefore && new EstimateReplay(history, people, history.daysBefore);
  let day = calendar.dayAt(period.startMs);
  for (const atMs of times) {
    while (atMs >= day.endMs) {
      const { endMs } = day;
      replays.forEach((replay) => replay.endDay(endMs));
      estimates?.endDay(day);
      day = calendar.dayAt(endMs);
    }
    replays.forEach((replay) => replay.advance(atMs));
    const estimate = estimates?.at(day, atMs) ?? NO_ESTIMATE;
    yield { atMs, metrics: { ...metricsAt(atMs, history, replays), estimate } };
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
): Omit<CustomerMetrics, 'estimate'> {
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

/** The estimate, day by day; each day's doors are learned from the days before it. */
class EstimateReplay {
  readonly #history: PeriodHistory;
  readonly #people: MinuteHistory;
  readonly #days: CountedDay[];
  #doors: DayDoors | undefined;
  /** After the minutes that are over. */
  #state: EstimateState = START_OF_DAY;

  constructor(history: PeriodHistory, people: MinuteHistory, daysBefore: readonly CountedDay[]) {
    this.#history = history;
    this.#people = people;
    this.#days = [...daysBefore];
  }

  endDay(day: Span): void {
    this.#days.push(countDay(this.#history.calendar, day, minutesOf(this.#people, day)));
  }

  /** As a poll at this instant: the running minute is included, without counts. */
  at(day: Span, atMs: number): EstimateMetrics {
    if (this.#doors?.day !== day) {
      this.#doors = this.#doorsOf(day);
      this.#state = START_OF_DAY;
    }
    const { model, closingMinute } = this.#doors;
    if (!model.emptiesAtNight) {
      return { ...NO_ESTIMATE, ...doorMetrics(model) };
    }
    function minuteAt(ms: number): number {
      return Math.floor((ms - day.startMs) / MINUTE_MS);
    }
    const fromMs = day.startMs + this.#state.minutes * MINUTE_MS;
    const counts = minutesOf(this.#people, { startMs: fromMs, endMs: atMs + 1_000 }).map(
      ({ startMs, counts: [entered = 0, exited = 0] }) => ({
        minute: minuteAt(startMs),
        entered,
        exited,
      }),
    );
    this.#state = continueEstimate(
      model,
      this.#state,
      counts,
      minuteAt(atMs + 1_000),
      closingMinute,
    );
    const now = continueEstimate(model, this.#state, [], minuteAt(atMs) + 1, closingMinute);
    return { people: estimateFrom(model, now), fault: now.fault ?? 'none', ...doorMetrics(model) };
  }

  #doorsOf(day: Span): DayDoors {
    const { calendar, description, timezone } = this.#history;
    const model = learnDoors(this.#days.slice(-HISTORY_DAYS), weekdayOf(calendar, day));
    const closingMinute = findClosingMinute(day, description.openingHours, timezone);
    return { day, model, closingMinute };
  }
}

/** The minutes that are over at the end of a span. */
function minutesOf({ span, minutes }: MinuteHistory, { startMs, endMs }: Span): Minutes {
  const first = Math.round((startMs - span.startMs) / MINUTE_MS);
  const last = Math.floor((Math.min(endMs, span.endMs) - span.startMs) / MINUTE_MS);
  return Array.from({ length: Math.max(0, last - first) }, (_, i) => ({
    startMs: span.startMs + (first + i) * MINUTE_MS,
    counts: minutes.map((counts) => Math.max(0, counts[first + i] ?? 0)),
  }));
}
