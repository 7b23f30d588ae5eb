/**
 * The branches of a customer by windows: the service has no minutes of a branch, but the sums of all
 * branches in any window. `update` takes what the customer's own counts say without a request, `plan` says
 * what to request next, `requestSums` asks, `decide` returns the next state; `fold` drops the windows of past
 * days, once the past of each branch has them. Pure: a restart and a replica have the same sums.
 * docs/occupancy.md explains the method.
 */
import { MINUTE_MS } from '../../base/duration.ts';
import { readByKey } from '../breakdowns/poll-breakdown.ts';
import type { Calendar, Span } from '../calendar/calendar.ts';
import type { PastDay } from '../occupancy/door-model.ts';
import { daysBefore } from '../past/past.ts';
import type { Past } from '../past/past.ts';
import { anyBelow, areEqual, grandTotal, higher, minus, plus } from '../rows/counts.ts';
import type { Counts, CountsByKey } from '../rows/counts.ts';
import type { CountsToday } from '../rows/day-counts.ts';
import { readLarger, WindowReader } from '../rows/window-reader.ts';
import type { Query } from '../rows/window-reader.ts';
import {
  addKeys,
  endMsOf,
  hasWindows,
  isUnread,
  lastSums,
  PAST_WINDOW_MS,
  sumOfKey,
  sumsOf,
  totalOf,
  unknownDay,
  WINDOW_MS,
  windowsOf,
} from './day.ts';
import type { BranchDay, FoldedDay, Sums } from './day.ts';

/** The customer's own counts. */
export interface CustomerCounts {
  /** At the newest accepted poll. */
  readonly today: CountsToday;
  /** The 28 days before, oldest first; undefined while they are not known. */
  readonly past: readonly PastDay[] | undefined;
}

type CustomerDay = Pick<PastDay, 'stepMs' | 'first' | 'counts'>;

/** Immutable: replaced as a whole. */
export interface BranchState {
  /** In the order in which they appeared. */
  readonly keys: readonly string[];
  readonly today: BranchDay | undefined;
  /** Today's sums at a request without an end, and what the customer itself had counted then. */
  readonly now: { readonly customer: Counts; readonly sums: Sums } | undefined;
  /** Start of the newest minute, by key, in which the sums were seen to grow. */
  readonly seenMs: ReadonlyMap<string, number>;
  /** The 28 days before, newest first; before the first poll, those that were stored, and maybe today. */
  readonly past: readonly (BranchDay | FoldedDay)[];
  /** By key, with the folded days. The other branches counted nobody in these. */
  readonly pasts: ReadonlyMap<string, Past>;
}

export const NO_BRANCHES: BranchState = {
  keys: [],
  today: undefined,
  now: undefined,
  seenMs: new Map(),
  past: [],
  pasts: new Map(),
};

/** One request, and what it is for. */
export interface BranchTask {
  readonly branchDay: BranchDay;
  readonly fromMs: number;
  /** Undefined for the sums of now. */
  readonly toMs: number | undefined;
  /** The customer's counts of the day. */
  readonly counted: CustomerDay;
  /** Start of the newest minute in which it counted anybody; undefined for a window. */
  readonly lastSeenMs?: number | undefined;
}

/** A window is finished this long after its end: devices send their counts within minutes. */
const SETTLE_MINUTES = 5;

/** Returns the number of windows that are finished at an instant: by the time alone, not by polls. */
function finishedWindows(branchDay: BranchDay, endMs: number): number {
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
  const isOfDay = state.today?.day.startMs === day.startMs;
  const started = isOfDay ? state : startDay(state, calendar, day);
  const known = started.today ?? unknownDay(day, WINDOW_MS);
  const today = copyWindows(known, finishedWindows(known, endMs), counts);
  const last = lastSums(today);
  const untilEnd = countedUntil(today, endMsOf(today), counts);
  const all = countedUntil(today, Infinity, counts);
  const isQuiet = areEqual(totalOf(last), untilEnd) && areEqual(untilEnd, all);
  const now = isQuiet ? { customer: all, sums: last } : started.now;
  const past = started.past.map((known, i) => {
    const counted = customer.past?.at(-1 - i);
    return counted === undefined ? known : updatePastDay(known, counted);
  });
  const isChanged = past.some((one, i) => one !== started.past[i]);
  return { ...started, today, now, past: isChanged ? past : started.past };
}

/** Takes over the days that are known: yesterday is a past day now, and some may be missing. */
function startDay(state: BranchState, calendar: Calendar, day: Span): BranchState {
  const known = [state.today, ...state.past]
    .filter((one) => one !== undefined)
    .filter((one) => !hasWindows(one) || one.sums.length > 0);
  const pastDays = daysBefore(calendar, day).map(({ startMs, endMs }) => {
    // A day that was missed is read as those before it.
    const isByQuarter = known.some((one) => one.stepMs === WINDOW_MS && one.day.startMs < startMs);
    return (
      known.find((one) => one.day.startMs === startMs) ??
      unknownDay({ startMs, endMs }, isByQuarter ? WINDOW_MS : PAST_WINDOW_MS)
    );
  });
  const today = known.filter(hasWindows).find((one) => one.day.startMs === day.startMs);
  return {
    ...state,
    today: today ?? unknownDay(day, WINDOW_MS),
    now: undefined,
    past: pastDays.toReversed(),
  };
}

/** A past day is read again if the customer's own sum of it is not what it was when its windows were read. */
function updatePastDay(known: BranchDay | FoldedDay, counted: CustomerDay): BranchDay | FoldedDay {
  const ofDay = countedUntil(known, known.day.endMs, counted);
  if (!isUnread(known) && areEqual(known.customer, ofDay)) {
    return known;
  }
  const unread = isUnread(known) ? known : unknownDay(known.day, known.stepMs);
  const copied = copyWindows(unread, windowsOf(unread), counted);
  return isUnread(copied) ? copied : updatePastDay(copied, counted);
}

/** Returns whether all days before today are known. */
export function isPastKnown({ today, past }: BranchState): boolean {
  return today !== undefined && past.length > 0 && !past.some(isUnread);
}

/** Returns the state with the pasts of all branches, which have all days before today: their windows are dropped. */
export function fold(state: BranchState, pasts: ReadonlyMap<string, Past>): BranchState {
  const past = state.past.map(({ day, stepMs, customer }) => ({ day, stepMs, customer }));
  return { ...state, past, pasts };
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
  const before = countedUntil(branchDay, endMsOf(branchDay), counted);
  const sums = [...branchDay.sums];
  function isNextQuiet(): boolean {
    const endMs = endMsOf(branchDay, sums.length + 1) + MINUTE_MS;
    return areEqual(countedUntil(branchDay, endMs, counted), before);
  }
  while (sums.length < windows && areEqual(totalOf(last), before) && isNextQuiet()) {
    sums.push(last);
  }
  return sums.length === branchDay.sums.length ? branchDay : { ...branchDay, sums };
}

/** Returns what the customer had counted on a day until an instant. */
function countedUntil(
  { day }: FoldedDay,
  endMs: number,
  { stepMs, first, counts }: CustomerDay,
): Counts {
  const steps = Math.max(0, Math.floor((endMs - day.startMs) / stepMs) - first);
  return counts.map((ofCounter) => grandTotal(ofCounter.subarray(0, steps)));
}

/** Returns the next request; undefined if there is none. Today comes first, then the newest past day. */
export function plan(
  { today, now, past }: BranchState,
  customer: CustomerCounts,
): BranchTask | undefined {
  const { counts, endMs, lastSeenMs } = customer.today;
  if (today === undefined || today.day.startMs !== counts.day.startMs) {
    return undefined;
  }
  if (today.sums.length < finishedWindows(today, endMs)) {
    return windowTask(today, counts);
  }
  if (now === undefined || !areEqual(now.customer, countedUntil(today, Infinity, counts))) {
    const { startMs: fromMs } = today.day;
    return { branchDay: today, fromMs, toMs: undefined, counted: counts, lastSeenMs };
  }
  const unread = past.find(isUnread);
  const counted = unread && customer.past?.at(-1 - past.indexOf(unread));
  return counted && windowTask(unread, counted);
}

/** Returns whether the newest sums are those at the customer's newest poll: then they are the service's. */
export function isTodayKnown(state: BranchState, customer: CustomerCounts): boolean {
  const { today } = state;
  const isOfDay = today?.day.startMs === customer.today.counts.day.startMs;
  return isOfDay && plan(state, customer)?.branchDay !== today;
}

/** Returns the request for the sums at the next end. */
export function windowTask(branchDay: BranchDay, counted: CustomerDay): BranchTask {
  const toMs = endMsOf(branchDay, branchDay.sums.length + 1);
  return { branchDay, fromMs: branchDay.day.startMs, toMs, counted };
}

/** Sends the request of a task. Throws a ServiceError, also if another aggregation was forced. */
export async function requestSums(
  { branchDay, fromMs, toMs, counted }: BranchTask,
  { zone }: Calendar,
  query: Query,
): Promise<CountsByKey> {
  const reader = new WindowReader({ query, stream: 'people', zone, nowMs: () => fromMs });
  const customer = countedUntil(branchDay, toMs ?? Infinity, counted);
  const atLeast = higher(totalOf(lastSums(branchDay)), customer) ?? customer;
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
  const { today, past } = state;
  const { branchDay, toMs } = task;
  if (toMs === undefined) {
    const isOfToday = branchDay.day.startMs === today?.day.startMs;
    return isOfToday ? takeNow({ ...state, keys }, task, sums) : { ...state, keys };
  }
  if (branchDay === today) {
    return { ...state, keys, today: addWindow(task, sums) };
  }
  const place = past.indexOf(branchDay);
  return { ...state, keys, past: place < 0 ? past : past.with(place, addWindow(task, sums)) };
}

/** Returns the day of a task with the sums at the next end. */
export function addWindow({ branchDay, counted }: BranchTask, sums: Sums): BranchDay {
  const before = countedUntil(branchDay, endMsOf(branchDay), counted);
  const after = countedUntil(branchDay, endMsOf(branchDay, branchDay.sums.length + 1), counted);
  return {
    ...branchDay,
    sums: [...branchDay.sums, sums],
    customer: plus(branchDay.customer, minus(after, before)),
  };
}

/** A key whose sum has grown since the last request was seen in the customer's newest minute. */
function takeNow(
  state: BranchState,
  { branchDay, counted, lastSeenMs }: BranchTask,
  sums: Sums,
): BranchState {
  const { keys, now } = state;
  const last = lastSums(branchDay);
  const seenMs = new Map(state.seenMs);
  if (now !== undefined && lastSeenMs !== undefined) {
    keys.forEach((key, index) => {
      const known = higher(sumOfKey(now.sums, index), sumOfKey(last, index)) ?? [];
      if (anyBelow(known, sumOfKey(sums, index))) {
        seenMs.set(key, lastSeenMs);
      }
    });
  }
  return { ...state, now: { customer: countedUntil(branchDay, Infinity, counted), sums }, seenMs };
}
