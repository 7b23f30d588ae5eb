/**
 * What is known of a customer at one instant, ready to be exported. Whatever is `undefined` is not
 * known, and no series shows it: a figure is never 0 because it is missing.
 */
import type { Breakdown, Kind, Stream } from '../base/nouns.ts';

export interface CustomerFigures {
  readonly customer: string;
  readonly timezone: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly utcOffsetSeconds: number;
  /** Start of the running epoch. */
  readonly epochStartMs: number;
  readonly capacity: number | undefined;
  /** Inside the opening hours; undefined where none are configured. */
  readonly open: boolean | undefined;
  /** What the service said of the credentials last; undefined before it said anything. */
  readonly credentialsValid: boolean | undefined;
  /** People inside now. */
  readonly occupancy: number | undefined;
  /** Only the kinds of the configured streams. */
  readonly kinds: Readonly<Partial<Record<Kind, KindFigures>>>;
  /** Only the configured breakdowns. */
  readonly breakdowns: Readonly<Partial<Record<Breakdown, BreakdownFigures>>>;
  /** Only the configured streams and breakdowns. */
  readonly streams: Readonly<Partial<Record<Stream, StreamFigures>>>;
  /** From this instant on these figures are no longer true, even if nothing was polled. */
  readonly validUntilMs: number;
}

export interface KindFigures {
  /** The exported counter: the epoch's high-water mark of the service's total. */
  readonly total: number | undefined;
  /** By how much `total` is above the service's total now. Known when `total` is. */
  readonly held: number | undefined;
  /** The service's figure since the day started, corrections included. */
  readonly today: number | undefined;
}

export interface BreakdownFigures {
  /** In the order of the keys; none before the first complete reading. */
  readonly keys: readonly KeyFigures[];
  /** How many keys the service lists that there is no room for. */
  readonly leftOut: number | undefined;
  /** What each branch is called that is shown or configured, in the order of their keys; else empty. */
  readonly names: readonly (readonly [key: string, name: string])[];
}

/** A branch, a client or a device. */
export interface KeyFigures {
  readonly key: string;
  /** Only those of people. */
  readonly kinds: Readonly<Partial<Record<Kind, KindFigures>>>;
  /** People inside; only of branches. */
  readonly occupancy: number | undefined;
}

export interface StreamFigures {
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

/** Anything that can tell its figures at an instant. Reading them costs no request. */
export interface FiguresSource {
  readonly customer: string;
  figuresAt(nowMs: number): CustomerFigures;
}
