/**
 * What is wrong with a building, since when, and how many people it cost. Pure, from facts that follow from the service's
 * counts, so that a restart and a replica decide the same.
 */
import type { DoorModel } from './occupancy/door-model.ts';
import type { Missed } from './past/missed.ts';
import type { UsualPeople } from './past/usual.ts';
import { atLeast, knownOf, lasting, LIMITS, oldest, PROBLEMS } from './problems.ts';
import type { Problem, ProblemKind } from './problems.ts';

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
  const known = knownOf(before, 'door_silent');
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
