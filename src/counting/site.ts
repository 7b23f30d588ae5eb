/**
 * A building: its settings, its past and its day so far, and from these its values at any instant. It
 * does not know where its counts come from.
 */
import type { SiteDevice } from './devices.ts';
import type { Calendar, Span } from './calendar/calendar.ts';
import { CountedDays } from './past/counted-days.ts';
import type { Counted } from './past/counted-days.ts';
import { MAX_OCCUPANCY_AGE_MS, NO_ESTIMATE } from './customer-metrics.ts';
import type {
  EstimateMetrics,
  OccupancySeries,
  SiteDescription,
  SiteMetrics,
} from './customer-metrics.ts';
import { learnDoors } from './occupancy/door-model.ts';
import type { LearnedDoors } from './occupancy/door-model.ts';
import { estimateInside } from './occupancy/estimate.ts';
import type { Estimate } from './occupancy/estimate.ts';
import type { CountsToday } from './rows/day-counts.ts';
import { missedPeople } from './past/missed.ts';
import { daysBefore, pastDays } from './past/past.ts';
import type { Past } from './past/past.ts';
import { aboveSince, CURVE_STEP_MS, occupancyAt, occupancyCurve } from './occupancy/occupancy.ts';
import { countedSince, enteredLastHour, lastSeen, openTime, usualPeople } from './past/usual.ts';
import type { SitePast } from './past/usual.ts';
import type { Problem } from './problems.ts';
import { problemsOfDoors, problemsOfSite } from './site-problems.ts';
import type { DeviceFacts, SiteFacts, SiteProblems } from './site-problems.ts';
import { countOf, grandTotal } from './rows/counts.ts';

/** What the order of today's minutes shows of the people inside. */
interface Inside {
  readonly occupancy: number;
  /** Undefined while the doors are not known, and where the building does not empty at night. */
  readonly estimate: Estimate | undefined;
  /** Since when there are more than the capacity. */
  readonly overCapacityMs: number | undefined;
}

/** What the days before today say about the doors. */
interface Learned {
  readonly day: Span;
  readonly model: LearnedDoors;
  readonly problems: readonly Problem[];
  readonly from: Past['counts'];
}

/** What is known of the rest of a customer. */
export interface Surroundings extends Pick<SiteFacts, 'loginMs' | 'others'> {
  /** Whether the customer's polls bring new counts. */
  readonly isCurrent: boolean;
  /** What {@link Site.silencesOf} returns of its devices. */
  readonly silences: Silences | undefined;
}

/** What devices of a building have missed, by their keys. */
export type Silences = ReadonlyMap<string, DeviceFacts>;

/** Without a poll nothing is known, and while polls fail nothing is said. */
type Found = Omit<SiteProblems, 'isTrusted'> & Pick<SiteMetrics, 'isTrusted'>;

export class Site {
  readonly days: CountedDays;
  readonly #calendar: Calendar;
  readonly #timezone: string;
  #description: SiteDescription;
  #learned: Learned | undefined;
  /** At the newest counts; undefined if keys cannot be parsed. */
  #inside: Inside | undefined;
  /** At the newest counts. Computed when needed, because their past may come later. */
  #expected: SiteFacts['counts'];
  #rise: SiteFacts['rise'];
  /** Today's counts at the newest poll. */
  #sum: { readonly dayMs: number; readonly counts: number } | undefined;
  /** Those that were found last; before the first poll, those that were stored. */
  problems: readonly Problem[] = [];

  /** `timezone` is that of the opening hours. */
  constructor(calendar: Calendar, timezone: string, description: SiteDescription) {
    this.days = new CountedDays(calendar);
    this.#calendar = calendar;
    this.#timezone = timezone;
    this.#description = description;
  }

  setDescription(description: SiteDescription): void {
    this.#description = description;
    this.#computeInside();
  }

  /** Returns whether it is open; undefined without opening hours. */
  isOpenAt(atMs: number): boolean | undefined {
    return this.#description.openingHours?.isOpenAt(atMs, this.#timezone);
  }

  /** Takes the past as the service has it. */
  pastRead(past: Past): void {
    this.days.pastRead(past);
    this.#learn();
    this.#expected = undefined;
  }

  /** Takes newer accepted counts. */
  counted(counted: Counted): void {
    this.days.counted(counted);
    this.countsChanged();
  }

  /** Computes what depends on the newest counts. */
  countsChanged(): void {
    this.#computeInside();
    this.#noteRise(this.days.today);
  }

  #computeInside(): void {
    const { today } = this.days;
    this.#learn();
    this.#inside = today && this.#insideOf(today);
    this.#expected = undefined;
  }

  #noteRise(today: CountsToday | undefined): void {
    const { atMs = 0, counts } = today ?? {};
    const before = this.#sum;
    this.#sum = counts && {
      dayMs: counts.day.startMs,
      counts: grandTotal(counts.counts.map(grandTotal)) + grandTotal(counts.before),
    };
    if (before && this.#sum?.dayMs === before.dayMs && this.#sum.counts > before.counts) {
      this.#rise = { atMs, lastMs: this.days.lastSeenAt(atMs) };
    }
  }

  /** What is known before today; undefined until its past is. */
  get past(): SitePast | undefined {
    const { past: people, newest } = this.days;
    return people && newest
      ? { people, calendar: this.#calendar, openSpans: (day) => this.#openSpansOf(day) }
      : undefined;
  }

  /** Returns today's occupancy so far, however old the last successful poll is; undefined if unknown. */
  occupancySeriesAt(nowMs: number): OccupancySeries | undefined {
    const day = this.#calendar.dayAt(nowMs);
    const { today } = this.days;
    if (today === undefined || today.counts.day.startMs !== day.startMs) {
      return undefined;
    }
    const { atMs, counts } = today;
    const inside = occupancyCurve(counts, atMs, CURVE_STEP_MS);
    return { day, stepMs: CURVE_STEP_MS, inside, atMs };
  }

  metricsAt(nowMs: number, surroundings: Surroundings): SiteMetrics {
    const { today, newest, past } = this.days;
    const isFresh = this.#isFreshAt(nowMs);
    const isToday = newest?.day.startMs === this.#calendar.dayAt(nowMs).startMs;
    const inside = isFresh && isToday ? this.#inside : undefined;
    const counts = isFresh ? this.#expectedNow() : undefined;
    const usual = counts?.usual;
    const open = this.isOpenAt(nowMs);
    const found = this.#findProblems(nowMs, surroundings, {
      counts,
      overCapacityMs: open === false ? undefined : inside?.overCapacityMs,
    });
    const isTrusted = found.isTrusted !== false;
    const estimate = this.#estimateAt(nowMs, inside?.estimate, isTrusted);
    const people = inside && Math.round((estimate.people ?? { people: inside.occupancy }).people);
    return {
      name: this.#description.name,
      capacity: this.#description.capacity,
      open,
      staffed: this.#description.staffedHours?.isOpenAt(nowMs, this.#timezone),
      occupancy: inside?.occupancy,
      inside:
        isTrusted && people !== undefined && open === false ? 0 : isTrusted ? people : undefined,
      enteredHour: isFresh && today ? enteredLastHour(past, today) : undefined,
      estimate,
      usual: usual && (isToday ? usual : { ...usual, entriesToday: undefined }),
      ...found,
    };
  }

  /** Returns what its devices have missed by their share of the people; undefined while that is not known. */
  silencesOf(devices: readonly SiteDevice[] | undefined): Silences | undefined {
    const {
      past,
      days: { today },
    } = this;
    if (devices === undefined || past === undefined || today === undefined) {
      return undefined;
    }
    return new Map(
      devices.map(({ key, lastMs, untilMs, share, excess }) => {
        const counts = countedSince(past, today, lastMs, untilMs);
        // While the others count, too: after closing early, nobody does.
        const openUntilMs = Math.min(untilMs, this.days.lastSeenAt(untilMs) ?? untilMs);
        const openMs = openTime(past, lastMs, openUntilMs);
        const passes = share * grandTotal(counts);
        const people = share * Math.max(countOf(counts, 0), countOf(counts, 1));
        return [key, { lastMs, share, excess, openMs, passes, people }];
      }),
    );
  }

  #findProblems(
    nowMs: number,
    { isCurrent, silences, ...surroundings }: Surroundings,
    counted: Pick<SiteFacts, 'counts' | 'overCapacityMs'>,
  ): Found {
    if (!isCurrent || this.days.newest === undefined) {
      return { problems: [], isTrusted: isCurrent ? undefined : false, missed: undefined };
    }
    const facts = {
      ...surroundings,
      ...counted,
      devices: silences && [...silences.values()],
      lastMs: this.days.lastSeenAt(nowMs),
      lastEntryMs: this.#lastSeen(0),
      lastExitMs: this.#lastSeen(1),
      rise: this.#rise,
      doors: this.#learnedAt(nowMs)?.problems ?? [],
    };
    const found = problemsOfSite(facts, nowMs, this.problems);
    this.problems = found.problems;
    return found;
  }

  /** Returns the instants at which values change without a poll, some of them past. */
  changesAfter(nowMs: number): readonly number[] {
    const { openingHours, staffedHours } = this.#description;
    return [
      this.#calendar.dayAt(nowMs).endMs,
      openingHours?.nextChangeAfter(nowMs, this.#timezone) ?? Infinity,
      staffedHours?.nextChangeAfter(nowMs, this.#timezone) ?? Infinity,
      (this.days.newest?.atMs ?? Infinity) + MAX_OCCUPANCY_AGE_MS + 1,
    ];
  }

  /** In both directions: clocks step back, too. */
  #isFreshAt(nowMs: number): boolean {
    return Math.abs(nowMs - (this.days.newest?.atMs ?? Infinity)) <= MAX_OCCUPANCY_AGE_MS;
  }

  #insideOf({ counts, endMs }: CountsToday): Inside {
    const { day } = counts;
    const { day: learnedFor, model } = this.#learned ?? {};
    const { capacity = Infinity } = this.#description;
    const estimate =
      model?.emptiesAtNight === true && learnedFor?.startMs === day.startMs
        ? estimateInside(model, counts, endMs, this.#openSpansOf(day), capacity)
        : undefined;
    return {
      occupancy: occupancyAt(counts, endMs),
      estimate,
      overCapacityMs:
        estimate === undefined && capacity < Infinity
          ? aboveSince(counts, endMs, capacity)
          : estimate?.aboveSinceMs,
    };
  }

  #expectedNow(): SiteFacts['counts'] {
    const {
      past,
      days: { today },
    } = this;
    if (this.#expected === undefined && past !== undefined && today !== undefined) {
      const usual = usualPeople(past, today);
      const hasHours = this.#description.openingHours !== undefined;
      this.#expected = {
        usual: hasHours ? usual : { ...usual, openSinceLastSeenMs: undefined },
        missed: missedPeople(past, today, usual),
      };
    }
    return this.#expected;
  }

  /** Returns the start of the newest step with an entry (0) or an exit (1); -Infinity if none is known. */
  #lastSeen(counter: 0 | 1): number {
    const {
      past,
      days: { today },
    } = this;
    return past && today ? lastSeen(past.people, today, counter) : -Infinity;
  }

  /** Learns the doors, if they are needed and their past has changed. */
  #learn(): void {
    const { past } = this.days;
    if (!this.#description.estimate) {
      this.#learned = undefined;
    } else if (past !== undefined && past.counts !== this.#learned?.from) {
      // Not kept with the model: every customer has one.
      const { rejectedDays, ratios, ...model } = learnDoors(pastDays(past), past.weekday);
      const days = [past.today, ...daysBefore(this.#calendar, past.today).toReversed()];
      const problems = problemsOfDoors(
        { rejectedDays, ratios },
        (daysAgo) => days[daysAgo]?.startMs ?? 0,
      );
      this.#learned = { day: past.today, model, problems, from: past.counts };
    }
  }

  /** What was learned on the day before stays until that of the day is known. */
  #learnedAt(nowMs: number): Learned | undefined {
    const yesterday = this.#calendar.dayBefore(this.#calendar.dayAt(nowMs));
    const learned = this.#learned;
    return learned !== undefined && learned.day.startMs >= yesterday.startMs ? learned : undefined;
  }

  #estimateAt(nowMs: number, people: Estimate | undefined, isTrusted: boolean): EstimateMetrics {
    const learned = this.#learnedAt(nowMs);
    if (learned === undefined) {
      return NO_ESTIMATE;
    }
    const { learnedLogRatio } = learned.model;
    return {
      people: isTrusted ? people : undefined,
      ratio: learnedLogRatio === undefined ? undefined : Math.exp(learnedLogRatio),
    };
  }

  #openSpansOf(day: Span): readonly Span[] {
    const { openingHours } = this.#description;
    return openingHours?.openSpans(day, this.#timezone) ?? [day];
  }
}
