/**
 * What is wrong with a customer or a building, since when, and how many people it cost. Nothing else decides that: the
 * status page, the alerts and the dashboards show what is decided here. Pure, from facts that follow from the
 * service's counts, so that a restart and a replica decide the same. docs/how-it-counts.md has the table of problems.
 */
import { HOUR_MS, MINUTE_MS } from '../base/duration.ts';
import type { Stream } from '../base/model.ts';
import type { DoorModel } from './occupancy/door-model.ts';
import { QUARTER_MS } from './occupancy/door-model.ts';
import type { Missed } from './past/missed.ts';
import type { UsualPeople } from './past/usual.ts';
import type { Health } from './totals/health.ts';

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

/** What is known of the polls of one stream. */
export interface StreamFacts {
  readonly stream: Stream;
  readonly health: Health;
  readonly intervalMs: number;
}

export interface CustomerFacts {
  /** The first refusal; undefined unless the service refuses the credentials now. */
  readonly refusedMs: number | undefined;
  /** People, logins and branches, as far as they are polled. */
  readonly streams: readonly StreamFacts[];
  /** The first accepted poll in a row whose minutes cannot be read. */
  readonly unreadableMs: number | undefined;
  /** Undefined while they are not known. */
  readonly logins: { readonly missed: number; readonly lastMs: number | undefined } | undefined;
}

export interface CustomerProblems {
  readonly problems: readonly Problem[];
  /** Whether its counts are new. If not, nothing is said about its buildings. */
  readonly isCurrent: boolean;
}

/**
 * Returns the problems of a customer, causes first, without those of its buildings.
 *
 * @param before those found before: one that lasts keeps its start, also over a restart
 */
export function problemsOfCustomer(
  facts: CustomerFacts,
  nowMs: number,
  before: readonly Problem[],
): CustomerProblems {
  const { problems, isCurrent } = findProblems(facts, nowMs, before);
  return {
    problems: problems.map((problem) =>
      problem.kind === 'no_logins' ? problem : (knownOf(before, problem.kind) ?? problem),
    ),
    isCurrent,
  };
}

function findProblems(
  facts: CustomerFacts,
  nowMs: number,
  before: readonly Problem[],
): CustomerProblems {
  const { refusedMs, streams, unreadableMs } = facts;
  if (refusedMs !== undefined) {
    return { problems: oldest('credentials_refused', [refusedMs]), isCurrent: false };
  }
  const failing = streams.filter((one) => failsAfter(one, before) <= nowMs);
  const waiting = streams.filter(
    (one) => !failing.includes(one) && unconfirmedAfter(one, before) <= nowMs,
  );
  const ofPolls = [
    ...oldest('polls_failing', failing.map(failingSince)),
    ...oldest('values_unconfirmed', waiting.map(unconfirmedSince)),
  ];
  // Without logins, people are still counted.
  const isCurrent = [...failing, ...waiting].every(({ stream }) => stream === 'logins');
  return {
    problems: [
      ...ofPolls,
      ...oldest('minutes_unreadable', isCurrent ? [unreadableMs] : []),
      ...(ofPolls.length === 0 ? noLogins(facts, before) : []),
    ],
    isCurrent,
  };
}

/** It lasts until somebody logs in, and before the first values of this process. */
function noLogins(
  { logins, streams }: CustomerFacts,
  before: readonly Problem[],
): readonly Problem[] {
  const { missed = 0, lastMs } = logins ?? {};
  const known = lasting(before, 'no_logins', lastMs);
  if (known !== undefined && streams.some(({ stream }) => stream === 'logins')) {
    return [atLeast(known, missed)];
  }
  return lastMs !== undefined && missed >= LIMITS.missedLogins
    ? [{ kind: 'no_logins', sinceMs: lastMs, missed }]
    : [];
}

/** Returns the instants at which {@link problemsOfCustomer} changes without a poll, some of them past. */
export function changesOfCustomer(
  { streams }: CustomerFacts,
  before: readonly Problem[],
): readonly number[] {
  return streams.flatMap((one) => [failsAfter(one, before), unconfirmedAfter(one, before)]);
}

function failingSince({ health }: StreamFacts): number {
  return health.lastSuccessMs ?? health.failingSinceMs ?? Infinity;
}

/** Before the first success of this process, it goes on failing. */
function failsAfter(facts: StreamFacts, before: readonly Problem[]): number {
  const { health, intervalMs } = facts;
  if (health.up !== false) {
    return Infinity;
  }
  const known = knownOf(before, 'polls_failing');
  return health.lastSuccessMs === undefined && known !== undefined
    ? known.sinceMs
    : failingSince(facts) + LIMITS.failedPolls * intervalMs;
}

function unconfirmedSince({ health }: StreamFacts): number {
  return health.acceptedMs ?? health.waitingSinceMs ?? Infinity;
}

/** Before the first values that this process accepts, they go on waiting. */
function unconfirmedAfter(facts: StreamFacts, before: readonly Problem[]): number {
  const { waitingSinceMs, acceptedMs } = facts.health;
  if (waitingSinceMs === undefined) {
    return Infinity;
  }
  const known = knownOf(before, 'values_unconfirmed');
  return acceptedMs === undefined && known !== undefined
    ? known.sinceMs
    : unconfirmedSince(facts) + LIMITS.maxUnconfirmedMs;
}

/** Returns a problem since the first of some instants; none without an instant. */
function oldest(kind: ProblemKind, sinceMs: readonly (number | undefined)[]): readonly Problem[] {
  const known = sinceMs.filter((atMs) => atMs !== undefined);
  return known.length === 0 ? [] : [{ kind, sinceMs: Math.min(...known) }];
}

/** A people counter. */
export interface DeviceFacts {
  /** When its total last rose. */
  readonly lastMs: number;
  /** Of the month's people of the building. */
  readonly share: number;
  /** Its exported total minus the service's. */
  readonly excess: number;
  /** Opening time from its last count to the building's last one. */
  readonly openMs: number;
  /** Its share of the entries and exits of the building since then. */
  readonly passes: number;
  /** Its share of the people: of entries or of exits, of which there were more. */
  readonly people: number;
}

/** What is known of a building at its newest counts. Unknown facts are undefined. */
export interface SiteFacts {
  /** Undefined while its past is not read, and while its newest counts are old. */
  readonly counts: { readonly usual: UsualPeople; readonly missed: Missed } | undefined;
  /** Start of the newest minute, or of its window, that counted anybody. */
  readonly lastMs: number | undefined;
  /** Of the newest one with an entry, and with an exit: -Infinity if none is within four weeks. */
  readonly lastEntryMs: number;
  readonly lastExitMs: number;
  /** The newest poll at which today's counts rose, and the newest minute that counted anybody then. */
  readonly rise: { readonly atMs: number; readonly lastMs: number | undefined } | undefined;
  /** Start of the customer's newest minute with a login. */
  readonly loginMs: number | undefined;
  /** When each of the customer's other branches counted last; undefined for a customer that is one building. */
  readonly others: readonly (number | undefined)[] | undefined;
  /** Undefined while nothing is known of them: before the first poll, also of a new month. */
  readonly devices: readonly DeviceFacts[] | undefined;
  /** Problems of its doors by the days before today: {@link problemsOfDoors}. */
  readonly doors: readonly Problem[];
  /** Since when more people are inside than its capacity; undefined while it is closed. */
  readonly overCapacityMs: number | undefined;
}

export interface SiteProblems {
  readonly problems: readonly Problem[];
  /** Whether its counts are right and new. */
  readonly isTrusted: boolean;
  /** About how many people should have come or left since the last count; undefined while that is not known. */
  readonly missed: number | undefined;
}

const OF_COUNTS: ReadonlySet<ProblemKind> = new Set([
  'nobody_counted',
  'entries_missing',
  'exits_missing',
]);
const OF_DOORS: ReadonlySet<ProblemKind> = new Set([
  'entries_missing',
  'exits_missing',
  'door_silent',
  'directions_unbalanced',
  'door_ratio_off',
]);

/**
 * Returns the problems of a building, causes first.
 *
 * @param before those found before: one that lasts does not end because a long silence has become usual,
 *   or because the evidence of use has passed
 */
export function problemsOfSite(
  facts: SiteFacts,
  nowMs: number,
  before: readonly Problem[],
): SiteProblems {
  const { counts, doors, overCapacityMs } = facts;
  const found = [
    ...countsDelayed(facts, nowMs),
    ...nobodyCounted(facts, nowMs, lasting(before, 'nobody_counted', facts.lastMs)),
    ...directionMissing(facts, before, 'entries_missing'),
    ...directionMissing(facts, before, 'exits_missing'),
    ...doorSilent(facts, before),
    ...doors,
  ];
  const shown = found.length < 2 ? found : withoutHidden(found);
  const isTrusted =
    shown.every(({ kind }) => PROBLEMS[kind].trusted) && !wasMissing(counts?.missed);
  let missed = counts && Math.max(counts.missed.people, counts.usual.entries, counts.usual.exits);
  for (const problem of shown) {
    missed = problem.missed === undefined ? missed : Math.max(missed ?? 0, problem.missed);
  }
  return {
    problems: isTrusted ? [...shown, ...oldest('over_capacity', [overCapacityMs])] : shown,
    isTrusted,
    missed,
  };
}

/** Leaves out what follows from late counts, and from doors that all count nobody. */
function withoutHidden(found: readonly Problem[]): readonly Problem[] {
  const kinds = new Set(found.map(({ kind }) => kind));
  return found.filter(
    ({ kind }) =>
      !(kinds.has('counts_delayed') && OF_COUNTS.has(kind)) &&
      !(kinds.has('nobody_counted') && OF_DOORS.has(kind)),
  );
}

function countsDelayed({ rise, lastMs }: SiteFacts, nowMs: number): readonly Problem[] {
  const { maxDelayMs } = LIMITS;
  const isDelayed =
    rise?.lastMs !== undefined &&
    lastMs !== undefined &&
    rise.atMs - rise.lastMs > maxDelayMs &&
    nowMs - lastMs > maxDelayMs &&
    nowMs - rise.atMs <= maxDelayMs;
  return isDelayed ? [{ kind: 'counts_delayed', sinceMs: lastMs }] : [];
}

function nobodyCounted(
  facts: SiteFacts,
  nowMs: number,
  before: Problem | undefined,
): readonly Problem[] {
  const { counts, lastMs } = facts;
  if (before !== undefined) {
    return [atLeast(before, counts?.missed.people)];
  }
  if (counts === undefined || lastMs === undefined) {
    return [];
  }
  const { people: passes, openSinceLastSeenMs: openMs = 0 } = counts.usual;
  const isMissing =
    (passes >= LIMITS.missedPassesInUse && isInUse(facts, counts.usual, lastMs, nowMs)) ||
    (passes >= LIMITS.missedPasses && openMs > LIMITS.missedOpenMs);
  return isMissing
    ? [{ kind: 'nobody_counted', sinceMs: lastMs, missed: counts.missed.people }]
    : [];
}

/** Whether anything but its doors shows that a building is in use. */
function isInUse(
  { loginMs = -Infinity, others }: SiteFacts,
  usual: UsualPeople,
  lastMs: number,
  nowMs: number,
): boolean {
  if (others === undefined) {
    return loginMs - lastMs >= LIMITS.loginLaterMs;
  }
  const counting = others.filter((atMs = -Infinity) => nowMs - atMs < LIMITS.otherBranchesMs);
  const newestMs = Math.max(lastMs, ...others.map((atMs = -Infinity) => atMs));
  const isShown =
    counting.length === 0
      ? loginMs - newestMs >= LIMITS.loginLaterMs
      : 2 * counting.length >= others.length;
  return isShown && (usual.entriesToday ?? Infinity) >= LIMITS.begunDayEntries;
}

function directionMissing(
  { counts, lastEntryMs, lastExitMs }: SiteFacts,
  before: readonly Problem[],
  kind: 'entries_missing' | 'exits_missing',
): readonly Problem[] {
  const isEntries = kind === 'entries_missing';
  const lastMs = isEntries ? lastEntryMs : lastExitMs;
  const { entries = 0, exits = 0 } = counts?.usual ?? {};
  const missed = isEntries ? entries : exits;
  const known = lasting(before, kind, lastMs);
  if (known !== undefined) {
    return [atLeast(known, missed)];
  }
  return lastMs > -Infinity && missed >= LIMITS.missedInDirection
    ? [{ kind, sinceMs: lastMs, missed }]
    : [];
}

/** Whether a direction was missing earlier today: the difference of both stays wrong until the day ends. */
function wasMissing(missed: Missed | undefined): boolean {
  const { earlierEntries = 0, earlierExits = 0 } = missed ?? {};
  return Math.max(earlierEntries, earlierExits) >= LIMITS.missedInDirection;
}

function doorSilent({ devices }: SiteFacts, before: readonly Problem[]): readonly Problem[] {
  const known = before.find(({ kind }) => kind === 'door_silent');
  if (devices === undefined) {
    return known === undefined ? [] : [known];
  }
  const silent = devices.filter(
    ({ share, excess, openMs, passes }) =>
      share >= LIMITS.minDeviceShare &&
      excess < LIMITS.maxDeviceExcess &&
      openMs >= LIMITS.silentDeviceOpenMs &&
      passes >= LIMITS.missedAtDevice,
  );
  // In a new month it has no share any more.
  const isLasting = known !== undefined && devices.some(({ lastMs }) => lastMs === known.sinceMs);
  const missed = silent.reduce((sum, { people }) => sum + people, 0);
  if (isLasting) {
    return [atLeast(known, missed)];
  }
  return oldest(
    'door_silent',
    silent.map(({ lastMs }) => lastMs),
  ).map((problem) => ({ ...problem, missed }));
}

/**
 * Returns the problem of a kind that lasts: nobody was counted since. Of a day before today the newest count may be
 * known by its quarter-hour only.
 */
function lasting(
  before: readonly Problem[],
  kind: ProblemKind,
  lastMs = -Infinity,
): Problem | undefined {
  const known = knownOf(before, kind);
  return known !== undefined && lastMs < known.sinceMs + QUARTER_MS ? known : undefined;
}

function knownOf(before: readonly Problem[], kind: ProblemKind): Problem | undefined {
  return before.find((problem) => problem.kind === kind);
}

function atLeast(problem: Problem, missed = 0): Problem {
  return { ...problem, missed: Math.max(missed, problem.missed ?? 0) };
}

/**
 * Returns the problems of doors that follow from the days before today. `dayStart` returns the start of the day so
 * many days ago, 0 for today.
 */
export function problemsOfDoors(
  { rejectedDays, ratios }: Pick<DoorModel, 'rejectedDays'> & Pick<DoorModel, 'ratios'>,
  dayStart: (daysAgo: number) => number,
): readonly Problem[] {
  const unbalanced = rejectedDays.filter((daysAgo) => daysAgo <= LIMITS.unbalancedWithinDays);
  const off = ratios.slice(ratios.findLastIndex((ratio) => !isOff(ratio)) + 1);
  // Today is one of the days.
  const isLongOff = (off[0]?.daysAgo ?? 0) >= LIMITS.ratioDays - 1;
  return [
    ...(unbalanced.length >= LIMITS.unbalancedDays
      ? oldest('directions_unbalanced', unbalanced.map(dayStart))
      : []),
    ...(isLongOff
      ? oldest(
          'door_ratio_off',
          off.map((one) => dayStart(one.daysAgo)),
        )
      : []),
  ];
}

function isOff({ value, stddev }: DoorModel['ratios'][number]): boolean {
  const error = Math.abs(value - 1);
  return error > LIMITS.maxRatioError && error > LIMITS.ratioStddevs * stddev;
}
