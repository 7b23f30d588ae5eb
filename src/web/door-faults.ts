/** What may be wrong with doors: they counted nobody, as far as the last polls say, or not right. */
import type {
  BranchMetrics,
  CustomerMetrics,
  EstimateMetrics,
  StreamMetrics,
} from '../counting/customer-metrics.ts';

/** Doors may count nobody for so long while it is open. */
const MAX_SILENCE_MS = 2 * 60 * 60_000;
/** Limit for listed names. */
const MAX_NAMES = 5;

/**
 * Returns whether nobody was counted at a building within two hours; false while the newest values of `people`,
 * the stream that counts there, are unknown.
 */
export function countsNobody(
  { lastSeenMs, counters }: Pick<BranchMetrics, 'lastSeenMs' | 'counters'>,
  people: StreamMetrics | undefined,
  nowMs: number,
): boolean {
  const isSilent =
    lastSeenMs === undefined ? countedNobody(counters) : nowMs - lastSeenMs >= MAX_SILENCE_MS;
  return isSilent && isCurrent(people);
}

/** Returns whether a building is open, and was two hours ago: then counting nobody is unusual. */
export function wasOpen(
  open: boolean | undefined,
  nowMs: number,
  isOpenAt: (atMs: number) => boolean | undefined,
): boolean {
  return open === true && isOpenAt(nowMs - MAX_SILENCE_MS) === true;
}

const FAULTS = {
  exits_missing: 'Exits missing?',
  entries_missing: 'Entries missing?',
  silent: 'Doors silent?',
} as const;

/** Returns what may be wrong with the doors of a building, in words; empty if nothing is suspected. */
export function listDoorFaults(
  isSilent: boolean,
  { fault = 'none', isUnbalanced }: EstimateMetrics,
): readonly string[] {
  return [
    isSilent ? 'Nobody counted' : [],
    fault === 'none' ? [] : FAULTS[fault],
    isUnbalanced === true ? 'Directions unbalanced?' : [],
  ].flat();
}

/** Returns the devices of a customer that counted nobody today; empty if there are none. */
export function listUncounted({ streams, breakdowns }: CustomerMetrics): string {
  const { keys = [] } = breakdowns.device ?? {};
  const uncounted = keys.filter(({ counters }) => countedNobody(counters));
  if (uncounted.length === 0 || !isCurrent(streams.device)) {
    return '';
  }
  if (uncounted.length === keys.length && keys.length > 1) {
    return `all ${keys.length} devices`;
  }
  return `${uncounted.length === 1 ? 'device' : 'devices'} ${listNames(uncounted.map(({ key }) => key))}`;
}

/** Joins names, the first five of them. */
export function listNames(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).join(', ');
  const more = names.length - MAX_NAMES;
  return more > 0 ? `${shown} and ${more} more` : shown;
}

function isCurrent(stream: StreamMetrics | undefined): boolean {
  return stream?.up === true && stream.waitingSinceMs === undefined;
}

/** Unknown counts are not 0. */
function countedNobody({
  people_entered: entered,
  people_exited: exited,
}: CustomerMetrics['counters']): boolean {
  return entered?.today === 0 && exited?.today === 0;
}
