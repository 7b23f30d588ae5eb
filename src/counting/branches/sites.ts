/**
 * The branches of a customer as buildings: each has the life of a site, and its day comes from windows.
 * Their requests run one by one, behind the polls.
 */
import { MINUTE_MS } from '../../base/duration.ts';
import { COUNTERS } from '../../base/model.ts';
import { compareKeys, MAX_KEYS } from '../breakdowns/poll-breakdown.ts';
import type { Calendar } from '../calendar/calendar.ts';
import type {
  BranchDescriptions,
  BranchMetrics,
  CounterValues,
  SiteDescription,
} from '../customer-metrics.ts';
import { createPast, updateDays } from '../past/past.ts';
import type { Past } from '../past/past.ts';
import type { Problem, RememberedProblems } from '../problems.ts';
import { grandTotal, isZero } from '../rows/counts.ts';
import { lastSeenIn } from '../rows/day-counts.ts';
import type { CountsToday, DayCounts } from '../rows/day-counts.ts';
import type { Query } from '../rows/window-reader.ts';
import { Site } from '../site.ts';
import type { Silences, Surroundings } from '../site.ts';
import {
  countsOfKey,
  endMsOf,
  hasWindows,
  lastSums,
  NO_SUMS,
  sumOfKey,
  unknownDay,
} from './day.ts';
import type { BranchDay } from './day.ts';
import {
  decide,
  fold,
  isPastKnown,
  isTodayKnown,
  NO_BRANCHES,
  plan,
  requestSums,
  update,
} from './plan.ts';
import type { BranchState, BranchTask, CustomerCounts } from './plan.ts';

const NO_SILENCES: Silences = new Map();
/** Learning from four weeks takes a millisecond. */
const LEARNED_AT_ONCE = 20;

export class BranchSites {
  readonly #calendar: Calendar;
  readonly #timezone: string;
  /** In the order of their keys. */
  #sites: ReadonlyMap<string, Site> = new Map();
  /** The past days that each site has learned from. */
  readonly #learned = new WeakMap<Site, BranchState['past']>();
  #descriptions: BranchDescriptions;
  #state: BranchState = NO_BRANCHES;
  /** At the newest accepted poll of the customer; undefined if keys cannot be parsed. */
  #customer: CustomerCounts | undefined;

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

  /** Takes what was stored, unless the branches are counted already. */
  restore(state: BranchState): void {
    if (this.#state.today === undefined) {
      this.#state = state;
      this.#addSites();
    }
  }

  setDescriptions(descriptions: BranchDescriptions): void {
    this.#descriptions = descriptions;
    this.#sites.forEach((site, key) => site.setDescription(this.#descriptionOf(key)));
    this.#addSites();
  }

  /** Takes the counts of an accepted poll of the customer; undefined if keys cannot be parsed. */
  counted(customer: CustomerCounts | undefined): void {
    this.#customer = customer;
    this.#changed(this.#state);
  }

  /** Returns the next request; undefined if there is none. */
  plan(): BranchTask | undefined {
    return this.#customer && plan(this.#state, this.#customer);
  }

  /** Sends the next request, if there is one. Throws a ServiceError. */
  async readNext(query: Query): Promise<void> {
    const task = this.plan();
    if (task !== undefined) {
      const table = await requestSums(task, this.#calendar, query);
      const { today } = this.#state;
      this.#changed(decide(this.#state, task, table), task.branchDay === today);
    }
  }

  /** Whether there is a request to send, or a branch to learn about. */
  get isWaiting(): boolean {
    return this.plan() !== undefined || this.#unlearned().length > 0;
  }

  /** Gives some branches their past. Once all have it, drops the windows of past days. Returns whether others are left. */
  learn(): boolean {
    const unlearned = this.#unlearned();
    for (const [key, site] of unlearned.slice(0, LEARNED_AT_ONCE)) {
      site.pastRead(pastOf(this.#state, this.#calendar, key));
      this.#learned.set(site, this.#state.past);
    }
    const isLast = unlearned.length <= LEARNED_AT_ONCE;
    if (isLast && unlearned.length > 0) {
      this.#fold();
    }
    return !isLast;
  }

  /** Shows a state of the past, at the end of its windows, and learns from the days before it. */
  replay(state: BranchState & { readonly today: BranchDay }): void {
    this.#state = state;
    this.#addSites();
    while (this.learn());
    const atMs = endMsOf(state.today);
    this.#show({ atMs, endMs: atMs });
  }

  /** Those that are configured or counted, in the order of their keys. */
  get sites(): ReadonlyMap<string, Site> {
    return this.#sites;
  }

  /** Those that are configured or counted, in their order. */
  get keys(): readonly string[] {
    return [...this.#sites.keys()];
  }

  /** Their names by id; the id of a branch without one. */
  get names(): ReadonlyMap<string, string> {
    return new Map(this.keys.map((key) => [key, this.#descriptionOf(key).name ?? key]));
  }

  /**
   * Returns the values of the branches that are configured or counted, in the order of their keys.
   *
   * @param silences what {@link Site.silencesOf} returns, by branch; by default there are no devices
   */
  metricsAt(
    nowMs: number,
    customer: Pick<Surroundings, 'isCurrent' | 'loginMs'>,
    silences?: ReadonlyMap<string | null, Silences | undefined>,
  ): readonly BranchMetrics[] {
    const { startMs } = this.#calendar.dayAt(nowMs);
    const lastSeen = [...this.#sites.values()].map((site) => site.days.lastSeenAt(nowMs));
    return [...this.#sites].map(([key, site], i) => {
      const { counts } = site.days.today ?? {};
      const ofDay = counts?.day.startMs === startMs ? counts.counts : undefined;
      const counters = COUNTERS.people.map((name, counter): [string, CounterValues] => {
        const today = ofDay && grandTotal(ofDay[counter] ?? []);
        return [name, { total: undefined, excess: undefined, today }];
      });
      return {
        key,
        ...site.metricsAt(nowMs, {
          ...customer,
          others: lastSeen.toSpliced(i, 1),
          silences: silences === undefined ? NO_SILENCES : silences.get(key),
        }),
        lastSeenMs: lastSeen[i],
        counters: Object.fromEntries(counters),
      };
    });
  }

  /** The branches with problems, as found last or restored. */
  get problems(): readonly (readonly [key: string, problems: readonly Problem[]])[] {
    const found: [string, readonly Problem[]][] = [];
    this.#sites.forEach(({ problems }, key) => {
      if (problems.length > 0) {
        found.push([key, problems]);
      }
    });
    return found;
  }

  /** Takes the problems that were stored, before the first poll. */
  restoreProblems(problems: RememberedProblems): void {
    this.#sites.forEach((site, key) => (site.problems = problems.get(key) ?? []));
  }

  /** Returns the instants at which values change without a poll, some of them past. */
  changesAfter(nowMs: number): readonly number[] {
    return [...this.#sites.values()].flatMap((site) => site.changesAfter(nowMs));
  }

  /** Returns the branches that have not learned from the days before today, once these are known. */
  #unlearned(): readonly (readonly [key: string, site: Site])[] {
    return isPastKnown(this.#state)
      ? [...this.#sites].filter(([, site]) => this.#learned.get(site) !== this.#state.past)
      : [];
  }

  #fold(): void {
    const { pasts } = this.#state;
    const learned = new Map(
      [...this.#sites].flatMap(([key, { days }]) => (days.known ? [[key, days.known]] : [])),
    );
    if ([...learned].some(([key, known]) => known !== pasts.get(key))) {
      this.#state = fold(this.#state, learned);
      this.#sites.forEach((site) => this.#learned.set(site, this.#state.past));
      this.#addSites();
    }
  }

  /** Takes a newer state. The days before change no value until they are learned from: most responses are of them. */
  #changed(state: BranchState, isOfToday = true): void {
    const customer = this.#customer;
    if (customer === undefined) {
      return;
    }
    this.#state = update(state, this.#calendar, customer);
    // The service may list a branch long before anybody is counted there.
    if (!isOfToday && this.#state.keys.every((key) => this.#sites.has(key))) {
      return;
    }
    this.#addSites();
    if (isTodayKnown(this.#state, customer)) {
      this.#show(customer.today);
    }
  }

  /** Shows today's counts at an instant. */
  #show(at: Pick<CountsToday, 'atMs' | 'endMs'>): void {
    const { today } = this.#state;
    if (today !== undefined) {
      for (const [key, site] of this.#sites) {
        const minutes = countsToday(this.#state, this.#calendar, today, at, key);
        site.counted({ day: today.day, atMs: at.atMs, minutes });
      }
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

/** Returns the counts of a branch on the day of a state, at an instant. */
export function countsToday(
  { now, seenMs, keys }: BranchState,
  calendar: Calendar,
  today: BranchDay,
  { atMs, endMs }: Pick<CountsToday, 'atMs' | 'endMs'>,
  key: string,
): CountsToday {
  const { startMs } = today.day;
  const counts = countsOfKey(calendar, today, indexOf(keys, key), {
    sums: now?.sums ?? lastSums(today),
    endMs: startMs + Math.ceil((endMs - startMs) / MINUTE_MS) * MINUTE_MS,
  });
  const seen = [seenMs.get(key), lastSeenIn(counts)].filter((ms) => ms !== undefined);
  return { counts, atMs, endMs, lastSeenMs: seen.length === 0 ? undefined : Math.max(...seen) };
}

/** Returns the past of a branch, once all days before today are known. */
export function pastOf({ keys, past, pasts }: BranchState, calendar: Calendar, key: string): Past {
  const index = indexOf(keys, key);
  const windowMs = Math.max(...past.map(({ stepMs }) => stepMs));
  const today = calendar.dayAt(Math.max(...past.map(({ day }) => day.endMs)));
  function daysOf(days: readonly BranchDay[]): readonly DayCounts[] {
    return days.map((branchDay) => countsOfKey(calendar, branchDay, index)).toReversed();
  }
  function nobody(): Past {
    const none = daysOf(past.map(({ day, stepMs }) => unknownDay(day, stepMs)));
    return createPast(calendar, today, none, windowMs);
  }
  const known = pasts.get(key) ?? nobody();
  const days = daysOf(past.filter(hasWindows));
  return days.length === 0 ? known : updateDays(calendar, known, today, days, windowMs);
}

/** Returns the place of a key; of an unknown one, a place without counts. */
function indexOf(keys: readonly string[], key: string): number {
  const index = keys.indexOf(key);
  return index < 0 ? keys.length : index;
}

/** Returns the keys that counted anybody in the days that are known. */
export function countedKeys({ keys, today, past, pasts, now }: BranchState): readonly string[] {
  const days = [today, ...past].filter((one) => one !== undefined).filter(hasWindows);
  const all = [...days.map(lastSums), now?.sums ?? NO_SUMS];
  return keys.filter(
    (key, index) =>
      all.some((sums) => !isZero(sumOfKey(sums, index))) || !isZero(pasts.get(key)?.sums ?? []),
  );
}
