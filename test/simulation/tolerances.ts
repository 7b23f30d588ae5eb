/** What the audits tolerate, given the conventions, faults and incidents of an environment. */
import { Temporal } from 'temporal-polyfill';
import { fittingKeyTimes } from '../support/simulated-people.ts';
import { DAY_MS, MINUTE_MS } from '../../src/base/duration.ts';
import type { Environment, IncidentKind } from './environment.ts';

/** Start of the day in every environment. */
export const DAY_STARTS_AT = '04:00';
/** Starts of the same month in two zones are nearer than this. */
export const SAME_PERIOD_MS = 3 * DAY_MS;
const CROWD = 600;

export function mayOccur(
  { incidents, incidentsPerHour }: Environment,
  kind: IncidentKind,
): boolean {
  return incidentsPerHour > 0 && incidents.includes(kind);
}

/** True if responses may lack rows. */
export function mayLackRows(environment: Environment): boolean {
  const { faultKinds, faultRate } = environment;
  const isFaulty = faultRate > 0 && faultKinds.includes('empty');
  return isFaulty || mayOccur(environment, 'empty responses for a while');
}

/** A total may decrease: by corrections, or for a while because responses lack rows. */
export function mayDecrease(environment: Environment): boolean {
  return environment.conventions.corrections.share > 0 || mayLackRows(environment);
}

/** How much of a counter corrections may have removed since. */
export function removedCounts({ conventions }: Environment, total: number): number {
  const { share } = conventions.corrections;
  return share === 0 ? 0 : Math.ceil(3 + 4 * share * total);
}

/** Every record is in the next poll; late and corrected ones are in the next baseline only. */
function arrivesPromptly({ conventions }: Environment): boolean {
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
 * Occupancy and last seen follow from the rows: keys and windows agree, there is no crowd that changes
 * within a second, and they are those of the customer, not of its branches.
 */
export function canAuditOccupancy(environment: Environment): boolean {
  const { conventions, breakdowns } = environment;
  return (
    !breakdowns.includes('branch') &&
    hasKnownKeys(environment) &&
    conventions.forced.above === 'bytes' &&
    haveWindowsKeyTime(environment) &&
    arrivesPromptly(environment) &&
    conventions.deviceClocks.share === 0 &&
    conventions.serviceClockMs === 0 &&
    !isCrowded(environment)
  );
}

/**
 * Occupancy of branches follows from the records: keys are known, and clocks are right. Late and corrected
 * records are no exception, nor are windows by arrival.
 */
export function canAuditBranches(environment: Environment): boolean {
  const { conventions } = environment;
  return (
    hasKnownKeys(environment) &&
    conventions.forcedGroups === 'never' &&
    conventions.forced.above === 'bytes' &&
    // A record of yesterday that arrives today is in today's window, and not among the customer's minutes.
    (haveWindowsKeyTime(environment) ||
      (conventions.windowTime === 'server' && arrivesPromptly(environment))) &&
    conventions.deviceClocks.share === 0 &&
    conventions.serviceClockMs === 0 &&
    !isCrowded(environment)
  );
}

/** Records are in the window of their key, because both have the same time. */
export function haveWindowsKeyTime({ conventions: { windowTime, keyTime } }: Environment): boolean {
  return (windowTime === 'server') === (keyTime === 'server');
}

/** The 28 days before a day are the same at each reading. */
export function canAuditBranchEstimates(environment: Environment): boolean {
  const { conventions, requestTimes, startMs, timezone, days } = environment;
  const firstMs = startMs - 30 * DAY_MS;
  const hasRepeated = repeatedTimes(firstMs, timezone, (days + 31) * DAY_MS) !== undefined;
  const isHonoured = conventions.designator === 'honoured' && requestTimes !== 'local';
  // An hour of a past day in which nobody came is copied: it may lack who came exactly at its end.
  const mayLackEdge = conventions.toEdge === 'inclusive' && conventions.resolutionMs > 1;
  return (
    isExactAfterPoll(environment) &&
    haveWindowsKeyTime(environment) &&
    (isHonoured || !hasRepeated) &&
    !mayLackEdge
  );
}

export interface TimeRange {
  readonly startMs: number;
  readonly endMs: number;
}

/**
 * If offsets are ignored or not sent, a window may start in the wrong one of two hours, until the next
 * baseline, or as long as given.
 */
export function mayConfuseHours(
  { conventions, requestTimes, timezone, reconcileIntervalMs, intervalMs }: Environment,
  dayMs: number,
  readMs: number,
  forMs = reconcileIntervalMs + 4 * intervalMs,
): boolean {
  const isHonoured = conventions.designator === 'honoured' && requestTimes !== 'local';
  if (isHonoured || requestTimes === 'utc') {
    return false;
  }
  const repeated = repeatedTimes(dayMs, timezone);
  return repeated !== undefined && readMs > repeated.startMs && readMs < repeated.endMs + forMs;
}

/** The local times that occur twice within a time after an instant, by default a day, if clocks are set back. */
export function repeatedTimes(
  fromMs: number,
  timezone: string,
  withinMs = DAY_MS,
): TimeRange | undefined {
  const start = Temporal.Instant.fromEpochMilliseconds(fromMs).toZonedDateTimeISO(timezone);
  const change = start.getTimeZoneTransition('next');
  const backMs = change === null ? 0 : (start.offsetNanoseconds - change.offsetNanoseconds) / 1e6;
  const changeMs = change?.epochMilliseconds ?? Infinity;
  return backMs > 0 && changeMs < fromMs + withinMs
    ? { startMs: changeMs - backMs, endMs: changeMs + backMs }
    : undefined;
}

/** Minute keys can be parsed, to the instants that they mean. */
function hasKnownKeys({ conventions: { minuteKey }, keyTimes }: Environment): boolean {
  const isMissing = minuteKey.form === 'iso' && minuteKey.designator === 'none';
  return minuteKey.form !== 'opaque' && (!isMissing || keyTimes === fittingKeyTimes(minuteKey));
}

/** Keys are local times without an offset. */
export function hasLocalKeys({ conventions: { minuteKey } }: Environment): boolean {
  return (
    minuteKey.form === 'iso' && minuteKey.designator === 'none' && minuteKey.zone === 'customer'
  );
}

/** Every successful poll shows the service's total: nothing is late, and no response lacks rows. */
export function isExactAfterPoll(environment: Environment): boolean {
  return (
    arrivesPromptly(environment) &&
    !mayLackRows(environment) &&
    !mayOccur(environment, 'clock steps') &&
    !isCrowded(environment)
  );
}

/** True if the increase after an outage may be so large that it must be confirmed. */
function isCrowded({ visitsPerDay }: Environment): boolean {
  return visitsPerDay.some((visits) => visits > CROWD);
}

/** How old the values of a successful poll can be at its end; it took `tookMs`. */
export function lagMs(environment: Environment, sinceDayMs: number, tookMs: number): number {
  const { reconcileIntervalMs, intervalMs } = environment;
  // Windows start with the day, so counts from just before it may be in the next baseline only.
  const isFirstBaseline = sinceDayMs < reconcileIntervalMs + 4 * intervalMs;
  const isLate = !arrivesPromptly(environment) || isFirstBaseline;
  return tookMs + (isLate ? reconcileIntervalMs + 4 * intervalMs : 0);
}
