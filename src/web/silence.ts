/** Doors that counted nobody, as far as the last polls say. */
import type {
  BranchMetrics,
  CustomerMetrics,
  StreamMetrics,
} from '../counting/customer-metrics.ts';

/** Doors may count nobody for so long while it is open. */
const MAX_SILENCE_MS = 2 * 60 * 60_000;
/** Limit for listed names. */
const MAX_NAMES = 5;

/** Returns whether a building is open; undefined without opening hours. */
type IsOpenAt = (atMs: number) => boolean | undefined;

export interface Silence {
  /** Nobody was counted within two hours, in which it was open. */
  readonly isSilent: boolean;
  /** Devices that counted nobody today; empty if there are none. */
  readonly uncounted: string;
  /** It was open for two hours, so that `uncounted` is unusual. */
  readonly isOverdue: boolean;
}

/** Returns what counted nobody at a customer: the whole of it, or a device. */
export function findSilence(metrics: CustomerMetrics, nowMs: number, isOpenAt: IsOpenAt): Silence {
  const { people } = metrics.streams;
  const isSilent = isPeopleSilent({ ...metrics, lastSeenMs: people?.lastSeenMs }, people, nowMs);
  const uncounted = listDevices(metrics);
  const isOverdue = (isSilent || uncounted !== '') && wasOpen(metrics.open, nowMs, isOpenAt);
  return { isSilent: isSilent && isOverdue, uncounted, isOverdue };
}

/** Returns whether nobody was counted at a branch within two hours, in which it was open. */
export function isBranchSilent(
  branch: BranchMetrics,
  { streams: { people } }: CustomerMetrics,
  nowMs: number,
  isOpenAt: IsOpenAt,
): boolean {
  return isPeopleSilent(branch, people, nowMs) && wasOpen(branch.open, nowMs, isOpenAt);
}

/** Joins names, the first five of them. */
export function listNames(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).join(', ');
  const more = names.length - MAX_NAMES;
  return more > 0 ? `${shown} and ${more} more` : shown;
}

function wasOpen(open: boolean | undefined, nowMs: number, isOpenAt: IsOpenAt): boolean {
  return open === true && isOpenAt(nowMs - MAX_SILENCE_MS) === true;
}

/** False while the newest values are unknown. */
function isPeopleSilent(
  { lastSeenMs, counters }: Pick<BranchMetrics, 'lastSeenMs' | 'counters'>,
  people: StreamMetrics | undefined,
  nowMs: number,
): boolean {
  if (!isCurrent(people)) {
    return false;
  }
  return lastSeenMs === undefined ? countedNobody(counters) : nowMs - lastSeenMs >= MAX_SILENCE_MS;
}

function listDevices({ streams, breakdowns }: CustomerMetrics): string {
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

function isCurrent(stream: StreamMetrics | undefined): stream is StreamMetrics {
  return stream?.up === true && stream.waitingSinceMs === undefined;
}

/** Unknown counts are not 0. */
function countedNobody({
  people_entered: entered,
  people_exited: exited,
}: CustomerMetrics['counters']): boolean {
  return entered?.today === 0 && exited?.today === 0;
}
