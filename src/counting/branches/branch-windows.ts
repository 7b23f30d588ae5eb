/**
 * The branches of a customer by windows: the service has no minutes of a branch, but the sums of all
 * branches in any window. `update` takes what the customer's own counts say without a request, `plan`
 * says what to request next, `requestSums` asks, `decide` returns the next state. Pure: the same data of
 * the service give the same windows after a restart and in a replica. docs/occupancy.md explains the
 * method.
 */
import { MINUTE_MS } from '../../base/duration.ts';
import { readByKey } from '../breakdowns/poll-breakdown.ts';
import type { CountsByKey } from '../breakdowns/poll-breakdown.ts';
import type { Calendar, Span } from '../calendar/calendar.ts';
import { HISTORY_DAYS } from '../occupancy/door-model.ts';
import { anyBelow, areEqual, grandTotal, isZero, minus, plus } from '../rows/counts.ts';
import type { Counts } from '../rows/counts.ts';
import { lastSeenIn } from '../rows/day-counts.ts';
import type { DayCounts } from '../rows/day-counts.ts';
import { readLarger, WindowReader } from '../rows/window-reader.ts';
import type { Query } from '../rows/window-reader.ts';
import {
  addKeys,
  areSumsEqual,
  asPastDay,
  endMsOf,
  isComplete,
  NO_GAP,
  NO_SUMS,
  PAST_WINDOW_MS,
  pastDayOfKey,
  sumOfKey,
  sumsAt,
  sumsOf,
  todayOfKey,
  totalOf,
  unknownDay,
  WINDOW_MS,
  windowsOf,
} from './branch-day.ts';
import type { BranchDay, Sums } from './branch-day.ts';

/** The customer's own counts, by which windows are copied and verified. */
export interface CustomerCounts {
  /** Today's minutes at the newest accepted poll. */
  readonly today: DayCounts;
  /** Minutes that start before this instant had begun at that poll. */
  readonly endMs: number;
  /** The {@link HISTORY_DAYS} days before today, oldest first; undefined while they are not known. */
  readonly past: readonly CustomerDay[] | undefined;
}

export type CustomerDay = Pick<DayCounts, 'stepMs' | 'first' | 'counts'>;

/** Immutable: replaced as a whole. */
export interface BranchState {
  /** In the order in which they appeared. */
  readonly keys: readonly string[];
  readonly today: BranchDay | undefined;
  /** The {@link HISTORY_DAYS} days before today, newest first; before the first poll, those that are stored. */
  readonly past: readonly BranchDay[];
  /** Starts of complete days whose sums were compared with the customer's today. */
  readonly verified: ReadonlySet<number>;
  readonly running: RunningWindow | undefined;
  readonly repair: Repair | undefined;
  /** Start of the newest minute, by key, that the running window has shown. */
  readonly seenMs: ReadonlyMap<string, number>;
}

/** What was counted since the last window that is known. */
interface RunningWindow {
  /** Number of the windows before it. */
  readonly windows: number;
  /** The customer's counts of today at the request. */
  readonly customer: Counts;
  readonly sums: Sums;
}

/**
 * Late records came: the ends of a day at which branches and customer differ by another number than at its
 * last end are requested again, newest first, until one is unchanged.
 */
interface Repair {
  /** The day as the state has it. */
  readonly known: BranchDay;
  readonly repaired: readonly Sums[];
  readonly customer: CustomerDay;
  /** The number that is right. */
  readonly gap: Counts;
  /** The next end to request: number of windows up to it. */
  readonly windows: number;
}

export const NO_BRANCHES: BranchState = {
  keys: [],
  today: undefined,
  past: [],
  verified: new Set(),
  running: undefined,
  repair: undefined,
  seenMs: new Map(),
};

/** A window is finished this long after its end: devices send their counts within minutes. */
const SETTLE_MINUTES = 5;

/** One request, and what it is for. */
export type BranchTask = WindowTask | RepairTask | RunningTask;

interface TaskWindow {
  readonly fromMs: number;
  /** Undefined for the running window. */
  readonly toMs: number | undefined;
  /** Entries and exits that the response should have at least. */
  readonly atLeast: Counts | undefined;
}

interface WindowTask extends TaskWindow {
  readonly kind: 'window';
  readonly branchDay: BranchDay;
  readonly customer: CustomerDay;
}

interface RepairTask extends TaskWindow {
  readonly kind: 'repair';
  readonly repair: Repair;
}

interface RunningTask extends TaskWindow {
  readonly kind: 'running';
  readonly windows: number;
  readonly customer: Counts;
  readonly lastSeenMs: number | undefined;
}

/** Returns the state at newer counts of the customer: what follows from them without a request. */
export function update(
  state: BranchState,
  calendar: Calendar,
  customer: CustomerCounts,
): BranchState {
  const { day } = customer.today;
  const isStarted = state.today?.day.startMs === day.startMs && state.past.length === HISTORY_DAYS;
  const started = isStarted ? state : startDay(state, calendar, day);
  const known = started.today ?? unknownDay(day, WINDOW_MS);
  const today = copyWindows(known, finishedWindows(known, customer.endMs), customer.today);
  const verified = new Set(started.verified);
  const past = started.past.map((branchDay, i) => {
    const counted = customer.past?.at(-1 - i);
    if (counted === undefined || verified.has(branchDay.day.startMs)) {
      return branchDay;
    }
    const longer = copyWindows(branchDay, windowsOf(branchDay), counted);
    if (isComplete(longer) && newestSuspect(longer, longer.sums, counted, NO_GAP) === 0) {
      verified.add(longer.day.startMs);
    }
    return longer;
  });
  const { repair } = started;
  const isPastChanged = past.some((branchDay, i) => branchDay !== started.past[i]);
  return {
    ...started,
    today,
    // What did not change is not stored again.
    past: isPastChanged ? past : started.past,
    verified,
    running: isQuiet(today, customer)
      ? { windows: today.sums.length, customer: countedToday(customer), sums: NO_SUMS }
      : started.running,
    repair: [today, ...past].some((branchDay) => branchDay === repair?.known) ? repair : undefined,
  };
}

/** Whether the customer has counted nobody since the last known window. */
function isQuiet(today: BranchDay, customer: CustomerCounts): boolean {
  return areEqual(countedUntil(today, today.sums.length, customer.today), countedToday(customer));
}

/** Takes over the days that are known: yesterday is a past day now, and after a restart some may be missing. */
function startDay(state: BranchState, calendar: Calendar, day: Span): BranchState {
  const { today = unknownDay(day, WINDOW_MS), past } = state;
  const isToday = areSpansEqual(today.day, day);
  const known = isToday ? past : [asPastDay(today), ...past];
  const days: Span[] = [];
  for (let before = day; days.length < HISTORY_DAYS;) {
    before = calendar.dayBefore(before);
    days.push(before);
  }
  return {
    ...state,
    today: isToday ? today : unknownDay(day, WINDOW_MS),
    past: days.map(
      (before) =>
        known.find((branchDay) => areSpansEqual(branchDay.day, before)) ??
        unknownDay(before, PAST_WINDOW_MS),
    ),
    verified: new Set(),
    running: undefined,
    repair: undefined,
  };
}

function areSpansEqual(a: Span, b: Span): boolean {
  return a.startMs === b.startMs && a.endMs === b.endMs;
}

/** Returns the number of windows that are finished at an instant: by the time alone, not by polls. */
export function finishedWindows(branchDay: BranchDay, endMs: number): number {
  const minutes = Math.ceil((endMs - branchDay.day.startMs) / MINUTE_MS) - SETTLE_MINUTES;
  const finished = Math.floor((minutes * MINUTE_MS) / branchDay.stepMs);
  return Math.min(Math.max(0, finished), windowsOf(branchDay));
}

/**
 * Windows in which the customer counted nobody have the sums of those before. Where these differ from the
 * customer's, one more window is requested first: by arrival, a record may be in the next one.
 */
function copyWindows(branchDay: BranchDay, windows: number, counted: CustomerDay): BranchDay {
  const { sums, gap } = branchDay;
  const gapNow = gapAt(branchDay, sums, sums.length, counted);
  const last = sumsAt(sums, sums.length);
  const isConfirmed = isZero(gap) || areSumsEqual(last, sumsAt(sums, sums.length - 1));
  if (sums.length >= windows || !areEqual(gapNow, gap) || !isConfirmed) {
    return branchDay;
  }
  const before = countedUntil(branchDay, sums.length, counted);
  const longer = [...sums];
  while (
    longer.length < windows &&
    areEqual(countedUntil(branchDay, longer.length + 1, counted), before)
  ) {
    longer.push(last);
  }
  return longer.length === sums.length ? branchDay : { ...branchDay, sums: longer };
}

/** Returns how many more people the branches have after the first `windows` windows than the customer. */
function gapAt(
  branchDay: BranchDay,
  sums: readonly Sums[],
  windows: number,
  counted: CustomerDay,
): Counts {
  return minus(totalOf(sumsAt(sums, windows)), countedUntil(branchDay, windows, counted));
}

/** Returns the number of windows up to the newest end with another gap, among the first ends; 0 without any. */
function newestSuspect(
  branchDay: BranchDay,
  sums: readonly Sums[],
  counted: CustomerDay,
  gap: Counts,
  windows = sums.length,
): number {
  let suspect = windows;
  while (suspect > 0 && areEqual(gapAt(branchDay, sums, suspect, counted), gap)) {
    suspect -= 1;
  }
  return suspect;
}

/** Returns the customer's counts at the end of the first `windows` windows. */
function countedUntil(
  branchDay: BranchDay,
  windows: number,
  { stepMs, first, counts }: CustomerDay,
): Counts {
  const elapsedMs = endMsOf(branchDay, windows) - branchDay.day.startMs;
  const steps = Math.max(0, Math.floor(elapsedMs / stepMs) - first);
  return counts.map((ofCounter) => sum(ofCounter.subarray(0, steps)));
}

function countedToday({ today: { counts } }: CustomerCounts): Counts {
  return counts.map(sum);
}

function sum(counts: Iterable<number>): number {
  let total = 0;
  for (const count of counts) {
    total += count;
  }
  return total;
}

/** Returns the next request; undefined if there is none. Today comes first, then the newest past day. */
export function plan(state: BranchState, customer: CustomerCounts): BranchTask | undefined {
  const { today, past, repair, verified } = state;
  if (today === undefined || today.day.startMs !== customer.today.day.startMs) {
    return undefined;
  }
  if (repair !== undefined) {
    return repairTask(repair);
  }
  if (today.sums.length < finishedWindows(today, customer.endMs)) {
    return windowTask(today, customer.today);
  }
  if (!isRunningKnown(state, customer)) {
    return runningTask(today, customer);
  }
  for (const [i, branchDay] of past.entries()) {
    const counted = customer.past?.at(-1 - i);
    if (counted !== undefined && !isComplete(branchDay)) {
      return windowTask(branchDay, counted);
    }
    if (counted !== undefined && !verified.has(branchDay.day.startMs)) {
      const { sums } = branchDay;
      const windows = newestSuspect(branchDay, sums, counted, NO_GAP);
      const repairing = {
        known: branchDay,
        repaired: sums,
        customer: counted,
        gap: NO_GAP,
        windows,
      };
      return repairTask(repairing);
    }
  }
  return undefined;
}

function windowTask(branchDay: BranchDay, counted: CustomerDay): WindowTask {
  const windows = branchDay.sums.length;
  return {
    kind: 'window',
    branchDay,
    customer: counted,
    fromMs: branchDay.day.startMs,
    toMs: endMsOf(branchDay, windows + 1),
    atLeast: totalOf(sumsAt(branchDay.sums, windows)),
  };
}

function repairTask(repair: Repair): RepairTask {
  const { known, repaired, windows } = repair;
  return {
    kind: 'repair',
    repair,
    fromMs: known.day.startMs,
    toMs: endMsOf(known, windows),
    atLeast: totalOf(sumsAt(repaired, windows)),
  };
}

function runningTask(today: BranchDay, customer: CustomerCounts): RunningTask {
  const windows = today.sums.length;
  return {
    kind: 'running',
    windows,
    customer: countedToday(customer),
    lastSeenMs: lastSeenIn(customer.today, customer.endMs),
    fromMs: endMsOf(today, windows),
    toMs: undefined,
    atLeast: undefined,
  };
}

/** Sends the request of a task. Throws a ServiceError, also if another aggregation was forced. */
export async function requestSums(
  { fromMs, toMs, atLeast }: TaskWindow,
  { zone }: Calendar,
  query: Query,
): Promise<CountsByKey> {
  const reader = new WindowReader({ query, stream: 'people', zone, nowMs: () => fromMs });
  return readLarger(
    () => readByKey(reader, 'branch', fromMs, toMs),
    (table) => atLeast !== undefined && anyBelow(totalOf(sumsOf([], table)), atLeast),
    (table) => grandTotal(totalOf(sumsOf([], table))),
  );
}

/** Returns the state after the response to a task. A response to a state that has changed is ignored. */
export function decide(state: BranchState, task: BranchTask, table: CountsByKey): BranchState {
  const keys = addKeys(state.keys, table);
  const read = sumsOf(keys, table);
  switch (task.kind) {
    case 'window':
      return { ...afterWindow(state, task, read), keys };
    case 'repair':
      return { ...afterRepair(state, task.repair, read), keys };
    case 'running':
      return { ...afterRunning(state, task, keys, read), keys };
  }
}

function afterWindow(
  state: BranchState,
  { branchDay: known, customer }: WindowTask,
  read: Sums,
): BranchState {
  const repaired = [...known.sums, read];
  const gap = gapAt(known, repaired, repaired.length, customer);
  return repairNext(state, { known, repaired, customer, gap, windows: known.sums.length });
}

function afterRepair(state: BranchState, repair: Repair, read: Sums): BranchState {
  const { repaired, windows } = repair;
  return areSumsEqual(sumsAt(repaired, windows), read)
    ? repairNext(state, { ...repair, windows: 0 })
    : repairNext(state, {
        ...repair,
        repaired: repaired.with(windows - 1, read),
        windows: windows - 1,
      });
}

/** Goes on with the next end to request, or stores the day. */
function repairNext(state: BranchState, repair: Repair): BranchState {
  const { known, repaired, customer, gap } = repair;
  const windows = newestSuspect(known, repaired, customer, gap, repair.windows);
  if (windows > 0) {
    return { ...state, repair: { ...repair, windows } };
  }
  const gapAtEnd = gapAt(known, repaired, repaired.length, customer);
  const next = { ...known, sums: repaired, gap: gapAtEnd };
  const verified = isComplete(known) ? [known.day.startMs] : [];
  return {
    ...replaceDay(state, known, next),
    verified: new Set([...state.verified, ...verified]),
    repair: undefined,
  };
}

function afterRunning(
  state: BranchState,
  { windows, customer, lastSeenMs }: RunningTask,
  keys: readonly string[],
  sums: Sums,
): BranchState {
  const { today, running } = state;
  if (today?.sums.length !== windows) {
    return state;
  }
  const seenMs = new Map(state.seenMs);
  keys.forEach((key, index) => {
    const isSeen = !isZero(sumOfKey(sums, index));
    const counted = plus(sumOfKey(sumsAt(today.sums, windows), index), sumOfKey(sums, index));
    const before =
      running &&
      plus(sumOfKey(sumsAt(today.sums, running.windows), index), sumOfKey(running.sums, index));
    if (isSeen && before !== undefined && lastSeenMs !== undefined && anyBelow(before, counted)) {
      seenMs.set(key, lastSeenMs);
    }
  });
  return { ...state, running: { windows, customer, sums }, seenMs };
}

function replaceDay(state: BranchState, known: BranchDay, next: BranchDay): BranchState {
  return state.today === known
    ? { ...state, today: next }
    : { ...state, past: state.past.map((branchDay) => (branchDay === known ? next : branchDay)) };
}

/** Returns the state after a request failed: what it repaired is dropped. */
export function failed(state: BranchState): BranchState {
  return { ...state, repair: undefined };
}

/** Whether the running window has what the customer counted since the last known window. */
function isRunningKnown({ today, running }: BranchState, customer: CustomerCounts): boolean {
  return (
    running !== undefined &&
    running.windows === today?.sums.length &&
    areEqual(running.customer, countedToday(customer))
  );
}

/** A branch today. */
export interface BranchToday {
  readonly counts: DayCounts;
  /** Start of the newest minute that counted anybody, or of its window. */
  readonly lastSeenMs: number | undefined;
}

/** Returns today's counts of some keys; undefined unless they are those of the customer's newest poll. */
export function branchesToday(
  state: BranchState,
  calendar: Calendar,
  customer: CustomerCounts,
  keys = state.keys,
): ReadonlyMap<string, BranchToday> | undefined {
  const { today, running, seenMs } = state;
  if (
    today?.day.startMs !== customer.today.day.startMs ||
    running === undefined ||
    today.sums.length < finishedWindows(today, customer.endMs) ||
    !isRunningKnown(state, customer)
  ) {
    return undefined;
  }
  const { startMs } = today.day;
  const endMs = startMs + Math.ceil((customer.endMs - startMs) / MINUTE_MS) * MINUTE_MS;
  return new Map(
    keys.map((key) => {
      const index = indexOf(state, key);
      const counts = todayOfKey(calendar, today, { sums: running.sums, endMs }, index);
      const seen = [seenMs.get(key), lastSeenIn(counts)].filter((atMs) => atMs !== undefined);
      return [key, { counts, lastSeenMs: seen.length === 0 ? undefined : Math.max(...seen) }];
    }),
  );
}

/** Whether all past days are complete and verified. */
export function isPastKnown({ past, verified }: BranchState): boolean {
  return past.length === HISTORY_DAYS && past.every(({ day }) => verified.has(day.startMs));
}

/** Returns the past days of a key by quarter-hour, oldest first. */
export function pastDaysOf(
  state: BranchState,
  calendar: Calendar,
  key: string,
): readonly DayCounts[] {
  const index = indexOf(state, key);
  return state.past.map((branchDay) => pastDayOfKey(calendar, branchDay, index)).toReversed();
}

/** Returns the place of a key; of an unknown one, a place without counts. */
function indexOf({ keys }: BranchState, key: string): number {
  const index = keys.indexOf(key);
  return index < 0 ? keys.length : index;
}

/** Returns the keys that counted anybody in the days that are known. */
export function countedKeys({ keys, today, past, running }: BranchState): readonly string[] {
  const days = today === undefined ? past : [today, ...past];
  const sums = days.map((branchDay) => sumsAt(branchDay.sums, branchDay.sums.length));
  const all = running === undefined ? sums : [...sums, running.sums];
  return keys.filter((_, index) => all.some((ofDay) => !isZero(sumOfKey(ofDay, index))));
}
