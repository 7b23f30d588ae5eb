/**
 * One customer: its streams' newest snapshots, how its polls went, and from both the figures at any
 * instant. What is shown changes with the time of the asking, not of the polling: a new epoch or day
 * hides the old one's figures at once.
 */
import { COUNTERS } from '../base/model.ts';
import type { Breakdown, CounterName, MinuteStream, Stream } from '../base/model.ts';
import type { Believed } from './belief.ts';
import type { BreakdownState, KnownByKey } from './breakdown.ts';
import { Breakdowns } from './breakdowns.ts';
import type { BreakdownSettings } from './breakdowns.ts';
import { runningPeriod } from './calendar.ts';
import type { Calendar, CountingPeriod } from './calendar.ts';
import { at } from './counts.ts';
import { describedAt } from './description.ts';
import type { CustomerDescription } from './description.ts';
import type {
  CustomerMetrics,
  MetricsSource,
  CounterValues,
  StreamMetrics,
} from './customer-metrics.ts';
import { afterFailure, afterSkip, afterSuccess, UNPOLLED } from './health.ts';
import type { Health } from './health.ts';
import type { CounterOwner, HighWaterMarks } from './high-water-marks.ts';
import {
  counterValuesOf,
  lastSeenOf,
  occupancyEndMs,
  occupancyOf,
  occupancyPathAt,
} from './shown.ts';
import type { OccupancyPath, StreamRecord } from './shown.ts';
import { INITIAL_STATE } from './state.ts';
import type { StreamState } from './state.ts';

export interface CustomerOptions {
  readonly name: string;
  readonly timezone: string;
  readonly description: CustomerDescription;
  readonly calendar: Calendar;
  readonly streams: readonly MinuteStream[];
  readonly owner: CounterOwner;
  readonly marks: HighWaterMarks;
}

export class Customer implements MetricsSource {
  readonly customer: string;
  readonly #options: CustomerOptions;
  // No maps: of ten thousand customers they would take ten megabytes.
  readonly #streams: Partial<Record<MinuteStream, StreamRecord>> = {};
  readonly #health: Partial<Record<Stream, Health>> = {};
  /** Only where there are any, for most customers have none. */
  #breakdowns: Breakdowns | undefined;
  #description: CustomerDescription;
  #epoch: CountingPeriod | undefined;
  #credentialsValid: boolean | undefined;

  constructor(options: CustomerOptions) {
    this.#options = options;
    this.#description = options.description;
    this.customer = options.name;
    for (const stream of options.streams) {
      this.#streams[stream] = { state: INITIAL_STATE, shown: [] };
      this.#health[stream] = UNPOLLED;
    }
  }

  get streams(): readonly MinuteStream[] {
    return this.#options.streams;
  }

  get breakdowns(): readonly Breakdown[] {
    return this.#breakdowns?.configured ?? [];
  }

  get calendar(): Calendar {
    return this.#options.calendar;
  }

  stateOf(stream: MinuteStream): StreamState {
    return this.#record(stream).state;
  }

  breakdownStateOf(breakdown: Breakdown): BreakdownState {
    return this.#ownBreakdowns().stateOf(breakdown);
  }

  /** The running epoch; the one of the marks stays until the next begins. */
  periodAt(nowMs: number): CountingPeriod {
    const running = this.#epoch ?? this.#periodOfMarks();
    this.#epoch = runningPeriod(this.calendar, running, nowMs);
    return this.#epoch;
  }

  /** `nowMs` is the later one of our clock and the service's: ours may be behind at the start. */
  discardFuturePeriods(nowMs: number): void {
    this.#options.marks.discardFuture(this.#options.owner, nowMs);
  }

  /** The highest values shown in the running epoch, before any poll of this process. */
  marksOf(stream: MinuteStream, epoch: CountingPeriod): Believed | undefined {
    const { owner, marks } = this.#options;
    const known = COUNTERS[stream].map((kind) => marks.ofPeriod(owner, kind, epoch.startMs));
    const ofPeriod = known.filter((mark) => mark !== undefined);
    return ofPeriod.length < known.length
      ? undefined
      : {
          totals: ofPeriod.map(({ value }) => value),
          atMs: Math.max(...ofPeriod.map(({ atMs }) => atMs)),
        };
  }

  /** The same of every key of a breakdown, by this process too. */
  marksOfKeys(breakdown: Breakdown, epoch: CountingPeriod): KnownByKey | undefined {
    return this.#ownBreakdowns().marksOf(breakdown, epoch);
  }

  pollSucceeded(stream: MinuteStream, state: StreamState, nowMs: number): void {
    const record = this.#record(stream);
    record.state = state;
    const { snapshot } = state;
    if (snapshot !== undefined) {
      const { owner, marks } = this.#options;
      record.shown = COUNTERS[stream].map((kind, i) =>
        marks.update(owner, kind, snapshot.epoch, at(snapshot.totals, i), nowMs),
      );
    }
    this.#health[stream] = afterSuccess(this.#healthOf(stream), nowMs);
  }

  breakdownSucceeded(breakdown: Breakdown, state: BreakdownState, nowMs: number): void {
    this.#ownBreakdowns().polled(breakdown, state, nowMs);
    this.#health[breakdown] = afterSuccess(this.#healthOf(breakdown), nowMs);
  }

  /** `message` is safe to show. */
  pollFailed(stream: Stream, message: string, nowMs: number): void {
    this.#health[stream] = afterFailure(this.#healthOf(stream), message, nowMs);
  }

  turnSkipped(stream: Stream): void {
    this.#health[stream] = afterSkip(this.#healthOf(stream));
  }

  /** By what its people are counted too, from now on. Those that stay go on with what they have counted. */
  breakDown(settings: BreakdownSettings): void {
    const { owner, marks } = this.#options;
    const { breakdowns } = settings;
    // How the polls of one went that is gone is kept: its counters must not fall when it comes back.
    breakdowns.forEach((breakdown) => {
      this.#health[breakdown] ??= UNPOLLED;
    });
    const isNone = breakdowns.length === 0;
    this.#breakdowns = isNone ? undefined : (this.#breakdowns ?? new Breakdowns(owner, marks));
    this.#breakdowns?.configure(settings);
  }

  describe(description: CustomerDescription): void {
    this.#description = description;
  }

  credentialsJudged(valid: boolean): void {
    this.#credentialsValid = valid;
  }

  /** What the service said of the credentials last; undefined before it said anything. */
  get credentialsValid(): boolean | undefined {
    return this.#credentialsValid;
  }

  /** How the polls of each configured stream and breakdown go. */
  get health(): Readonly<Partial<Record<Stream, Health>>> {
    const streams = [...this.streams, ...this.breakdowns];
    return Object.fromEntries(streams.map((stream) => [stream, this.#healthOf(stream)]));
  }

  /** How today's occupancy went; undefined where that is not known. */
  occupancyPathAt(nowMs: number): OccupancyPath | undefined {
    return occupancyPathAt(this.#streams.people, this.calendar, nowMs);
  }

  metricsAt(nowMs: number): CustomerMetrics {
    const { name, timezone, calendar } = this.#options;
    const epoch = this.periodAt(nowMs);
    const counters: Partial<Record<CounterName, CounterValues>> = {};
    const streams: Partial<Record<Stream, StreamMetrics>> = {};
    const dayStartMs = calendar.dayAt(nowMs).startMs;
    for (const stream of this.streams) {
      const record = this.#record(stream);
      COUNTERS[stream].forEach((kind, i) => {
        counters[kind] = counterValuesOf(record, i, epoch, dayStartMs);
      });
      const lastSeenMs = lastSeenOf(record, calendar, nowMs);
      streams[stream] = { ...this.#healthOf(stream), lastSeenMs };
    }
    for (const breakdown of this.breakdowns) {
      streams[breakdown] = { ...this.#healthOf(breakdown), lastSeenMs: undefined };
    }
    return {
      customer: name,
      timezone,
      ...describedAt(this.#description, calendar.zone, timezone, nowMs),
      periodStartMs: epoch.startMs,
      credentialsValid: this.#credentialsValid,
      occupancy: occupancyOf(this.#streams.people, calendar, nowMs),
      counters,
      breakdowns: this.#breakdowns?.metricsAt(nowMs, epoch.startMs, dayStartMs) ?? NO_BREAKDOWNS,
      streams,
      validUntilMs: this.#validUntil(nowMs, epoch),
    };
  }

  #validUntil(nowMs: number, epoch: CountingPeriod): number {
    const { timezone, calendar } = this.#options;
    const { openingHours } = this.#description;
    const people = this.#streams.people;
    return Math.min(
      epoch.endMs,
      calendar.dayAt(nowMs).endMs,
      calendar.zone.nextTransitionAfter(nowMs),
      openingHours?.nextChangeAfter(nowMs, timezone) ?? Infinity,
      ifAfter(nowMs, occupancyEndMs(people)),
      ifAfter(nowMs, this.#breakdowns?.occupancyEndMs() ?? Infinity),
    );
  }

  #periodOfMarks(): { startMs: number; month: number } | undefined {
    const { owner, marks } = this.#options;
    const newest = this.streams
      .flatMap((stream) => COUNTERS[stream].map((kind) => marks.get(owner, kind)))
      .filter((mark) => mark !== undefined)
      .toSorted((a, b) => b.periodStartMs - a.periodStartMs)[0];
    return newest && { startMs: newest.periodStartMs, month: newest.month };
  }

  #record(stream: MinuteStream): StreamRecord {
    return this.#known(stream, this.#streams[stream]);
  }

  #healthOf(stream: Stream): Health {
    return this.#known(stream, this.#health[stream]);
  }

  #ownBreakdowns(): Breakdowns {
    return this.#known('breakdowns', this.#breakdowns);
  }

  #known<Thing>(name: string, thing: Thing | undefined): Thing {
    if (thing === undefined) {
      throw new Error(`customer ${this.customer} has no ${name}`);
    }
    return thing;
  }
}

function ifAfter(nowMs: number, instantMs: number): number {
  return instantMs > nowMs ? instantMs : Infinity;
}

const NO_BREAKDOWNS: CustomerMetrics['breakdowns'] = {};
