/**
 * The branches of a customer as they are stored: a row for today, and one for each past day whose windows are not
 * folded yet; and one row with the pasts of all branches, and the customer's sums of their days.
 */
import { COUNTERS } from '../base/model.ts';
import type { Calendar, Span } from '../counting/calendar/calendar.ts';
import {
  addKeys,
  hasWindows,
  isUnread,
  NO_SUMS,
  PAST_WINDOW_MS,
  WINDOW_MS,
  windowsOf,
} from '../counting/branches/day.ts';
import type { BranchDay, FoldedDay } from '../counting/branches/day.ts';
import type { CounterOwner } from '../counting/high-water-marks.ts';
import { NO_BRANCHES } from '../counting/branches/plan.ts';
import type { BranchState } from '../counting/branches/plan.ts';
import { daysBefore } from '../counting/past/past.ts';
import type { Past } from '../counting/past/past.ts';
import { parseStored, restorePast, serializePast } from '../counting/past/stored-past.ts';
import type { Counts } from '../counting/rows/counts.ts';
import { smallest } from '../counting/rows/day-counts.ts';
import type { StoredDay } from './database.ts';

const DAYS = 'branch';
const PASTS = 'branch past';

/** Yields the rows that have changed. Windows are removed after the pasts are written that have them. */
export function* changedRows(
  owner: CounterOwner,
  calendar: Calendar,
  state: BranchState,
  stored: BranchState,
): Generator<StoredDay> {
  const { keys, today, past, pasts } = state;
  const [first] = pasts.values();
  if (first !== undefined && pasts !== stored.pasts) {
    yield {
      owner,
      stream: PASTS,
      replaces: 'all days',
      dayStartMs: first.today.startMs,
      // Written in pieces, as those of customers.
      get content() {
        return serializePasts(calendar, state);
      },
    };
  }
  const known = new Set<unknown>([stored.today, ...stored.past]);
  const unfolded = past.filter(hasWindows);
  for (const day of unfolded) {
    if (!isUnread(day) && !known.has(day)) {
      yield serializeDay(owner, keys, day);
    }
  }
  const isFolded = unfolded.length === 0;
  if (today !== undefined && (!known.has(today) || (isFolded && past !== stored.past))) {
    yield { ...serializeDay(owner, keys, today), ...(isFolded && { replaces: 'all days' }) };
  }
}

/** In place of sums, null stands for those of the window before. */
function serializeDay(
  owner: CounterOwner,
  keys: readonly string[],
  { day, stepMs, sums, customer }: BranchDay,
): StoredDay {
  const ends = sums.map((ofEnd, i) => (ofEnd === (sums[i - 1] ?? NO_SUMS) ? null : [...ofEnd]));
  const content = { end_ms: day.endMs, window_ms: stepMs, keys, customer, sums: ends };
  return { owner, stream: DAYS, dayStartMs: day.startMs, content: JSON.stringify(content) };
}

function serializePasts(calendar: Calendar, { past, pasts }: BranchState): string {
  const days = past
    .filter((one) => !hasWindows(one))
    .map(({ day, stepMs, customer }) => [day.startMs, day.endMs, stepMs, customer]);
  const branches = Array.from(pasts, ([key, ofKey]) => [key, serializePast(calendar, ofKey)]);
  return JSON.stringify({ days, branches: Object.fromEntries(branches) as object });
}

/** Returns the state of what was stored. Left out is what is invalid, or of another time zone or day start. */
export function restoreBranches(
  calendar: Calendar,
  daysOf: (stream: string) => readonly StoredDay[],
): BranchState {
  const { folded, pasts } = restorePasts(calendar, daysOf(PASTS)[0]);
  const restored = daysOf(DAYS)
    .map((stored) => restoreDay(calendar, stored))
    .filter((one) => one !== undefined);
  const [keys = []] = restored.map((one) => one.keys).toSorted((a, b) => b.length - a.length);
  const days = restored
    .filter((one) => one.keys.every((key, i) => key === keys[i]))
    .map(({ branchDay }) => branchDay);
  return { ...NO_BRANCHES, keys: addKeys(keys, pasts), past: [...days, ...folded], pasts };
}

function restoreDay(calendar: Calendar, { dayStartMs, content }: StoredDay) {
  const { end_ms: endMs, window_ms: stepMs, keys, customer, sums } = parseStored(content);
  const expected = [calendar.dayAt(dayStartMs)];
  const day = restoreFolded(expected, [dayStartMs, endMs, stepMs, customer]);
  const ends = membersOf(sums);
  if (
    day === undefined ||
    ends.length > windowsOf(day) ||
    !ends.every((ofEnd) => ofEnd === null || areIntegers(ofEnd)) ||
    !Array.isArray(keys) ||
    !keys.every((key) => typeof key === 'string')
  ) {
    return undefined;
  }
  let last = NO_SUMS;
  const branchDay: BranchDay = {
    ...day,
    sums: ends.map((ofEnd) => (last = ofEnd === null ? last : smallest(Float64Array.from(ofEnd)))),
  };
  return { keys, branchDay };
}

function restorePasts(calendar: Calendar, stored: StoredDay | undefined) {
  const { days, branches } = parseStored(stored?.content ?? '');
  const startMs = stored?.dayStartMs ?? 0;
  const pasts = new Map<string, Past>();
  for (const [key, content] of Object.entries(Object(branches) as object)) {
    const past = restorePast(calendar, 'people', startMs, content);
    if (past === undefined) {
      return { folded: [], pasts: NO_BRANCHES.pasts };
    }
    pasts.set(key, past);
  }
  const expected = daysBefore(calendar, calendar.dayAt(startMs));
  const folded = membersOf(days).map((one) => restoreFolded(expected, membersOf(one)));
  return { folded: folded.filter((one) => one !== undefined), pasts };
}

/** Returns a day without its windows; undefined if it is invalid, or none of the expected ones. */
function restoreFolded(
  expected: readonly Span[],
  [startMs, endMs, stepMs, customer]: readonly unknown[],
): FoldedDay | undefined {
  const day = expected.find((one) => one.startMs === startMs && one.endMs === endMs);
  return day !== undefined &&
    (stepMs === WINDOW_MS || stepMs === PAST_WINDOW_MS) &&
    areIntegers(customer) &&
    customer.length === COUNTERS.people.length
    ? { day, stepMs, customer }
    : undefined;
}

function membersOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function areIntegers(value: unknown): value is Counts {
  return Array.isArray(value) && value.every((number) => Number.isSafeInteger(number));
}
