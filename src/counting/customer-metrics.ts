/** The values of a customer at one instant. `undefined` is not known: the series is absent, never 0. */
import type { Breakdown, CounterName, Stream } from '../base/model.ts';
import { MINUTE_MS } from '../base/duration.ts';
import type { DevicePlace } from './devices.ts';
import type { Span } from './calendar/calendar.ts';
import type { Estimate } from './occupancy/estimate.ts';
import type { Health } from './totals/health.ts';
import type { Mark } from './high-water-marks.ts';
import type { OpeningHours } from './calendar/opening-hours.ts';
import type { UsualPeople } from './past/usual.ts';
import type { Problem } from './problems.ts';

/** The values of a building. */
export interface SiteMetrics {
  /** As configured; undefined for a customer that is one building. */
  readonly name?: string | undefined;
  readonly capacity: number | undefined;
  /** Whether it is open; undefined without opening hours. */
  readonly open: boolean | undefined;
  /** Whether staff is there; undefined without staffed hours. */
  readonly staffed: boolean | undefined;
  /** Entries minus exits of the day, as counted. */
  readonly occupancy: number | undefined;
  /** People inside now: the number to show. Undefined while its counts are not trusted, too. */
  readonly inside: number | undefined;
  /** Entries within the last hour. */
  readonly enteredHour: number | undefined;
  readonly estimate: EstimateMetrics;
  /** What was to be expected at the newest accepted poll; undefined while its past is not known. */
  readonly usual: UsualPeople | undefined;
  /** Causes first. Those of a customer that is polled by branch are not those of its branches. */
  readonly problems: readonly Problem[];
  /** Whether its counts are right and new; undefined before the first poll. */
  readonly isTrusted: boolean | undefined;
  /** About how many people should have come or left since the last count, and were not counted. */
  readonly missed: number | undefined;
}

/** The values of a branch. */
export interface BranchMetrics extends SiteMetrics {
  readonly key: string;
  /** Today's, of the same windows as the people inside. Totals are those of the breakdown. */
  readonly counters: KeyMetrics['counters'];
  /** Start of the newest minute, or of its window, within four weeks that counted anybody. */
  readonly lastSeenMs: number | undefined;
}

export interface CustomerMetrics extends SiteMetrics {
  readonly customer: string;
  readonly timezone: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly utcOffsetSeconds: number;
  /** Start of the counting period. */
  readonly periodStartMs: number;
  /** Calendar month of the counting period, as in 2026-11. */
  readonly month: string;
  /** Whether the service accepted the credentials; undefined before its first response. */
  readonly credentialsValid: boolean | undefined;
  /** Only the counters of the configured streams. */
  readonly counters: Readonly<Partial<Record<CounterName, CounterValues>>>;
  /** Only the configured breakdowns. */
  readonly breakdowns: Readonly<Partial<Record<Breakdown, BreakdownMetrics>>>;
  /**
   * The buildings of a customer that is polled by branch, in the order of their keys: then the values of a
   * building above are not exported. Undefined for a customer that is one building.
   */
  readonly branches: readonly BranchMetrics[] | undefined;
  /** Only the configured streams and breakdowns. */
  readonly streams: Readonly<Partial<Record<Stream, StreamMetrics>>>;
  /** From this instant on the values are out of date, even without a poll. */
  readonly validUntilMs: number;
}

/** The estimate of one day; what is not known, or switched off, is undefined. */
export interface EstimateMetrics {
  readonly people: Estimate | undefined;
  /** Entries counted per exit counted. */
  readonly ratio: number | undefined;
}

export const NO_ESTIMATE: EstimateMetrics = {
  people: undefined,
  ratio: undefined,
};

export interface CounterValues {
  /** The exported counter: the period's high-water mark of the service's total. */
  readonly total: number | undefined;
  /** By how much `total` is above the service's total now. Known when `total` is. */
  readonly excess: number | undefined;
  /** The service's figure since the day started, corrections included. */
  readonly today: number | undefined;
}

export interface BreakdownMetrics {
  /** In the order of the keys; empty before the first successful poll. */
  readonly keys: readonly KeyMetrics[];
  /** Number of keys above the limit. */
  readonly droppedKeys: number | undefined;
}

/** A branch, a client or a device. */
export interface KeyMetrics {
  readonly key: string;
  /** Only those of people. */
  readonly counters: Readonly<Partial<Record<CounterName, CounterValues>>>;
  /** Of a device that counted anybody in this counting period or the last one. */
  readonly device?: DeviceMetrics | undefined;
}

/** Where a people counter is, when it counted last, and what it may have missed. */
export interface DeviceMetrics {
  /** Undefined until raw records have shown it. */
  readonly place: DevicePlace | undefined;
  readonly lastSeenMs: number;
  /**
   * Its share of the people that its building counted since, by that of the month; undefined until the past is known,
   * and where it is not known in which branch it is.
   */
  readonly missed: number | undefined;
}

export interface StreamMetrics extends Health {
  /** Start of the newest minute within four weeks that counted anybody; only of people and logins. */
  readonly lastSeenMs: number | undefined;
}

/** Something with metrics at any instant. Reading them sends no request. */
export interface MetricsSource {
  readonly customer: string;
  metricsAt(nowMs: number): CustomerMetrics;
}

/** The occupancy of a day. */
export interface OccupancySeries {
  readonly day: Span;
  readonly stepMs: number;
  /** People inside at the end of each step since the day's start; the last one ends at `atMs`. */
  readonly inside: readonly number[];
  readonly atMs: number;
}

/** Occupancy that is older is not exported (rule 9). */
export const MAX_OCCUPANCY_AGE_MS = 15 * MINUTE_MS;

/** The high-water mark of `total`, the service's total, is exported (rule 7). */
export function counterValues(
  mark: Mark | undefined,
  total: number | undefined,
  today: number | undefined,
): CounterValues {
  if (total === undefined) {
    return { total: undefined, excess: undefined, today };
  }
  const exported = mark?.value ?? total;
  return { total: exported, excess: exported - total, today };
}

/** Settings of a building. */
export interface SiteDescription {
  /** Of a branch. */
  readonly name?: string | undefined;
  readonly capacity: number | undefined;
  readonly openingHours: OpeningHours | undefined;
  readonly staffedHours: OpeningHours | undefined;
  /** Whether to estimate the people inside. */
  readonly estimate: boolean;
}

/** Settings of a customer that do not change its counters. */
export interface CustomerDescription extends SiteDescription {
  readonly labels: Readonly<Record<string, string>>;
  /** Undefined for a customer that is one building. */
  readonly branches?: BranchDescriptions | undefined;
}

/** Settings of the buildings of a customer that is polled by branch. */
export interface BranchDescriptions {
  /** By branch id. */
  readonly configured: Readonly<Record<string, SiteDescription>>;
  /** Those of a branch that is not configured. */
  readonly others: SiteDescription;
}
