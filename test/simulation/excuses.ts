/** What a world's conventions, faults and mishaps excuse: where an audit would be wrong to be strict. */
import type { DrawnWorld, MishapKind } from './drawn-world.ts';

const MINUTE_MS = 60_000;
const CROWD = 600;

/** Whether a mishap may befall somebody in this world. */
export function mayBefall({ mishaps, mishapsPerHour }: DrawnWorld, kind: MishapKind): boolean {
  return mishapsPerHour > 0 && mishaps.includes(kind);
}

/** Whether an answer may have had fewer rows than the service. */
export function mayLackRows(world: DrawnWorld): boolean {
  return shareOfEmpty(world) > 0 || mayBefall(world, 'empty answers for a while');
}

/** Whether faults may well make three answers in a row empty, which are then believed. */
export function mayBeEmptyThrice(world: DrawnWorld): boolean {
  return shareOfEmpty(world) > 0.015 || mayBefall(world, 'empty answers for a while');
}

function shareOfEmpty({ faultKinds, faultRate }: DrawnWorld): number {
  return faultKinds.includes('empty') ? faultRate / faultKinds.length : 0;
}

/** Whether a total of the service may fall: by corrections, or for a while by answers that lack rows. */
export function mayFall(world: DrawnWorld): boolean {
  return world.conventions.corrections.share > 0 || mayLackRows(world);
}

/** So much of what a counter shows the service may have taken back since. */
export function takenBack({ conventions }: DrawnWorld, total: number): number {
  const { share } = conventions.corrections;
  return share === 0 ? 0 : Math.ceil(3 + 4 * share * total);
}

/** Whether the next poll shows a record: one that is late, or corrected, is in the next anchor only. */
function arrivesPromptly({ conventions }: DrawnWorld): boolean {
  const { lateness, corrections, windowTime, deviceClocks, resolutionMs } = conventions;
  return (
    lateness.offlineShare === 0 &&
    lateness.usualMs < 5 * MINUTE_MS &&
    corrections.share === 0 &&
    resolutionMs < MINUTE_MS &&
    (windowTime === 'server' || deviceClocks.aheadMs >= 0) &&
    conventions.serviceClockMs >= 0
  );
}

/**
 * Whether occupancy and last seen can be held against the rows: each is in the window that its key is
 * in, and no crowd comes and goes within the second in which one looks.
 */
export function hasPlainMinutes(world: DrawnWorld): boolean {
  const { conventions } = world;
  return (
    conventions.forced.above === 'bytes' &&
    (conventions.windowTime === 'server') === (conventions.keyTime === 'server') &&
    arrivesPromptly(world) &&
    conventions.deviceClocks.share === 0 &&
    conventions.serviceClockMs === 0 &&
    !isCrowded(world)
  );
}

/** Whether keys say local times without an offset. */
export function hasLocalKeys({ conventions: { minuteKey } }: DrawnWorld): boolean {
  const isNaive =
    minuteKey.form === 'compact' ||
    minuteKey.form === 'minute-of-day' ||
    minuteKey.form === 'clock' ||
    (minuteKey.form === 'iso' && minuteKey.designator === 'none');
  return isNaive && minuteKey.zone === 'customer';
}

/** Whether every good poll must show the service's total: nothing is late, and no answer lacks rows. */
export function hasExactPolls(world: DrawnWorld): boolean {
  return (
    arrivesPromptly(world) &&
    !mayLackRows(world) &&
    !mayBefall(world, 'clock steps') &&
    !isCrowded(world)
  );
}

/** Whether what an outage kept back is so much that it is not believed at once. */
function isCrowded({ visitsPerDay }: DrawnWorld): boolean {
  return visitsPerDay.some((visits) => visits > CROWD);
}

/**
 * How long before the end of a good poll, which took `tookMs` and was so long after the day's start,
 * what it shows may have been so.
 */
export function lagMs(world: DrawnWorld, sinceDayMs: number, tookMs: number): number {
  const { reconcileIntervalMs, intervalMs } = world;
  // No window reaches back before the day, so that who came just before it may be in the next anchor only.
  const isFirstAnchor = sinceDayMs < reconcileIntervalMs + 4 * intervalMs;
  const isLate = !arrivesPromptly(world) || isFirstAnchor;
  return tookMs + (isLate ? reconcileIntervalMs + 4 * intervalMs : 0);
}
