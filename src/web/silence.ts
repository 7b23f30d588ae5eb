/** Doors that counted nobody, as far as the last polls say. */
import type { CustomerMetrics, StreamMetrics } from '../counting/customer-metrics.ts';

/** Doors may count nobody for so long while it is open. */
const MAX_SILENCE_MS = 2 * 60 * 60_000;
/** Limit for listed devices or branches. */
const MAX_NAMES = 5;

export interface Silence {
  /** Nobody was counted within two hours, in which it was open. */
  readonly isSilent: boolean;
  /** Branches and devices that counted nobody today; empty if there are none. */
  readonly uncounted: string;
  /** It was open for two hours, so that `uncounted` is unusual. */
  readonly isOverdue: boolean;
}

/** Returns what counted nobody. `isOpenAt` returns undefined without opening hours. */
export function findSilence(
  metrics: CustomerMetrics,
  nowMs: number,
  isOpenAt: (atMs: number) => boolean | undefined,
): Silence {
  const isSilent = isPeopleSilent(metrics, nowMs);
  const uncounted = listUncounted(metrics);
  const isOverdue =
    (isSilent || uncounted !== '') &&
    metrics.open === true &&
    isOpenAt(nowMs - MAX_SILENCE_MS) === true;
  return { isSilent: isSilent && isOverdue, uncounted, isOverdue };
}

/** False while the newest values are unknown. */
function isPeopleSilent({ streams: { people }, counters }: CustomerMetrics, nowMs: number) {
  if (!isCurrent(people)) {
    return false;
  }
  return people.lastSeenMs === undefined
    ? countedNobody(counters)
    : nowMs - people.lastSeenMs >= MAX_SILENCE_MS;
}

function listUncounted(metrics: CustomerMetrics): string {
  const lists = [listKeys(metrics, 'branch', 'branches'), listKeys(metrics, 'device', 'devices')];
  return lists.filter((list) => list !== '').join('; ');
}

function listKeys(
  { streams, breakdowns }: CustomerMetrics,
  breakdown: 'branch' | 'device',
  plural: string,
): string {
  const { keys = [], names = [] } = breakdowns[breakdown] ?? {};
  const uncounted = keys.filter(({ counters }) => countedNobody(counters));
  if (uncounted.length === 0 || !isCurrent(streams[breakdown])) {
    return '';
  }
  if (uncounted.length === keys.length && keys.length > 1) {
    return `all ${keys.length} ${plural}`;
  }
  const nameOf = new Map(names);
  const shown = uncounted.slice(0, MAX_NAMES).map(({ key }) => nameOf.get(key) ?? key);
  const more = uncounted.length - shown.length;
  return `${uncounted.length === 1 ? breakdown : plural} ${shown.join(', ')}${more === 0 ? '' : ` and ${more} more`}`;
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
