/**
 * The branches of a customer by windows: the service has no minutes of a branch, but the sums of all
 * branches in any window. `update` takes what the customer's own counts say without a request, `plan` says
 * what to request next, `requestSums` asks, `decide` returns the next state. Pure: a restart and a replica
 * have the same sums. docs/occupancy.md explains the method.
 */
import { MINUTE_MS } from '../../base/duration.ts';
import { readByKey } from '../breakdowns/poll-breakdown.ts';
import type { Calendar, Span } from '../calendar/calendar.ts';
import { HISTORY_DAYS } from '../occupancy/door-model.ts';
import type { PastDay } from '../occupancy/door-model.ts';
import { anyBelow, areEqual, countOf, grandTotal, minus, plus } from '../rows/counts.ts';
import type { Counts, CountsByKey } from '../rows/counts.ts';
import type { CountsToday } from '../rows/day-counts.ts';
import { readLarger, WindowReader } from '../rows/window-reader.ts';
import type { Query } from '../rows/window-reader.ts';
import {
  addKeys,
  endMsOf,
  isComplete,
  lastSums,
  PAST_WINDOW_MS,
  restoreDays,
  sumOfKey,
  sumsOf,
  totalOf,
  unknownDay,
  WINDOW_MS,
  windowsOf,
} from './day.ts';
import type { BranchDay, StoredBranchDay, Sums } from './day.ts';

/** The customer's own counts. */
export interface CustomerCounts {
  /** At the newest accepted poll. */
  readonly today: CountsToday;
  /** The {@link HISTORY_DAYS} days before, oldest first; undefined while they are not known. */
  readonly past: readonly PastDay[] | undefined;
}

type CustomerDay = Pick<PastDay, 'stepMs' | 'first' | 'counts'>;

/** Immutable: replaced as a whole. */
export interface BranchState {
  /**
   * `restored` until the first poll: stored days may be those of another time zone or day start. `reading`
   * while a past day is not known, or has changed; then `complete`.
   */
  readonly phase: 'restored' | 'reading' | 'complete';
  /** In the order in which they appeared. */
  readonly keys: readonly string[];
  readonly today: BranchDay | undefined;
  readonly now: SumsNow | undefined;
  /** Start of the newest minute, by key, in which the sums were seen to grow. */
  readonly seenMs: ReadonlyMap<string, number>;
  /** The {@link HISTORY_DAYS} days before, newest first, known as a whole or not at all; `restored`: some of them. */
  readonly past: readonly BranchDay[];
  /** The past day that is being read. */
  readonly reading: BranchDay | undefined;
}

/** Today's sums at a request without an end. */
interface SumsNow {
  /** What the customer itself had counted today. */
  readonly customer: Counts;
  readonly sums: Sums;
}

export const NO_BRANCHES: BranchState = {
  phase: 'restored',
  keys: [],
  today: undefined,
  now: undefined,
  seenMs: new Map(),
  past: [],
  reading: undefined,
};

/** One request, and what it is for. */
export interface BranchTask {
  readonly kind: 'window' | 'now';
  readonly branchDay: BranchDay;
  readonly fromMs: number;
  /** Undefined for the sums of now. */
  readonly toMs: number | undefined;
  /** Entries and exits that the response should have. */
  readonly atLeast: Counts;
  /** The customer's counts of the day. */
  readonly counted: CustomerDay;
  /** Start of the newest minute in which it counted anybody; undefined for a window. */
  readonly lastSeenMs?: number | undefined;
}

/** A window is finished this long after its end: devices send their counts within minutes. */
const SETTLE_MINUTES = 5;

/** Returns the state of the days that were stored, newest first. The others are read from the service again. */
export function restoreBranches(stored: readonly StoredBranchDay[]): BranchState {
  const { keys, days } = restoreDays(stored);
  const [today, reading] = days.filter((day) => !isComplete(day) && day.stepMs === WINDOW_MS);
  return { ...NO_BRANCHES, keys, today, past: days.filter(isComplete), reading };
}

/** Returns the number of windows that are finished at an instant: by the time alone, not by polls. */
export function finishedWindows(branchDay: BranchDay, endMs: number): number {
  const minutes = Math.ceil((endMs - branchDay.day.startMs) / MINUTE_MS) - SETTLE_MINUTES;
  const finished = Math.floor((minutes * MINUTE_MS) / branchDay.stepMs);
  return Math.min(Math.max(0, finished), windowsOf(branchDay));
}

/** Returns the state at newer counts of the customer: what follows from them without a request. */
export function update(
  state: BranchState,
  calendar: Calendar,
  customer: CustomerCounts,
): BranchState {
  const { counts, endMs } = customer.today;
  const { day } = counts;
  const isStarted = state.phase !== 'restored' && state.today?.day.startMs === day.startMs;
  const started = isStarted ? state : startDay(state, calendar, day);
  const known = started.today ?? unknownDay(day, WINDOW_MS);
  const today = copyWindows(known, finishedWindows(known, endMs), counts);
  const last = lastSums(today);
  const untilEnd = countedUntil(today, today.sums.length, counts);
  const all = counts.counts.map(grandTotal);
  const isQuiet = areEqual(totalOf(last), untilEnd) && areEqual(untilEnd, all);
  const now = isQuiet ? { customer: all, sums: last } : started.now;
  return updatePast({ ...started, today, now }, customer);
}

/** Takes over the days that are known: yesterday is a past day now, and after a restart some may be missing. */
function startDay(state: BranchState, calendar: Calendar, day: Span): BranchState {
  const days: Span[] = [];
  for (let before = day; days.length < HISTORY_DAYS;) {
    before = calendar.dayBefore(before);
    days.push(before);
  }
  const known = [state.today, ...state.past, state.reading]
    .filter((one) => one !== undefined)
    .filter((one) => one.sums.length > 0 && [day, ...days].some((span) => isOf(one, span)));
  /** A day that was missed is read as those before it. */
  function unknownPastDay(before: Span): BranchDay {
    const isAfterQuarters = known.some(
      (one) => one.stepMs === WINDOW_MS && one.day.startMs < before.startMs,
    );
    return unknownDay(before, isAfterQuarters ? WINDOW_MS : PAST_WINDOW_MS);
  }
  return {
    ...state,
    today: known.find((one) => isOf(one, day)) ?? unknownDay(day, WINDOW_MS),
    now: undefined,
    past: days.map(
      (before) =>
        known.find((one) => isComplete(one) && isOf(one, before)) ?? unknownPastDay(before),
    ),
    reading: known.find((one) => !isComplete(one) && !isOf(one, day)),
  };
}

function isOf({ day }: BranchDay, { startMs, endMs }: Span): boolean {
  return day.startMs === startMs && day.endMs === endMs;
}

/** Finds the newest past day that is not known, or of which the customer's own sum has changed since it was read. */
function updatePast(state: BranchState, { past: counted }: CustomerCounts): BranchState {
  if (counted === undefined) {
    return { ...state, phase: 'reading' };
  }
  let { past, reading } = state;
  for (let i = 0; i < past.length;) {
    const [known, ofDay] = [past[i], counted.at(-1 - i)];
    if (known === undefined || ofDay === undefined || isAsRead(known, ofDay)) {
      i += 1;
      continue;
    }
    const isRead = reading?.day.startMs === known.day.startMs;
    reading = isRead && reading ? reading : unknownDay(known.day, known.stepMs);
    reading = copyWindows(reading, windowsOf(reading), ofDay);
    if (!isComplete(reading)) {
      return { ...state, phase: 'reading', past, reading };
    }
    past = past.with(i, reading);
    reading = undefined;
  }
  return { ...state, phase: 'complete', past, reading: undefined };
}

function isAsRead(branchDay: BranchDay, counted: CustomerDay): boolean {
  const { customer } = branchDay;
  return (
    isComplete(branchDay) &&
    areEqual(customer, countedUntil(branchDay, windowsOf(branchDay), counted))
  );
}

/**
 * Windows in which the customer counted nobody, nor in the minute after, have the sums of those before: a
 * window may include the minute at its end. Where these differ from the customer's sums, the next window is
 * requested: by arrival, a record may be in it.
 */
export function copyWindows(
  branchDay: BranchDay,
  windows: number,
  counted: CustomerDay,
): BranchDay {
  const last = lastSums(branchDay);
  const before = countedUntil(branchDay, branchDay.sums.length, counted);
  const sums = [...branchDay.sums];
  while (
    sums.length < windows &&
    areEqual(totalOf(last), before) &&
    areEqual(countedUntil(branchDay, sums.length + 1, counted, MINUTE_MS), before)
  ) {
    sums.push(last);
  }
  return sums.length === branchDay.sums.length ? branchDay : { ...branchDay, sums };
}

/** Returns the customer's counts at the end of the first `windows` windows, or some time after it. */
function countedUntil(
  branchDay: BranchDay,
  windows: number,
  { stepMs, first, counts }: CustomerDay,
  afterMs = 0,
): Counts {
  const elapsedMs = endMsOf(branchDay, windows) + afterMs - branchDay.day.startMs;
  const steps = Math.max(0, Math.floor(elapsedMs / stepMs) - first);
  return counts.map((ofCounter) => grandTotal(ofCounter.subarray(0, steps)));
}

/** Returns the next request; undefined if there is none. Today comes first, then the newest past day. */
export function plan(state: BranchState, customer: CustomerCounts): BranchTask | undefined {
  const { today, past, reading } = state;
  if (today === undefined || today.day.startMs !== customer.today.counts.day.startMs) {
    return undefined;
  }
  const ofToday = planToday(today, state, customer.today);
  const daysAgo = past.findIndex(({ day }) => day.startMs === reading?.day.startMs);
  const counted = customer.past?.at(-1 - daysAgo);
  return ofToday ?? (reading && counted && windowTask(reading, counted));
}

function planToday(
  today: BranchDay,
  { now }: BranchState,
  { counts, endMs, lastSeenMs }: CountsToday,
): BranchTask | undefined {
  if (today.sums.length < finishedWindows(today, endMs)) {
    return windowTask(today, counts);
  }
  const customer = counts.counts.map(grandTotal);
  return now && areEqual(now.customer, customer)
    ? undefined
    : {
        kind: 'now',
        branchDay: today,
        fromMs: today.day.startMs,
        toMs: undefined,
        atLeast: larger(totalOf(lastSums(today)), customer),
        counted: counts,
        lastSeenMs,
      };
}

/** Returns the request for the sums at the next end. */
export function windowTask(branchDay: BranchDay, counted: CustomerDay): BranchTask {
  const windows = branchDay.sums.length + 1;
  return {
    kind: 'window',
    branchDay,
    fromMs: branchDay.day.startMs,
    toMs: endMsOf(branchDay, windows),
    atLeast: larger(totalOf(lastSums(branchDay)), countedUntil(branchDay, windows, counted)),
    counted,
  };
}

function larger(a: Counts, b: Counts): Counts {
  return a.map((count, counter) => Math.max(count, countOf(b, counter)));
}

/** Sends the request of a task. Throws a ServiceError, also if another aggregation was forced. */
export async function requestSums(
  { fromMs, toMs, atLeast }: Pick<BranchTask, 'fromMs' | 'toMs' | 'atLeast'>,
  { zone }: Calendar,
  query: Query,
): Promise<CountsByKey> {
  const reader = new WindowReader({ query, stream: 'people', zone, nowMs: () => fromMs });
  return readLarger(
    () => readByKey(reader, 'branch', fromMs, toMs),
    (table) => anyBelow(totalOf(sumsOf([], table)), atLeast),
    (table) => grandTotal(totalOf(sumsOf([], table))),
  );
}

/** Returns the state after the response to a task. A response to a state that has changed is ignored. */
export function decide(state: BranchState, task: BranchTask, table: CountsByKey): BranchState {
  const keys = addKeys(state.keys, table);
  const sums = sumsOf(keys, table);
  const { today, reading } = state;
  if (task.kind === 'now' && task.branchDay.day.startMs === today?.day.startMs) {
    const customer = task.counted.counts.map(grandTotal);
    return { ...state, keys, now: { customer, sums }, seenMs: seenIn(state, task, keys, sums) };
  }
  if (task.kind === 'window' && task.branchDay === today) {
    return { ...state, keys, today: addWindow(task, sums) };
  }
  if (task.kind === 'window' && task.branchDay === reading) {
    return { ...state, keys, reading: addWindow(task, sums) };
  }
  return { ...state, keys };
}

/** Returns the day of a task with the sums at the next end. */
export function addWindow({ branchDay, counted }: BranchTask, sums: Sums): BranchDay {
  const windows = branchDay.sums.length;
  const before = countedUntil(branchDay, windows, counted);
  const ofWindow = minus(countedUntil(branchDay, windows + 1, counted), before);
  return {
    ...branchDay,
    sums: [...branchDay.sums, sums],
    customer: plus(branchDay.customer, ofWindow),
  };
}

/** Returns when each key was last seen: in the customer's newest minute, if its sum has grown since the last request. */
function seenIn(
  { now, seenMs }: BranchState,
  { branchDay, lastSeenMs }: BranchTask,
  keys: readonly string[],
  sums: Sums,
): ReadonlyMap<string, number> {
  const seen = new Map(seenMs);
  if (now !== undefined && lastSeenMs !== undefined) {
    keys.forEach((key, index) => {
      const known = larger(sumOfKey(now.sums, index), sumOfKey(lastSums(branchDay), index));
      if (anyBelow(known, sumOfKey(sums, index))) {
        seen.set(key, lastSeenMs);
      }
    });
  }
  return seen;
}
