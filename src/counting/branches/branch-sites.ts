/**
 * The branches of a customer as buildings: each has the life of a site, and its day comes from windows.
 * Their requests run one by one, behind the polls.
 */
import { compareKeys, MAX_KEYS } from '../breakdowns/poll-breakdown.ts';
import type { Calendar, Span } from '../calendar/calendar.ts';
import type { BranchDescriptions, BranchMetrics, SiteDescription } from '../customer-metrics.ts';
import { createHistory } from '../occupancy/history.ts';
import type { Query } from '../rows/window-reader.ts';
import { Site } from '../site.ts';
import { PAST_WINDOW_MS } from './branch-day.ts';
import { decide, failed } from './branch-responses.ts';
import { NO_BRANCHES } from './branch-state.ts';
import { update } from './branch-update.ts';
import { branchesToday, countedKeys, isPastKnown, pastDaysOf } from './branch-values.ts';
import { plan, requestSums } from './branch-windows.ts';
import type { BranchState, CustomerCounts } from './branch-state.ts';
import type { BranchTask } from './branch-windows.ts';

/** Learning from four weeks takes a millisecond. */
const LEARNED_AT_ONCE = 20;

export class BranchSites {
  readonly #calendar: Calendar;
  readonly #timezone: string;
  /** In the order of their keys. */
  #sites: ReadonlyMap<string, Site> = new Map();
  #descriptions: BranchDescriptions;
  #state: BranchState = NO_BRANCHES;
  /** At the newest accepted poll of the customer; undefined if keys cannot be parsed. */
  #customer: CustomerCounts | undefined;
  /** When that poll was. */
  #atMs = -Infinity;

  /** `timezone` is that of the opening hours. */
  constructor(calendar: Calendar, timezone: string, descriptions: BranchDescriptions) {
    this.#calendar = calendar;
    this.#timezone = timezone;
    this.#descriptions = descriptions;
    this.#addSites();
  }

  /** What is known of the windows: a cache. */
  get state(): BranchState {
    return this.#state;
  }

  /** Takes the windows that were stored, unless others are known already. */
  restore(state: BranchState): void {
    this.#state = this.#state.phase === 'restored' ? state : this.#state;
    this.#addSites();
  }

  setDescriptions(descriptions: BranchDescriptions): void {
    this.#descriptions = descriptions;
    this.#sites.forEach((site, key) => site.setDescription(this.#descriptionOf(key)));
    this.#addSites();
  }

  /** Takes the counts of an accepted poll of the customer; undefined if keys cannot be parsed. */
  counted(customer: CustomerCounts | undefined, atMs: number): void {
    this.#customer = customer;
    this.#atMs = atMs;
    this.#changed(this.#state);
  }

  /** Returns the next request; undefined if there is none. */
  plan(): BranchTask | undefined {
    return this.#customer && plan(this.#state, this.#customer);
  }

  /** Sends the next request, if there is one. Throws a ServiceError: then what a repair has read is dropped. */
  async readNext(query: Query): Promise<void> {
    const task = this.plan();
    if (task === undefined) {
      return;
    }
    try {
      const table = await requestSums(task, this.#calendar, query);
      const { today, running } = this.#state;
      const next = decide(this.#state, task, table);
      this.#changed(next, next.today !== today || next.running !== running);
    } catch (error) {
      this.#state = failed(this.#state);
      throw error;
    }
  }

  /** Whether there is a request to send, or a branch to learn about. */
  get isWaiting(): boolean {
    return this.plan() !== undefined || this.#unlearned().length > 0;
  }

  /** Learns from the days before, of some branches. Returns whether others are left. */
  learn(): boolean {
    const unlearned = this.#unlearned();
    for (const [key, site, day] of unlearned.slice(0, LEARNED_AT_ONCE)) {
      const days = pastDaysOf(this.#state, this.#calendar, key);
      site.historyRead(createHistory(this.#calendar, day, days, PAST_WINDOW_MS));
    }
    return unlearned.length > LEARNED_AT_ONCE;
  }

  /** Those that are configured or counted, in their order. */
  get keys(): readonly string[] {
    return [...this.#sites.keys()];
  }

  /** Returns whether a branch is open; undefined without opening hours. */
  isOpenAt(key: string, atMs: number): boolean | undefined {
    return this.#sites.get(key)?.isOpenAt(atMs);
  }

  /** Returns the values of the branches that are configured or counted, in the order of their keys. */
  metricsAt(nowMs: number): readonly Omit<BranchMetrics, 'counters'>[] {
    return [...this.#sites].map(([key, site]) => ({
      key,
      ...site.metricsAt(nowMs),
      lastSeenMs: site.days.lastSeenAt(nowMs),
    }));
  }

  /** Returns the instants at which values change without a poll, some of them past. */
  changesAfter(nowMs: number): readonly number[] {
    return [...this.#sites.values()].flatMap((site) => site.changesAfter(nowMs));
  }

  /** Returns the branches that have not learned from the days before today, once these are known. */
  #unlearned(): readonly (readonly [key: string, site: Site, day: Span])[] {
    const day = this.#customer?.today.day;
    return day === undefined || !isPastKnown(this.#state)
      ? []
      : [...this.#sites].flatMap(([key, site]) =>
          site.days.readHistoryOf(day) === undefined ? [[key, site, day] as const] : [],
        );
  }

  /** Takes a newer state. The days before change no value until they are learned from: most responses are of them. */
  #changed(state: BranchState, isOfToday = true): void {
    const customer = this.#customer;
    if (customer === undefined) {
      return;
    }
    const { today: todayBefore } = this.#state;
    this.#state = update(state, this.#calendar, customer);
    const { today: newest } = this.#state;
    // The service may list a branch long before anybody is counted there.
    const hasOther = this.#state.keys.some((key) => !this.#sites.has(key));
    if (hasOther || newest?.day.startMs !== todayBefore?.day.startMs) {
      this.#addSites();
    } else if (!isOfToday) {
      return;
    }
    const keys = [...this.#sites.keys()];
    const today = branchesToday(this.#state, this.#calendar, customer, keys);
    for (const [key, { counts, lastSeenMs }] of today ?? []) {
      const atMs = this.#atMs;
      const minutes = { counts, atMs, endMs: customer.endMs, lastSeenMs };
      this.#sites.get(key)?.counted({ day: counts.day, atMs, minutes });
    }
  }

  /** Creates the sites of new keys, and drops those that counted nobody for four weeks. */
  #addSites(): void {
    const { configured } = this.#descriptions;
    const keys = new Set([...Object.keys(configured), ...countedKeys(this.#state)]);
    const sites = new Map([...this.#sites].filter(([key]) => keys.has(key)));
    for (const key of keys) {
      if (!sites.has(key) && sites.size < MAX_KEYS) {
        const description = this.#descriptionOf(key);
        sites.set(key, new Site(this.#calendar, this.#timezone, description));
      }
    }
    this.#sites = new Map([...sites].toSorted(([a], [b]) => compareKeys(a, b)));
  }

  #descriptionOf(key: string): SiteDescription {
    const { configured, others } = this.#descriptions;
    return (Object.hasOwn(configured, key) ? configured[key] : undefined) ?? others;
  }
}
