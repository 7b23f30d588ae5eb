/**
 * The branches of a customer as they are stored: today and the past days whose windows are not folded yet, each by
 * itself; and the pasts of all branches with the customer's sums of their days. A cache, as all pasts.
 */
import { COUNTERS } from '../../base/model.ts';
import type { Calendar, Span } from '../calendar/calendar.ts';
import { daysBefore } from '../past/past.ts';
import type { Past } from '../past/past.ts';
import { parseStored, restorePast, serializePast } from '../past/stored-past.ts';
import type { Counts } from '../rows/counts.ts';
import { smallest } from '../rows/day-counts.ts';
import { addKeys, hasWindows, NO_SUMS, PAST_WINDOW_MS, WINDOW_MS, windowsOf } from './day.ts';
import type { BranchDay, FoldedDay } from './day.ts';
import { NO_BRANCHES } from './plan.ts';
import type { BranchState } from './plan.ts';

/** What was stored of a day, or at its start. */
interface Stored {
  readonly dayStartMs: number;
  /** JSON. */
  readonly content: string;
}

/** Returns a day as JSON. In place of sums, null stands for those of the window before. */
export function serializeDay(
  { keys }: BranchState,
  { day, stepMs, sums, customer }: BranchDay,
): string {
  const ends = sums.map((ofEnd, i) => (ofEnd === (sums[i - 1] ?? NO_SUMS) ? null : [...ofEnd]));
  return JSON.stringify({ end_ms: day.endMs, window_ms: stepMs, keys, customer, sums: ends });
}

/** Returns the pasts and the days that they have as JSON. */
export function serializePasts(calendar: Calendar, { past, pasts }: BranchState): string {
  const days = past
    .filter((one) => !hasWindows(one))
    .map(({ day, stepMs, customer }) => [day.startMs, day.endMs, stepMs, customer]);
  const branches = Array.from(pasts, ([key, ofKey]) => [key, serializePast(calendar, ofKey)]);
  return JSON.stringify({ days, branches: Object.fromEntries(branches) as object });
}

/** Returns the state of what was stored. Left out is what is invalid, or of another time zone or day start. */
export function restoreBranches(
  calendar: Calendar,
  stored: readonly Stored[],
  storedPasts: Stored | undefined,
): BranchState {
  const { folded, pasts } = restorePasts(calendar, storedPasts);
  const restored = stored.flatMap((one) => restoreDay(calendar, one));
  const [keys = []] = restored.map((one) => one.keys).toSorted((a, b) => b.length - a.length);
  const days = restored
    .filter((one) => one.keys.every((key, i) => key === keys[i]))
    .map(({ branchDay }) => branchDay);
  return { ...NO_BRANCHES, keys: addKeys(keys, pasts), past: [...days, ...folded], pasts };
}

function restoreDay(calendar: Calendar, { dayStartMs, content }: Stored) {
  const { end_ms: endMs, window_ms: stepMs, keys, customer, sums } = parseStored(content);
  const expected = [calendar.dayAt(dayStartMs)];
  const [day] = restoreFolded(expected, [dayStartMs, endMs, stepMs, customer]);
  const ends = membersOf(sums);
  if (
    day === undefined ||
    ends.length > windowsOf(day) ||
    !ends.every((ofEnd) => ofEnd === null || areIntegers(ofEnd))
  ) {
    return [];
  }
  let last = NO_SUMS;
  const branchDay: BranchDay = {
    ...day,
    sums: ends.map((ofEnd) => (last = ofEnd === null ? last : smallest(Float64Array.from(ofEnd)))),
  };
  return [{ keys: membersOf(keys).map(String), branchDay }];
}

function restorePasts(calendar: Calendar, stored: Stored | undefined) {
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
  const folded = membersOf(days).flatMap((one) => restoreFolded(expected, membersOf(one)));
  return { folded, pasts };
}

/** Returns a day without its windows; none if it is invalid, or not one of the expected ones. */
function restoreFolded(
  expected: readonly Span[],
  [startMs, endMs, stepMs, customer]: readonly unknown[],
): readonly FoldedDay[] {
  const day = expected.find((one) => one.startMs === startMs && one.endMs === endMs);
  return day !== undefined &&
    (stepMs === WINDOW_MS || stepMs === PAST_WINDOW_MS) &&
    areIntegers(customer) &&
    customer.length === COUNTERS.people.length
    ? [{ day, stepMs, customer }]
    : [];
}

function membersOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function areIntegers(value: unknown): value is Counts {
  return Array.isArray(value) && value.every((number) => Number.isSafeInteger(number));
}
