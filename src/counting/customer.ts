/**
 * One customer: the state of its streams, the results of its polls, and from these its values at any
 * instant. A new period or day hides the values of the old one at the moment of the scrape (rule 8).
 */
import { COUNTERS } from '../base/model.ts';
import type { Breakdown, CounterName, MinuteStream, Stream } from '../base/model.ts';
import type { BreakdownOutcome } from './breakdowns/poll-breakdown.ts';
import { BranchSites } from './branches/branch-sites.ts';
import { Breakdowns } from './breakdowns/breakdown-states.ts';
import { runningPeriod } from './calendar/calendar.ts';
import type { Calendar, CountingPeriod, Span } from './calendar/calendar.ts';
import { countOf } from './rows/counts.ts';
import { counterValues, MAX_OCCUPANCY_AGE_MS, UNPOLLED } from './customer-metrics.ts';
import type {
  CounterValues,
  CustomerDescription,
  CustomerMetrics,
  Health,
  MetricsSource,
  StreamMetrics,
  OccupancySeries,
} from './customer-metrics.ts';
import type { CounterOwner, HighWaterMarks } from './high-water-marks.ts';
import { continueHistory, lastSeenAt, pastDays } from './occupancy/history.ts';
import type { History } from './occupancy/history.ts';
import { usualLogins } from './occupancy/usual.ts';
import { Site } from './site.ts';
import type { AcceptedTotals } from './totals/plausibility.ts';
import { INITIAL_STATE } from './totals/state.ts';
import type { PollOutcome, PollResult, StreamState } from './totals/state.ts';

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
  readonly breakdowns: Breakdowns;
  readonly #options: CustomerOptions;
  readonly #streams = new Map<MinuteStream, StreamState>();
  readonly #health = new Map<Stream, Health>();
  /** All of its buildings together; the only one unless it is polled by branch. */
  readonly #site: Site;
  #branches: BranchSites | undefined;
  #labels: CustomerDescription['labels'];
  #loginHistory: History | undefined;
  /** The day that it was last read for. */
  #loginHistoryDay: Span | undefined;
  /** The arguments of {@link usualLogins} at the newest accepted poll; its result is computed when needed. */
  #loginsSoFar: Parameters<typeof usualLogins> | undefined;
  #usualLogins: number | undefined;
  #period: CountingPeriod | undefined;
  #credentialsValid: boolean | undefined;

  constructor(options: CustomerOptions) {
    this.#options = options;
    this.#labels = options.description.labels;
    this.#site = new Site(options.calendar, options.timezone, options.description);
    this.customer = options.name;
    this.breakdowns = new Breakdowns(options.owner, options.marks);
    this.setDescription(options.description);
  }

  get owner(): CounterOwner {
    return this.#options.owner;
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

  /** Returns the running period. That of the high-water marks stays until the next one starts. */
  periodAt(nowMs: number): CountingPeriod {
    const running = this.#period ?? this.#periodOfMarks();
    this.#period = runningPeriod(this.calendar, running, nowMs);
    return this.#period;
  }

  /** `nowMs` is the later one of our clock and the service's: ours may be behind at the start. */
  discardFuturePeriods(nowMs: number): void {
    this.#options.marks.discardFuture(this.#options.owner, nowMs);
  }

  /** Returns the high-water marks of a period; undefined unless every counter of the stream has one. */
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
    const { owner, marks, calendar } = this.#options;
    const { snapshot } = state;
    const before = this.stateOf(stream).snapshot;
    if (snapshot !== undefined && snapshot !== before) {
      if (stream === 'people') {
        this.#site.counted(snapshot);
      } else if (before?.day.startMs !== snapshot.day.startMs) {
        const history = this.#loginHistory;
        this.#loginHistory = continueHistory(calendar, history, before, snapshot.day);
      }
    }
    if (snapshot !== undefined) {
      COUNTERS[stream].forEach((counter, i) => {
        marks.update(owner, counter, snapshot.period, countOf(snapshot.totals, i), nowMs);
      });
    }
    this.#streams.set(stream, state);
    if (stream === 'people' && snapshot !== before) {
      this.#countBranches();
    }
    this.#updateLoginsSoFar();
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

  setDescription({ labels, branches, ...site }: CustomerDescription): void {
    const { calendar, timezone } = this.#options;
    this.#labels = labels;
    this.#site.setDescription({ ...site, estimate: site.estimate && branches === undefined });
    if (branches === undefined || !this.streams.includes('people')) {
      this.#branches = undefined;
    } else if (this.#branches === undefined) {
      this.#branches = new BranchSites(calendar, timezone, branches);
      this.#countBranches();
    } else {
      this.#branches.setDescriptions(branches);
    }
    this.#updateLoginsSoFar();
  }

  /** Its buildings, if it is polled by branch. */
  get branches(): BranchSites | undefined {
    return this.#branches;
  }

  /** Ids and names of its buildings, if it is polled by branch, in any order. */
  get branchNames(): readonly string[] {
    const { keys } = this.#branches ?? {};
    return keys === undefined ? [] : [...keys, ...this.breakdowns.branchNames];
  }

  /** Returns whether it is open; undefined without opening hours. */
  isOpenAt(atMs: number): boolean | undefined {
    return this.#site.isOpenAt(atMs);
  }

  /** Returns the day that the history of a stream was last read for, if it was. */
  historyDay(stream: MinuteStream): Span | undefined {
    return stream === 'people'
      ? this.#site.historyDay
      : this.#loginHistory && this.#loginHistoryDay;
  }

  /** Takes the history of a day as the service has it. */
  historyRead(stream: MinuteStream, history: History): void {
    if (stream === 'people') {
      this.#site.historyRead(history);
      this.#countBranches();
    } else {
      this.#loginHistory = history;
      this.#loginHistoryDay = history.today;
    }
    this.#updateLoginsSoFar();
  }

  /** The results of the polls of each configured stream and breakdown. */
  get health(): Readonly<Partial<Record<Stream, Health>>> {
    const streams = [...this.streams, ...this.breakdowns.configured];
    return Object.fromEntries(streams.map((stream) => [stream, this.#healthOf(stream)]));
  }

  /** Returns today's occupancy so far, however old the last successful poll is; undefined if unknown. */
  occupancySeriesAt(nowMs: number): OccupancySeries | undefined {
    return this.#site.occupancySeriesAt(nowMs);
  }

  metricsAt(nowMs: number): CustomerMetrics {
    const { name, timezone, calendar, owner, marks } = this.#options;
    const period = this.periodAt(nowMs);
    const counters: Partial<Record<CounterName, CounterValues>> = {};
    const streams: Partial<Record<Stream, StreamMetrics>> = {};
    const dayStartMs = calendar.dayAt(nowMs).startMs;
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
      streams[stream] = {
        ...this.#healthOf(stream),
        lastSeenMs: this.#lastSeenAt(nowMs, stream),
      };
    }
    for (const breakdown of this.breakdowns.configured) {
      streams[breakdown] = { ...this.#healthOf(breakdown), lastSeenMs: undefined };
    }
    const branches = this.#branches?.metricsAt(nowMs);
    const sites = branches?.map(({ key }) => key) ?? [];
    const breakdowns = this.breakdowns.metricsAt(period.startMs, dayStartMs, sites);
    const ofBranches = new Map(breakdowns.branch?.keys.map((branch) => [branch.key, branch]));
    return {
      customer: name,
      timezone,
      labels: this.#labels,
      utcOffsetSeconds: calendar.zone.offsetMsAt(nowMs) / 1000,
      periodStartMs: period.startMs,
      credentialsValid: this.credentialsValid,
      ...this.#site.metricsAt(nowMs),
      usualLogins: this.#usualLoginsAt(nowMs),
      counters,
      breakdowns,
      branches: branches?.map((branch) => ({
        ...branch,
        counters: ofBranches.get(branch.key)?.counters ?? {},
      })),
      streams,
      validUntilMs: this.#validUntil(nowMs),
    };
  }

  /** Gives the branches the counts of the newest accepted poll, and the days before once they were read. */
  #countBranches(): void {
    if (this.#branches === undefined) {
      return;
    }
    const { order, atMs = -Infinity } = this.stateOf('people').snapshot ?? {};
    const { history, historyDay } = this.#site;
    const isRead = history !== undefined && historyDay?.startMs === order?.minutes.day.startMs;
    const past = isRead ? pastDays(history) : undefined;
    const counts = order && { today: order.minutes, endMs: order.endMs, past };
    this.#branches.counted(counts, atMs);
  }

  /** Undefined if keys cannot be parsed. */
  #lastSeenAt(nowMs: number, stream: MinuteStream): number | undefined {
    const { order } = this.stateOf(stream).snapshot ?? {};
    if (order === undefined) {
      return undefined;
    }
    return stream === 'people'
      ? this.#site.lastSeenAt(nowMs)
      : lastSeenAt(this.calendar, nowMs, order.lastSeenMs, this.#loginHistory);
  }

  /** Those of the day before stay until both streams were polled on a new day. */
  #updateLoginsSoFar(): void {
    const { past, today } = this.#site;
    const { order, atMs = NaN } = this.stateOf('logins').snapshot ?? {};
    const history = this.#loginHistory;
    if (past === undefined || today === undefined || history === undefined || order === undefined) {
      this.#loginsSoFar = undefined;
      return;
    }
    const loginsToday = { counts: order.minutes, endMs: order.endMs, atMs };
    const days = [past.people.today, history.today, order.minutes.day];
    if (days.every(({ startMs }) => startMs === today.counts.day.startMs)) {
      this.#loginsSoFar = [past, history, today, loginsToday];
      this.#usualLogins = undefined;
    }
  }

  /** Logins to be expected, unless values of one of the streams are too old. */
  #usualLoginsAt(nowMs: number): number | undefined {
    const isFresh = (['people', 'logins'] as const).every((stream) => {
      const atMs = this.stateOf(stream).snapshot?.atMs ?? Infinity;
      return Math.abs(nowMs - atMs) <= MAX_OCCUPANCY_AGE_MS;
    });
    if (!isFresh || this.#loginsSoFar === undefined) {
      return undefined;
    }
    this.#usualLogins ??= usualLogins(...this.#loginsSoFar);
    return this.#usualLogins;
  }

  /** Periods end with a day. */
  #validUntil(nowMs: number): number {
    const loginsAtMs = this.stateOf('logins').snapshot?.atMs ?? Infinity;
    const changes = [
      ...this.#site.changesAfter(nowMs),
      this.calendar.zone.nextTransitionAfter(nowMs),
      loginsAtMs + MAX_OCCUPANCY_AGE_MS + 1,
      ...(this.#branches?.changesAfter(nowMs) ?? []),
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
