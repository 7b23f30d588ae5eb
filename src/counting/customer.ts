/**
 * One customer: the state of its streams, the results of its polls, and from these its values at any
 * instant. A new period or day hides the values of the old one at the moment of the scrape (rule 8).
 */
import { COUNTERS } from '../base/model.ts';
import type { Breakdown, CounterName, MinuteStream, Stream } from '../base/model.ts';
import type { BreakdownOutcome } from './breakdowns/poll-breakdown.ts';
import { Breakdowns } from './breakdowns/breakdown-states.ts';
import { contains, runningPeriod } from './calendar/calendar.ts';
import type { Calendar, CountingPeriod, Span } from './calendar/calendar.ts';
import { countOf } from './rows/counts.ts';
import {
  counterValues,
  descriptionMetrics,
  doorMetrics,
  MAX_OCCUPANCY_AGE_MS,
  NO_ESTIMATE,
  UNPOLLED,
} from './customer-metrics.ts';
import type {
  CounterValues,
  CustomerDescription,
  CustomerMetrics,
  EstimateMetrics,
  Health,
  MetricsSource,
  StreamMetrics,
  OccupancySeries,
} from './customer-metrics.ts';
import type { DoorModel } from './occupancy/door-model.ts';
import type { CounterOwner, HighWaterMarks } from './high-water-marks.ts';
import { CURVE_STEP_MS, occupancyAt, occupancyCurve } from './occupancy/occupancy.ts';
import type { AcceptedTotals } from './totals/plausibility.ts';
import { INITIAL_STATE } from './totals/state.ts';
import type { PollOutcome, PollResult, Snapshot, StreamState } from './totals/state.ts';
import { estimateToday, findClosingMinute } from './occupancy/today-estimate.ts';
import type { DayDoors, TodayEstimate } from './occupancy/today-estimate.ts';

export interface CustomerOptions {
  readonly name: string;
  readonly timezone: string;
  readonly description: CustomerDescription;
  readonly calendar: Calendar;
  readonly streams: readonly MinuteStream[];
  readonly owner: CounterOwner;
  readonly marks: HighWaterMarks;
}

/** What the order of today's minutes shows of the people inside. */
interface Inside {
  readonly occupancy: number;
  /** Undefined while the doors are not known. */
  readonly estimate: TodayEstimate | undefined;
}

export class Customer implements MetricsSource {
  readonly customer: string;
  readonly breakdowns: Breakdowns;
  readonly #options: CustomerOptions;
  readonly #streams = new Map<MinuteStream, StreamState>();
  readonly #health = new Map<Stream, Health>();
  /** At the last accepted poll of people; undefined if keys cannot be parsed. */
  #inside: Inside | undefined;
  #description: CustomerDescription;
  #period: CountingPeriod | undefined;
  #credentialsValid: boolean | undefined;
  #learned: Pick<DayDoors, 'day' | 'model'> | undefined;
  /** Computed when needed: an evaluation of opening hours is slow. */
  #doors: DayDoors | undefined;

  constructor(options: CustomerOptions) {
    this.#options = options;
    this.#description = options.description;
    this.customer = options.name;
    this.breakdowns = new Breakdowns(options.owner, options.marks);
  }

  get streams(): readonly MinuteStream[] {
    return this.#options.streams;
  }

  get calendar(): Calendar {
    return this.#options.calendar;
  }

  stateOf(stream: MinuteStream): StreamState {
    return this.#streams.get(stream) ?? INITIAL_STATE;
  }

  /** The running period. That of the high-water marks stays until the next one starts. */
  periodAt(nowMs: number): CountingPeriod {
    const running = this.#period ?? this.#periodOfMarks();
    this.#period = runningPeriod(this.calendar, running, nowMs);
    return this.#period;
  }

  /** `nowMs` is the later one of our clock and the service's: ours may be behind at the start. */
  discardFuturePeriods(nowMs: number): void {
    this.#options.marks.discardFuture(this.#options.owner, nowMs);
  }

  /** The high-water marks of a period; undefined unless every counter of the stream has one. */
  marksOf(stream: MinuteStream, period: CountingPeriod): AcceptedTotals | undefined {
    const { owner, marks } = this.#options;
    const perCounter = COUNTERS[stream].map((counter) =>
      marks.ofPeriod(owner, counter, period.startMs),
    );
    const ofPeriod = perCounter.filter((mark) => mark !== undefined);
    return ofPeriod.length < perCounter.length
      ? undefined
      : {
          totals: ofPeriod.map(({ value }) => value),
          atMs: Math.max(...ofPeriod.map(({ atMs }) => atMs)),
        };
  }

  pollSucceeded(
    stream: MinuteStream,
    { state, result }: Pick<PollOutcome, 'state' | 'result'>,
    nowMs: number,
  ): void {
    const { owner, marks } = this.#options;
    const { snapshot } = state;
    if (stream === 'people' && snapshot !== this.stateOf(stream).snapshot) {
      this.#inside = this.#insideOf(snapshot);
    }
    if (snapshot !== undefined) {
      COUNTERS[stream].forEach((counter, i) => {
        marks.update(owner, counter, snapshot.period, countOf(snapshot.totals, i), nowMs);
      });
    }
    this.#streams.set(stream, state);
    this.#countSuccess(stream, result, nowMs);
  }

  breakdownSucceeded(
    breakdown: Breakdown,
    { state, result }: Pick<BreakdownOutcome, 'state' | 'result'>,
    nowMs: number,
  ): void {
    this.breakdowns.polled(breakdown, state, nowMs);
    this.#countSuccess(breakdown, result, nowMs);
  }

  /** `message` must not contain secrets. */
  pollFailed(stream: Stream, message: string, nowMs: number): void {
    const { polls, failures } = this.#healthOf(stream);
    const lastError = { message, atMs: nowMs };
    this.#report(stream, { up: false, polls: polls + 1, failures: failures + 1, lastError });
  }

  pollSkipped(stream: Stream): void {
    this.#report(stream, { skipped: this.#healthOf(stream).skipped + 1 });
  }

  credentialsChecked(valid: boolean): void {
    this.#credentialsValid = valid;
  }

  /** Whether the service accepted the credentials; undefined before its first response. */
  get credentialsValid(): boolean | undefined {
    return this.#credentialsValid;
  }

  setDescription(description: CustomerDescription): void {
    this.#description = description;
    this.#learned = description.estimate ? this.#learned : undefined;
    this.#doors = undefined;
  }

  /** Whether it is open; undefined without opening hours. */
  isOpenAt(atMs: number): boolean | undefined {
    return this.#description.openingHours?.isOpenAt(atMs, this.#options.timezone);
  }

  /** Whether people are to be estimated. */
  get isEstimated(): boolean {
    return this.#description.estimate && this.streams.includes('people');
  }

  /** The day that the doors were learned for, if they were. */
  get doorsDay(): Span | undefined {
    return this.#learned?.day;
  }

  /** Undefined until they are learned, and where the building does not empty at night. */
  get doors(): DayDoors | undefined {
    if (this.#doors === undefined && this.#learned?.model.emptiesAtNight === true) {
      const { day, model } = this.#learned;
      const { openingHours } = this.#description;
      const closingMinute = findClosingMinute(day, openingHours, this.#options.timezone);
      this.#doors = { day, model, closingMinute };
    }
    return this.#doors;
  }

  doorsLearned(day: Span, model: DoorModel): void {
    this.#learned = { day, model };
    this.#doors = undefined;
  }

  /** The results of the polls of each configured stream and breakdown. */
  get health(): Readonly<Partial<Record<Stream, Health>>> {
    const streams = [...this.streams, ...this.breakdowns.configured];
    return Object.fromEntries(streams.map((stream) => [stream, this.#healthOf(stream)]));
  }

  /** Today's occupancy so far, however old the last successful poll is; undefined if unknown. */
  occupancySeriesAt(nowMs: number): OccupancySeries | undefined {
    const snapshot = this.#streams.get('people')?.snapshot;
    const day = this.calendar.dayAt(nowMs);
    if (snapshot?.order === undefined || snapshot.day.startMs !== day.startMs) {
      return undefined;
    }
    const { atMs, order } = snapshot;
    const inside = occupancyCurve(order.minutes, atMs, CURVE_STEP_MS);
    return { day, stepMs: CURVE_STEP_MS, inside, atMs };
  }

  metricsAt(nowMs: number): CustomerMetrics {
    const { name, timezone, calendar, owner, marks } = this.#options;
    const period = this.periodAt(nowMs);
    const counters: Partial<Record<CounterName, CounterValues>> = {};
    const streams: Partial<Record<Stream, StreamMetrics>> = {};
    const dayStartMs = calendar.dayAt(nowMs).startMs;
    const inside = this.#insideAt(nowMs);
    for (const stream of this.streams) {
      const { snapshot } = this.stateOf(stream);
      const totals = snapshot?.period.startMs === period.startMs ? snapshot.totals : undefined;
      const today = snapshot?.day.startMs === dayStartMs ? snapshot.today : undefined;
      COUNTERS[stream].forEach((counter, i) => {
        counters[counter] = counterValues(
          totals && marks.ofPeriod(owner, counter, period.startMs),
          totals && countOf(totals, i),
          today && countOf(today, i),
        );
      });
      const lastSeenMs = ifRecentlySeen(snapshot?.order?.lastSeenMs, calendar, nowMs);
      streams[stream] = { ...this.#healthOf(stream), lastSeenMs };
    }
    for (const breakdown of this.breakdowns.configured) {
      streams[breakdown] = { ...this.#healthOf(breakdown), lastSeenMs: undefined };
    }
    return {
      customer: name,
      timezone,
      ...descriptionMetrics(this.#description, calendar.zone, timezone, nowMs),
      periodStartMs: period.startMs,
      credentialsValid: this.credentialsValid,
      occupancy: inside?.occupancy,
      estimate: this.#estimateAt(nowMs, inside?.estimate),
      counters,
      breakdowns: this.breakdowns.metricsAt(nowMs, period.startMs, dayStartMs),
      streams,
      validUntilMs: this.#validUntil(nowMs),
    };
  }

  #insideOf(snapshot: Snapshot | undefined): Inside | undefined {
    if (snapshot?.order === undefined) {
      return undefined;
    }
    const { minutes, endMs } = snapshot.order;
    const { doors } = this;
    return {
      occupancy: occupancyAt(minutes, endMs),
      estimate:
        doors?.day.startMs === snapshot.day.startMs
          ? estimateToday(doors, minutes, endMs, this.#inside?.estimate)
          : undefined,
    };
  }

  /** Today's, unless it is too old, in both directions: clocks step back, too. */
  #insideAt(nowMs: number): Inside | undefined {
    const snapshot = this.#streams.get('people')?.snapshot;
    return snapshot !== undefined &&
      Math.abs(nowMs - snapshot.atMs) <= MAX_OCCUPANCY_AGE_MS &&
      snapshot.day.startMs === this.calendar.dayAt(nowMs).startMs
      ? this.#inside
      : undefined;
  }

  /** The ratio of the day before stays until that of the day is known. */
  #estimateAt(nowMs: number, estimate: TodayEstimate | undefined): EstimateMetrics {
    const today = this.calendar.dayAt(nowMs);
    const learned = this.#learned;
    if (learned === undefined || learned.day.startMs < this.calendar.dayBefore(today).startMs) {
      return NO_ESTIMATE;
    }
    return {
      people: estimate?.estimate,
      fault: estimate && (estimate.fault ?? 'none'),
      ...doorMetrics(learned.model),
    };
  }

  /** Periods end with a day. */
  #validUntil(nowMs: number): number {
    const { timezone, calendar } = this.#options;
    const { openingHours } = this.#description;
    const polledMs = this.#streams.get('people')?.snapshot?.atMs ?? Infinity;
    const changes = [
      calendar.dayAt(nowMs).endMs,
      calendar.zone.nextTransitionAfter(nowMs),
      openingHours?.nextChangeAfter(nowMs, timezone) ?? Infinity,
      polledMs + MAX_OCCUPANCY_AGE_MS + 1,
      this.breakdowns.occupancyEndMs(),
    ];
    return Math.min(...changes.filter((atMs) => atMs > nowMs));
  }

  #periodOfMarks(): { startMs: number; month: number } | undefined {
    const { owner, marks } = this.#options;
    const newest = this.streams
      .flatMap((stream) => COUNTERS[stream].map((counter) => marks.get(owner, counter)))
      .filter((mark) => mark !== undefined)
      .toSorted((a, b) => b.periodStartMs - a.periodStartMs)[0];
    return newest && { startMs: newest.periodStartMs, month: newest.month };
  }

  #countSuccess(stream: Stream, result: PollResult, nowMs: number): void {
    const { polls, waitingSinceMs } = this.#healthOf(stream);
    this.#report(stream, {
      up: true,
      lastSuccessMs: nowMs,
      polls: polls + 1,
      lastError: undefined,
      ...(result === 'accepted'
        ? { acceptedMs: nowMs, waitingSinceMs: undefined }
        : { waitingSinceMs: waitingSinceMs ?? nowMs }),
    });
  }

  #report(stream: Stream, results: Partial<Health>): void {
    this.#health.set(stream, { ...this.#healthOf(stream), ...results });
  }

  /** Results of a stream, also of a removed breakdown: its counters must not fall if it comes back. */
  #healthOf(stream: Stream): Health {
    return this.#health.get(stream) ?? UNPOLLED;
  }
}

/** An instant of today or the day before; else undefined. */
function ifRecentlySeen(
  lastSeenMs: number | undefined,
  calendar: Calendar,
  nowMs: number,
): number | undefined {
  const today = calendar.dayAt(nowMs);
  const { startMs } = calendar.dayBefore(today);
  return lastSeenMs !== undefined && contains({ startMs, endMs: today.endMs }, lastSeenMs)
    ? lastSeenMs
    : undefined;
}
