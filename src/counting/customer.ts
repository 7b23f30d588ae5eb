/**
 * One customer: the state of its streams, the results of its polls, and from these its values at any
 * instant. A new period or day hides the values of the old one at the moment of the scrape (rule 8).
 */
import { COUNTERS, isMinuteStream, MINUTE_STREAMS } from '../base/model.ts';
import type { Breakdown, CounterName, KeyTimes, MinuteStream, Stream } from '../base/model.ts';
import type { BreakdownOutcome } from './breakdowns/poll-breakdown.ts';
import { BranchSites } from './branches/sites.ts';
import { Breakdowns } from './breakdowns/breakdown-states.ts';
import type { CountedDevice } from './breakdowns/breakdown-states.ts';
import { Devices } from './devices.ts';
import { monthName, runningPeriod } from './calendar/calendar.ts';
import type { Calendar, CountingPeriod } from './calendar/calendar.ts';
import { CountedDays } from './past/counted-days.ts';
import { countOf } from './rows/counts.ts';
import { MINUTE_MS } from '../base/duration.ts';
import { counterValues, MAX_OCCUPANCY_AGE_MS } from './customer-metrics.ts';
import type {
  CounterValues,
  CustomerDescription,
  CustomerMetrics,
  MetricsSource,
  StreamMetrics,
  OccupancySeries,
} from './customer-metrics.ts';
import { failed, skipped, succeeded } from './totals/health.ts';
import type { Health } from './totals/health.ts';
import type { CounterOwner, HighWaterMarks } from './high-water-marks.ts';
import { pastDays } from './past/past.ts';
import type { Past } from './past/past.ts';
import { usualLogins } from './past/usual.ts';
import { changesOfCustomer, problemsOfCustomer } from './customer-problems.ts';
import type { CustomerFacts, StreamFacts } from './customer-problems.ts';
import { inOrder, PROBLEMS, remembered } from './problems.ts';
import type { Problem, RememberedProblems } from './problems.ts';
import { Site } from './site.ts';
import type { Silences } from './site.ts';
import { CountedStream } from './stream.ts';
import type { PollOutcome } from './totals/state.ts';

export interface CustomerOptions {
  readonly name: string;
  readonly timezone: string;
  readonly description: CustomerDescription;
  readonly calendar: Calendar;
  readonly keyTimes: KeyTimes;
  readonly streams: readonly MinuteStream[];
  readonly owner: CounterOwner;
  readonly marks: HighWaterMarks;
}

/** How often people and logins, and breakdowns, are polled. */
export interface PollIntervals {
  readonly intervalMs: number;
  readonly breakdownIntervalMs: number;
}

/** Problems of the customer and its branches. */
interface FoundProblems {
  readonly problems: readonly Problem[];
  readonly atMs: number;
  readonly validUntilMs: number;
}

/** What a poll of a customer has found. */
export type CustomerOutcome =
  | ({ readonly kind: 'stream'; readonly stream: MinuteStream } & PollOutcome)
  | ({ readonly kind: 'breakdown'; readonly stream: Breakdown } & BreakdownOutcome);

export class Customer implements MetricsSource {
  readonly customer: string;
  readonly breakdowns: Breakdowns;
  readonly devices: Devices;
  readonly #options: CustomerOptions;
  readonly #streams: Readonly<Record<MinuteStream, CountedStream>>;
  /** All of its buildings together; the only one unless it is polled by branch. */
  readonly #site: Site;
  #branches: BranchSites | undefined;
  #labels: CustomerDescription['labels'];
  /** The arguments of {@link usualLogins} at the newest accepted poll; its result is computed when needed. */
  #loginsSoFar: Parameters<typeof usualLogins> | undefined;
  #usualLogins: number | undefined;
  #credentialsValid: boolean | undefined;
  /** The first refusal in a row. */
  #refusedMs: number | undefined;
  /** By the newest values; undefined once they have changed. */
  #found: FoundProblems | undefined;
  /** Its own problems, without those of its buildings: as they were found last; before the first poll, as stored. */
  #ownProblems: readonly Problem[] = [];
  #intervals: PollIntervals = { intervalMs: MINUTE_MS, breakdownIntervalMs: 5 * MINUTE_MS };

  constructor(options: CustomerOptions) {
    this.#options = options;
    this.#labels = options.description.labels;
    const { calendar, timezone, description, owner, marks } = options;
    this.#site = new Site(calendar, timezone, description);
    this.#streams = {
      people: new CountedStream('people', this.#site.days, owner, marks),
      logins: new CountedStream('logins', new CountedDays(calendar), owner, marks),
    };
    this.customer = options.name;
    this.breakdowns = new Breakdowns(options.owner, options.marks);
    this.devices = new Devices(this.breakdowns, calendar, this.#site.days);
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

  get keyTimes(): KeyTimes {
    return this.#options.keyTimes;
  }

  /** Its people or its logins; polled only if it is among {@link streams}. */
  streamOf(stream: MinuteStream): CountedStream {
    return this.#streams[stream];
  }

  /** Returns the running period. That of the high-water marks stays until the next one starts. */
  periodAt(nowMs: number): CountingPeriod {
    return runningPeriod(this.calendar, this.#periodOfMarks(nowMs), nowMs);
  }

  /** Takes the outcome of a poll that succeeded. */
  polled(outcome: CustomerOutcome, nowMs: number): void {
    if (outcome.kind === 'stream') {
      this.pollSucceeded(outcome.stream, outcome, nowMs);
    } else {
      this.breakdownSucceeded(outcome.stream, outcome, nowMs);
    }
  }

  pollSucceeded(
    name: MinuteStream,
    { state, result }: Pick<PollOutcome, 'state' | 'result'>,
    nowMs: number,
  ): void {
    const stream = this.#streams[name];
    if (stream.polled(state, nowMs) && name === 'people') {
      this.#site.countsChanged();
      this.#countBranches();
    }
    this.#updateLoginsSoFar();
    this.#found = undefined;
    stream.health = succeeded(stream.health, result, nowMs);
  }

  breakdownSucceeded(
    breakdown: Breakdown,
    { state, result }: Pick<BreakdownOutcome, 'state' | 'result'>,
    nowMs: number,
  ): void {
    this.breakdowns.polled(breakdown, state, nowMs);
    this.#found = undefined;
    this.breakdowns.setHealth(breakdown, succeeded(this.#healthOf(breakdown), result, nowMs));
  }

  /** `message` must not contain secrets. */
  pollFailed(stream: Stream, message: string, nowMs: number): void {
    this.#found = undefined;
    this.#setHealth(stream, failed(this.#healthOf(stream), message, nowMs));
  }

  pollSkipped(stream: Stream): void {
    this.#setHealth(stream, skipped(this.#healthOf(stream)));
  }

  credentialsChecked(valid: boolean, nowMs: number): void {
    this.#found = undefined;
    this.#credentialsValid = valid;
    if (valid) {
      this.#ownProblems = this.#ownProblems.filter(({ kind }) => kind !== 'credentials_refused');
    }
    this.#refusedMs = valid ? undefined : (this.#refusedMs ?? nowMs);
  }

  setIntervals(intervals: PollIntervals): void {
    this.#intervals = intervals;
  }

  /** Whether the service accepted the credentials; undefined before its first response. */
  get credentialsValid(): boolean | undefined {
    return this.#credentialsValid;
  }

  setDescription({ labels, branches, ...site }: CustomerDescription): void {
    const { calendar, timezone } = this.#options;
    this.#found = undefined;
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

  /** The names of its buildings by id; empty if it is not polled by branch. */
  get branchNames(): ReadonlyMap<string, string> {
    return this.#branches?.names ?? new Map<string, string>();
  }

  /** Returns whether it is open; undefined without opening hours. */
  isOpenAt(atMs: number): boolean | undefined {
    return this.#site.isOpenAt(atMs);
  }

  /** Takes the past of a stream as the service has it. */
  pastRead(stream: MinuteStream, past: Past): void {
    this.#found = undefined;
    if (stream === 'people') {
      this.#site.pastRead(past);
      this.#countBranches();
    } else {
      this.#streams.logins.days.pastRead(past);
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
      const { state, health, days } = this.#streams[stream];
      const { snapshot } = state;
      const totals = snapshot?.period.startMs === period.startMs ? snapshot.totals : undefined;
      const today = snapshot?.day.startMs === dayStartMs ? snapshot.today : undefined;
      COUNTERS[stream].forEach((counter, i) => {
        counters[counter] = counterValues(
          totals && marks.ofPeriod(owner, counter, period.startMs),
          totals && countOf(totals, i),
          today && countOf(today, i),
        );
      });
      streams[stream] = { ...health, lastSeenMs: days.lastSeenAt(nowMs) };
    }
    for (const breakdown of this.breakdowns.configured) {
      streams[breakdown] = { ...this.#healthOf(breakdown), lastSeenMs: undefined };
    }
    const facts = this.#facts(nowMs);
    const { problems, isCurrent } = problemsOfCustomer(facts, nowMs, this.#ownProblems);
    if (facts.streams.every(({ health }) => health.up !== undefined)) {
      this.#ownProblems = problems;
    }
    const around = { isCurrent, loginMs: this.#streams.logins.days.lastSeenAt(nowMs) };
    const devices = this.devices.countedIn(period);
    const silences = this.#silencesOf(devices, period);
    const branches = this.#branches?.metricsAt(nowMs, around, silences);
    const breakdowns = this.breakdowns.metricsAt(
      period.startMs,
      dayStartMs,
      this.devices.metricsOf(devices, silences),
    );
    const site = this.#site.metricsAt(nowMs, {
      ...around,
      others: undefined,
      silences: silences.get(null),
    });
    const metrics: CustomerMetrics = {
      customer: name,
      timezone,
      labels: this.#labels,
      utcOffsetSeconds: calendar.zone.offsetMsAt(nowMs) / 1000,
      periodStartMs: period.startMs,
      month: monthName(period.month),
      credentialsValid: this.credentialsValid,
      ...site,
      problems: inOrder([...problems, ...(branches === undefined ? site.problems : [])]),
      counters,
      breakdowns,
      branches,
      streams,
      validUntilMs: this.#validUntil(nowMs, facts),
    };
    const ofBranches = (branches ?? []).flatMap((branch) => branch.problems);
    this.#found = {
      problems: inOrder([...metrics.problems, ...ofBranches]),
      atMs: nowMs,
      validUntilMs: metrics.validUntilMs,
    };
    return metrics;
  }

  /** Returns its problems and those of its branches, causes first. Computed when they may have changed. */
  problemsAt(nowMs: number): readonly Problem[] {
    const known = this.#found;
    if (known === undefined || nowMs < known.atMs || nowMs >= known.validUntilMs) {
      this.metricsAt(nowMs);
    }
    return this.#found?.problems ?? [];
  }

  /** What a restart must know of its problems. Cheap without problems. */
  get rememberedProblems(): RememberedProblems {
    const ofSites = this.#branches?.problems ?? [];
    const own = this.#branches === undefined ? this.#site.problems : [];
    const all = [[null, [...this.#ownProblems, ...own]] as const, ...ofSites];
    return new Map(
      all
        .map(([key, problems]) => [key, remembered(problems)] as const)
        .filter(([, problems]) => problems.length > 0),
    );
  }

  /** Takes the problems that were stored, before the first poll. */
  restoreProblems(stored: RememberedProblems): void {
    const problems = stored.get(null) ?? [];
    this.#ownProblems = problems.filter(({ kind }) => PROBLEMS[kind].of === 'customer');
    this.#site.problems = problems.filter(({ kind }) => PROBLEMS[kind].of === 'site');
    this.#branches?.restoreProblems(stored);
  }

  /** Returns what devices have missed, by building; undefined where that is not known. */
  #silencesOf(devices: readonly CountedDevice[] | undefined, period: CountingPeriod) {
    const sites = this.#branches?.sites ?? new Map([[null, this.#site]]);
    const buildings = this.#branches === undefined ? 'one' : 'branches';
    const bySite = devices && this.devices.bySite(devices, period, buildings);
    const silences = new Map<string | null, Silences | undefined>();
    for (const [key, site] of sites) {
      silences.set(key, site.silencesOf(bySite && (bySite.get(key) ?? [])));
    }
    return silences;
  }

  #facts(nowMs: number): CustomerFacts {
    const { intervalMs, breakdownIntervalMs } = this.#intervals;
    const { people, logins } = this.#streams;
    const streams: StreamFacts[] = this.streams.map((stream) => ({
      stream,
      intervalMs,
      health: this.#healthOf(stream),
    }));
    if (this.breakdowns.configured.includes('branch')) {
      const health = this.#healthOf('branch');
      streams.push({ stream: 'branch', intervalMs: breakdownIntervalMs, health });
    }
    return {
      refusedMs: this.#refusedMs,
      streams,
      unreadableMs: people.unreadableMs ?? logins.unreadableMs,
      logins: { missed: this.#usualLoginsAt(nowMs), lastMs: logins.days.lastSeenAt(nowMs) },
    };
  }

  /** Gives the branches the counts of the newest accepted poll, and the days before once they were compared. */
  #countBranches(): void {
    const { today, past } = this.#site.days;
    this.#branches?.counted(today && { today, past: past && pastDays(past) });
  }

  /** Those of the day before stay until both streams were polled on a new day. */
  #updateLoginsSoFar(): void {
    const { past, days } = this.#site;
    const { past: ofLogins, today: loginsToday } = this.#streams.logins.days;
    const { today } = days;
    if (!past || !today || !ofLogins || !loginsToday) {
      this.#loginsSoFar = undefined;
      return;
    }
    const starts = [past.people.today, ofLogins.today, loginsToday.counts.day];
    if (starts.every(({ startMs }) => startMs === today.counts.day.startMs)) {
      this.#loginsSoFar = [past, ofLogins, today, loginsToday];
      this.#usualLogins = undefined;
    }
  }

  /** Logins to be expected, unless values of one of the streams are too old. */
  #usualLoginsAt(nowMs: number): number | undefined {
    const isFresh = MINUTE_STREAMS.every((stream) => {
      const atMs = this.#streams[stream].days.newest?.atMs ?? Infinity;
      return Math.abs(nowMs - atMs) <= MAX_OCCUPANCY_AGE_MS;
    });
    if (!isFresh || this.#loginsSoFar === undefined) {
      return undefined;
    }
    this.#usualLogins ??= usualLogins(...this.#loginsSoFar);
    return this.#usualLogins;
  }

  /** Periods end with a day. */
  #validUntil(nowMs: number, facts: CustomerFacts): number {
    const loginsAtMs = this.#streams.logins.days.newest?.atMs ?? Infinity;
    const changes = [
      ...this.#site.changesAfter(nowMs),
      this.calendar.zone.nextTransitionAfter(nowMs),
      loginsAtMs + MAX_OCCUPANCY_AGE_MS + 1,
      ...changesOfCustomer(facts, this.#ownProblems),
      ...(this.#branches?.changesAfter(nowMs) ?? []),
    ];
    return Math.min(...changes.filter((atMs) => atMs > nowMs));
  }

  /** Returns the newest period with marks that has begun. */
  #periodOfMarks(nowMs: number): { startMs: number; month: number } | undefined {
    const newest = this.streams
      .flatMap((stream) => this.#streams[stream].marksAt(nowMs))
      .toSorted((a, b) => b.periodStartMs - a.periodStartMs)[0];
    return newest && { startMs: newest.periodStartMs, month: newest.month };
  }

  #healthOf(stream: Stream): Health {
    return isMinuteStream(stream) ? this.#streams[stream].health : this.breakdowns.healthOf(stream);
  }

  #setHealth(stream: Stream, health: Health): void {
    if (isMinuteStream(stream)) {
      this.#streams[stream].health = health;
    } else {
      this.breakdowns.setHealth(stream, health);
    }
  }
}
