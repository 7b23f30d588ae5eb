/**
 * A building: its settings, its past and its day so far, and from these its values at any instant. It
 * does not know where its counts come from.
 */
import type { Calendar, Span } from './calendar/calendar.ts';
import { CountedDays } from './past/counted-days.ts';
import type { Counted } from './past/counted-days.ts';
import { doorMetrics, MAX_OCCUPANCY_AGE_MS, NO_ESTIMATE } from './customer-metrics.ts';
import type {
  EstimateMetrics,
  OccupancySeries,
  SiteDescription,
  SiteMetrics,
} from './customer-metrics.ts';
import { doorFault } from './past/door-fault.ts';
import type { DoorFault } from './past/door-fault.ts';
import { learnDoors } from './occupancy/door-model.ts';
import type { DoorModel } from './occupancy/door-model.ts';
import { estimateInside } from './occupancy/estimate.ts';
import type { Estimate } from './occupancy/estimate.ts';
import type { CountsToday } from './rows/day-counts.ts';
import { pastDays } from './past/past.ts';
import type { Past } from './past/past.ts';
import { CURVE_STEP_MS, occupancyAt, occupancyCurve } from './occupancy/occupancy.ts';
import { usualPeople } from './past/usual.ts';
import type { SitePast, UsualPeople } from './past/usual.ts';

/** What the order of today's minutes shows of the people inside. */
interface Inside {
  readonly occupancy: number;
  /** Undefined while the doors are not known, and where the building does not empty at night. */
  readonly estimate: Estimate | undefined;
}

/** What the past says about the newest counts. */
interface Expected {
  readonly usual: UsualPeople;
  readonly fault: DoorFault | undefined;
}

export class Site {
  readonly days: CountedDays;
  readonly #calendar: Calendar;
  readonly #timezone: string;
  #description: SiteDescription;
  #learned:
    { readonly day: Span; readonly model: DoorModel; readonly from: Past['counts'] } | undefined;
  /** At the newest counts; undefined if keys cannot be parsed. */
  #inside: Inside | undefined;
  /** At the newest counts. Computed when needed, because their past may come later. */
  #expected: Expected | undefined;

  /** `timezone` is that of the opening hours. */
  constructor(calendar: Calendar, timezone: string, description: SiteDescription) {
    this.days = new CountedDays(calendar);
    this.#calendar = calendar;
    this.#timezone = timezone;
    this.#description = description;
  }

  setDescription(description: SiteDescription): void {
    this.#description = description;
    this.#learn();
    this.#expected = undefined;
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
    const { today } = this.days;
    this.#learn();
    this.#inside = today && this.#insideOf(today);
    this.#expected = undefined;
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

  metricsAt(nowMs: number): SiteMetrics {
    const isFresh = this.#isFreshAt(nowMs);
    const isToday = this.days.newest?.day.startMs === this.#calendar.dayAt(nowMs).startMs;
    const inside = isFresh && isToday ? this.#inside : undefined;
    const expected = isFresh ? this.#expectedNow() : undefined;
    const usual = expected?.usual;
    return {
      name: this.#description.name,
      capacity: this.#description.capacity,
      open: this.isOpenAt(nowMs),
      staffed: this.#description.staffedHours?.isOpenAt(nowMs, this.#timezone),
      occupancy: inside?.occupancy,
      estimate: this.#estimateAt(nowMs, inside?.estimate, expected?.fault),
      usual: usual && (isToday ? usual : { ...usual, entriesToday: undefined }),
    };
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
    return {
      occupancy: occupancyAt(counts, endMs),
      estimate:
        model?.emptiesAtNight === true && learnedFor?.startMs === day.startMs
          ? estimateInside(model, counts, endMs, this.#openSpansOf(day))
          : undefined,
    };
  }

  #expectedNow(): Expected | undefined {
    const {
      past,
      days: { today },
    } = this;
    if (this.#expected === undefined && past !== undefined && today !== undefined) {
      const usual = usualPeople(past, today);
      const hasHours = this.#description.openingHours !== undefined;
      this.#expected = {
        usual: hasHours ? usual : { ...usual, openSinceLastSeenMs: undefined },
        fault: doorFault(past, today, usual),
      };
    }
    return this.#expected;
  }

  /** Learns the doors, if they are needed and their past has changed. */
  #learn(): void {
    const { past } = this.days;
    if (!this.#description.estimate) {
      this.#learned = undefined;
    } else if (past !== undefined && past.counts !== this.#learned?.from) {
      const model = learnDoors(pastDays(past), past.weekday);
      this.#learned = { day: past.today, model, from: past.counts };
    }
  }

  /** The ratio of the day before stays until that of the day is known. */
  #estimateAt(
    nowMs: number,
    people: Estimate | undefined,
    fault: DoorFault | undefined,
  ): EstimateMetrics {
    const today = this.#calendar.dayAt(nowMs);
    const learned = this.#learned;
    if (learned === undefined || learned.day.startMs < this.#calendar.dayBefore(today).startMs) {
      return NO_ESTIMATE;
    }
    return {
      people: fault === undefined ? people : undefined,
      fault: people && (fault ?? 'none'),
      ...doorMetrics(learned.model),
    };
  }

  #openSpansOf(day: Span): readonly Span[] {
    const { openingHours } = this.#description;
    return openingHours?.openSpans(day, this.#timezone) ?? [day];
  }
}
