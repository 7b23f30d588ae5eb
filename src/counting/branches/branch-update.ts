/** What newer counts of the customer say of its branches without a request. */
import { MINUTE_MS } from '../../base/duration.ts';
import type { Calendar, Span } from '../calendar/calendar.ts';
import { HISTORY_DAYS } from '../occupancy/door-model.ts';
import { areEqual, isZero } from '../rows/counts.ts';
import {
  areSumsEqual,
  asPastDay,
  isComplete,
  NO_GAP,
  NO_SUMS,
  PAST_WINDOW_MS,
  sumsAt,
  unknownDay,
  WINDOW_MS,
  windowsOf,
} from './branch-day.ts';
import type { BranchDay } from './branch-day.ts';
import {
  countedToday,
  countedUntil,
  finishedWindows,
  gapAt,
  newestSuspect,
} from './branch-gaps.ts';
import type { BranchState, CustomerCounts, CustomerDay } from './branch-state.ts';

/** Returns the state at newer counts of the customer: what follows from them without a request. */
export function update(
  state: BranchState,
  calendar: Calendar,
  customer: CustomerCounts,
): BranchState {
  const { day } = customer.today;
  const isStarted = state.phase === 'polled' && state.today?.day.startMs === day.startMs;
  const started = isStarted ? state : startDay(state, calendar, day);
  const todayBefore = started.today ?? unknownDay(day, WINDOW_MS);
  const today = copyWindows(
    todayBefore,
    finishedWindows(todayBefore, customer.endMs),
    customer.today,
  );
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
    phase: 'polled',
    today,
    // What did not change is not stored again.
    past: isPastChanged ? past : started.past,
    verified,
    running: isQuiet(today, customer)
      ? { windows: today.sums.length, customer: countedToday(customer), sums: NO_SUMS }
      : started.running,
    repair: [today, ...past].some((branchDay) => branchDay === repair?.unrepaired)
      ? repair
      : undefined,
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
  const earlier = isToday ? past : [asPastDay(today), ...past];
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
        earlier.find((branchDay) => areSpansEqual(branchDay.day, before)) ??
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

/**
 * Windows in which the customer counted nobody, nor in the minute after, have the sums of those before: a
 * window may include the minute at its end. Where the sums have come to differ from the customer's, one more
 * window is requested first: by arrival, a record may be in the next one.
 */
function copyWindows(branchDay: BranchDay, windows: number, counted: CustomerDay): BranchDay {
  const { sums, gap } = branchDay;
  const gapNow = gapAt(branchDay, sums, sums.length, counted);
  const last = sumsAt(sums, sums.length);
  const hasDiffered =
    areSumsEqual(last, sumsAt(sums, sums.length - 1)) &&
    areEqual(gapAt(branchDay, sums, sums.length - 1, counted), gap);
  const isConfirmed = isZero(gap) || hasDiffered;
  if (!areEqual(gapNow, gap) || !isConfirmed) {
    return branchDay;
  }
  const before = countedUntil(branchDay, sums.length, counted);
  const longer = [...sums];
  while (
    longer.length < windows &&
    areEqual(countedUntil(branchDay, longer.length + 1, counted, MINUTE_MS), before)
  ) {
    longer.push(last);
  }
  return longer.length === sums.length ? branchDay : { ...branchDay, sums: longer };
}
