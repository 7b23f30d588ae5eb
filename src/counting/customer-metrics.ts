/**
 * What is known of a customer at one instant, ready to be exported. Whatever is `undefined` is not
 * known, and no series shows it: a figure is never 0 because it is missing.
 */
import type { Breakdown, CounterName, Stream } from '../base/model.ts';

export interface CustomerMetrics {
  readonly customer: string;
  readonly timezone: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly utcOffsetSeconds: number;
  /** Start of the running epoch. */
  readonly periodStartMs: number;
  readonly capacity: number | undefined;
  /** Inside the opening hours; undefined where none are configured. */
  readonly open: boolean | undefined;
  /** What the service said of the credentials last; undefined before it said anything. */
  readonly credentialsValid: boolean | undefined;
  /** People inside now. */
  readonly occupancy: number | undefined;
  /** Only the counters of the configured streams. */
  readonly counters: Readonly<Partial<Record<CounterName, CounterValues>>>;
  /** Only the configured breakdowns. */
  readonly breakdowns: Readonly<Partial<Record<Breakdown, BreakdownMetrics>>>;
  /** Only the configured streams and breakdowns. */
  readonly streams: Readonly<Partial<Record<Stream, StreamMetrics>>>;
  /** From this instant on these figures are no longer true, even if nothing was polled. */
  readonly validUntilMs: number;
}

export interface CounterValues {
  /** The exported counter: the epoch's high-water mark of the service's total. */
  readonly total: number | undefined;
  /** By how much `total` is above the service's total now. Known when `total` is. */
  readonly excess: number | undefined;
  /** The service's figure since the day started, corrections included. */
  readonly today: number | undefined;
}

export interface BreakdownMetrics {
  /** In the order of the keys; none before the first complete reading. */
  readonly keys: readonly KeyMetrics[];
  /** How many keys the service lists that there is no room for. */
  readonly droppedKeys: number | undefined;
  /** What each branch is called that is shown or configured, in the order of their keys; else empty. */
  readonly names: readonly (readonly [key: string, name: string])[];
}

/** A branch, a client or a device. */
export interface KeyMetrics {
  readonly key: string;
  /** Only those of people. */
  readonly counters: Readonly<Partial<Record<CounterName, CounterValues>>>;
  /** People inside; only of branches. */
  readonly occupancy: number | undefined;
}

export interface StreamMetrics {
  /** Whether the last poll was good; undefined before the first one ended. */
  readonly up: boolean | undefined;
  /** When the last good poll ended. */
  readonly lastSuccessMs: number | undefined;
  /** Start of the newest minute that counted anybody; only of people and logins. */
  readonly lastSeenMs: number | undefined;
  readonly polls: number;
  readonly failures: number;
  readonly skipped: number;
  /** The newest failure, in words that are safe to show; undefined once a poll was good again. */
  readonly lastError: { readonly message: string; readonly atMs: number } | undefined;
}

/** Anything that can tell its figures at an instant. AggregatedResponse them costs no request. */
export interface MetricsSource {
  readonly customer: string;
  metricsAt(nowMs: number): CustomerMetrics;
}
