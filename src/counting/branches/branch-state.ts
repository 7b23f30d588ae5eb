/** What is known of the windows of a customer's branches, and the customer's counts by which it is verified. */
import type { Counts } from '../rows/counts.ts';
import type { DayCounts } from '../rows/day-counts.ts';
import type { BranchDay, Sums } from './branch-day.ts';

/** The customer's own counts, by which windows are copied and verified. */
export interface CustomerCounts {
  /** Today's minutes at the newest accepted poll. */
  readonly today: DayCounts;
  /** Minutes that start before this instant had begun at that poll. */
  readonly endMs: number;
  /** The {@link HISTORY_DAYS} days before today, oldest first; undefined while they are not known. */
  readonly past: readonly CustomerDay[] | undefined;
}

export type CustomerDay = Pick<DayCounts, 'stepMs' | 'first' | 'counts'>;

/** Immutable: replaced as a whole. */
export interface BranchState {
  /** In the order in which they appeared. */
  readonly keys: readonly string[];
  readonly today: BranchDay | undefined;
  /** The {@link HISTORY_DAYS} days before today, newest first; before the first poll, those that are stored. */
  readonly past: readonly BranchDay[];
  /** `restored` until the first poll: stored days may be those of another time zone or day start. */
  readonly phase: 'restored' | 'polled';
  /** Starts of complete days whose sums were compared with the customer's today. */
  readonly verified: ReadonlySet<number>;
  readonly running: RunningWindow | undefined;
  readonly repair: Repair | undefined;
  /** Start of the newest minute, by key, that the running window has shown. */
  readonly seenMs: ReadonlyMap<string, number>;
}

/** What was counted since the last window that is known. */
interface RunningWindow {
  /** Number of the windows before it. */
  readonly windows: number;
  /** The customer's counts of today at the request. */
  readonly customer: Counts;
  readonly sums: Sums;
}

/**
 * Late records came: the ends of a day at which branches and customer differ by another number than at its
 * last end are requested again, newest first, until one is unchanged.
 */
export interface Repair {
  /** The day as the state has it. */
  readonly unrepaired: BranchDay;
  readonly repaired: readonly Sums[];
  readonly customer: CustomerDay;
  /** The number that is right. */
  readonly gap: Counts;
  /** The next end to request: number of windows up to it. */
  readonly windows: number;
}

export const NO_BRANCHES: BranchState = {
  phase: 'restored',
  keys: [],
  today: undefined,
  past: [],
  verified: new Set(),
  running: undefined,
  repair: undefined,
  seenMs: new Map(),
};
