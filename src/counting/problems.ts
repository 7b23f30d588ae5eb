/**
 * The problems of customers and buildings: their kinds, thresholds and words. customer-problems.ts and site-problems.ts
 * decide who has one, since when, and how many people it cost. Nothing else decides that: the status page, the alerts and
 * the dashboards show what is decided there. docs/how-it-counts.md has the table of problems.
 */
import { HOUR_MS, MINUTE_MS } from '../base/duration.ts';
import { QUARTER_MS } from './occupancy/door-model.ts';

/**
 * The thresholds. False alarms a library and year, and delays, were measured on 150 simulated libraries over a
 * year; bench/alerts/results.md has the tables.
 */
export const LIMITS = {
  /** Polls. One or two fail by chance; after five, values are five minutes old. */
  failedPolls: 5,
  /** Three polls confirm values, so an interval of up to five minutes causes no problem. */
  maxUnconfirmedMs: 15 * MINUTE_MS,
  /** Devices send within minutes, and what is usual ends an hour earlier: less than an hour hides nobody. */
  maxDelayMs: HOUR_MS,
  /** Passes. With a login later it is not a day on which the library is closed: 0.02 to 0.07 false alarms a year. */
  missedPassesInUse: 10,
  /** Passes and opening time without any evidence of use: more than a day on which it is closed. */
  missedPasses: 36,
  missedOpenMs: 13 * HOUR_MS,
  /** Who is counted last may still log in so much later. */
  loginLaterMs: 15 * MINUTE_MS,
  /** Counts of other branches are evidence before the hour is over in which all may have closed. */
  otherBranchesMs: 50 * MINUTE_MS,
  /** Entries usual today from which on the day has begun for a branch, too. */
  begunDayEntries: 5,
  /** Of one direction, while the other one counts: 0.02 to 0.17 false alarms a year. */
  missedInDirection: 6,
  /** A smaller share: the door may be opened on some days only. */
  minDeviceShare: 0.1,
  silentDeviceOpenMs: 3 * HOUR_MS,
  /** Fewer passes are missed by chance at a door that is little used. */
  missedAtDevice: 20,
  /** The service lowered the total of a device by so much: its counter cannot show a count for a while. */
  maxDeviceExcess: 5,
  /** Of the last seven: one day may have an event or a door that was held open. */
  unbalancedDays: 3,
  unbalancedWithinDays: 7,
  /** The estimate corrects a smaller difference without a loss; the estimate of the ratio has an error, too. */
  maxRatioError: 0.1,
  ratioStddevs: 2,
  ratioDays: 3,
  /** Logins, at most the usual share of those who came in: 0.07 false alarms a year. */
  missedLogins: 8,
} as const;

interface Description {
  /** Who has it: a building, or the customer as a whole. */
  readonly of: 'customer' | 'site';
  /** As the status page, the alerts and the dashboards have it. */
  readonly words: string;
  /** Whether the counts of the building are right and new all the same. */
  readonly trusted: boolean;
}

/** The kinds, in the order in which they are listed: causes first. */
export const PROBLEMS = {
  credentials_refused: { of: 'customer', words: 'Credentials refused', trusted: false },
  polls_failing: { of: 'customer', words: 'Polls fail', trusted: false },
  values_unconfirmed: { of: 'customer', words: 'Values not confirmed', trusted: false },
  minutes_unreadable: { of: 'customer', words: 'Minutes cannot be read', trusted: true },
  counts_delayed: { of: 'site', words: 'Counts are late', trusted: true },
  nobody_counted: { of: 'site', words: 'Nobody is counted', trusted: false },
  entries_missing: { of: 'site', words: 'No entries are counted', trusted: false },
  exits_missing: { of: 'site', words: 'No exits are counted', trusted: false },
  door_silent: { of: 'site', words: 'A door counts nobody', trusted: false },
  directions_unbalanced: { of: 'site', words: 'Entries and exits do not match', trusted: false },
  door_ratio_off: { of: 'site', words: 'One direction counts too few', trusted: true },
  over_capacity: { of: 'site', words: 'More people than the capacity', trusted: true },
  no_logins: { of: 'customer', words: 'Nobody logs in', trusted: true },
} as const satisfies Record<string, Description>;

export type ProblemKind = keyof typeof PROBLEMS;

/** Remembered over restarts: what counts of today and of the past do not show for as long as these last. */
const REMEMBERED: ReadonlySet<ProblemKind> = new Set([
  'credentials_refused',
  'polls_failing',
  'values_unconfirmed',
  'minutes_unreadable',
  'nobody_counted',
  'entries_missing',
  'exits_missing',
  'door_silent',
  'no_logins',
]);

/** In the order of {@link PROBLEMS}. */
export const PROBLEM_KINDS = Object.keys(PROBLEMS) as readonly ProblemKind[];

export interface Problem {
  readonly kind: ProblemKind;
  readonly sinceMs: number;
  /** About how many people, or logins, were not counted; undefined where that is no question. */
  readonly missed?: number;
}

/**
 * Problems that a restart must know, by the key of the branch; null for those of the customer and of its only
 * building. Those without problems are left out.
 */
export type RememberedProblems = ReadonlyMap<string | null, readonly Problem[]>;

/** Returns those problems that are remembered over restarts, with whole people. */
export function remembered(problems: readonly Problem[]): readonly Problem[] {
  return problems
    .filter(({ kind }) => REMEMBERED.has(kind))
    .map(({ missed, ...problem }) =>
      missed === undefined ? problem : { ...problem, missed: Math.round(missed) },
    );
}

/** Returns problems in their order, causes first. */
export function inOrder(problems: readonly Problem[]): readonly Problem[] {
  return problems.length < 2
    ? problems
    : problems.toSorted((a, b) => PROBLEM_KINDS.indexOf(a.kind) - PROBLEM_KINDS.indexOf(b.kind));
}

/** Returns a problem since the first of some instants; none without an instant. */
export function oldest(
  kind: ProblemKind,
  sinceMs: readonly (number | undefined)[],
): readonly Problem[] {
  const known = sinceMs.filter((atMs) => atMs !== undefined);
  return known.length === 0 ? [] : [{ kind, sinceMs: Math.min(...known) }];
}

/**
 * Returns the problem of a kind that lasts: nobody was counted since. Of a day before today the newest count may be
 * known by its quarter-hour only.
 */
export function lasting(
  before: readonly Problem[],
  kind: ProblemKind,
  lastMs = -Infinity,
): Problem | undefined {
  const known = knownOf(before, kind);
  return known !== undefined && lastMs < known.sinceMs + QUARTER_MS ? known : undefined;
}

/** Returns the problem of a kind; undefined if there is none. */
export function knownOf(before: readonly Problem[], kind: ProblemKind): Problem | undefined {
  return before.find((problem) => problem.kind === kind);
}

/** Returns a problem whose number missed does not fall. */
export function atLeast(problem: Problem, missed = 0): Problem {
  return { ...problem, missed: Math.max(missed, problem.missed ?? 0) };
}
