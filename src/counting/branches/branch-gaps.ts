/**
 * The sums of branches beside the customer's own counts, which say what is finished, what can be copied, and
 * where late records came.
 */
import { MINUTE_MS } from '../../base/duration.ts';
import { areEqual, countOf, grandTotal, minus } from '../rows/counts.ts';
import type { Counts } from '../rows/counts.ts';
import { endMsOf, sumsAt, totalOf, windowsOf } from './branch-day.ts';
import type { BranchDay, Sums } from './branch-day.ts';
import type { BranchState, CustomerCounts, CustomerDay } from './branch-state.ts';

/** A window is finished this long after its end: devices send their counts within minutes. */
const SETTLE_MINUTES = 5;

/** Returns the number of windows that are finished at an instant: by the time alone, not by polls. */
export function finishedWindows(branchDay: BranchDay, endMs: number): number {
  const minutes = Math.ceil((endMs - branchDay.day.startMs) / MINUTE_MS) - SETTLE_MINUTES;
  const finished = Math.floor((minutes * MINUTE_MS) / branchDay.stepMs);
  return Math.min(Math.max(0, finished), windowsOf(branchDay));
}

/** Returns how many more people the branches have after the first `windows` windows than the customer. */
export function gapAt(
  branchDay: BranchDay,
  sums: readonly Sums[],
  windows: number,
  counted: CustomerDay,
): Counts {
  return minus(totalOf(sumsAt(sums, windows)), countedUntil(branchDay, windows, counted));
}

/** Returns the number of windows up to the newest end with another gap, among the first ends; 0 without any. */
export function newestSuspect(
  branchDay: BranchDay,
  sums: readonly Sums[],
  counted: CustomerDay,
  gap: Counts,
  windows = sums.length,
): number {
  // Each response is followed by a search of the whole day: counts are taken off window by window.
  let ofCustomer = countedUntil(branchDay, windows, counted);
  for (let suspect = windows; suspect > 0; suspect -= 1) {
    if (!areEqual(minus(totalOf(sumsAt(sums, suspect)), ofCustomer), gap)) {
      return suspect;
    }
    const [fromStep, toStep] = [suspect - 1, suspect].map((end) =>
      stepsUntil(branchDay, end, counted),
    );
    ofCustomer = counted.counts.map(
      (steps, i) => countOf(ofCustomer, i) - grandTotal(steps.subarray(fromStep, toStep)),
    );
  }
  return 0;
}

/** Returns the customer's counts at the end of the first `windows` windows, or some time after it. */
export function countedUntil(
  branchDay: BranchDay,
  windows: number,
  counted: CustomerDay,
  afterMs = 0,
): Counts {
  const steps = stepsUntil(branchDay, windows, counted, afterMs);
  return counted.counts.map((ofCounter) => grandTotal(ofCounter.subarray(0, steps)));
}

function stepsUntil(
  branchDay: BranchDay,
  windows: number,
  { stepMs, first }: CustomerDay,
  afterMs = 0,
): number {
  const elapsedMs = endMsOf(branchDay, windows) + afterMs - branchDay.day.startMs;
  return Math.max(0, Math.floor(elapsedMs / stepMs) - first);
}

/** Returns what the customer has counted today. */
export function countedToday({ today: { counts } }: CustomerCounts): Counts {
  return counts.map(grandTotal);
}

/** Whether the running window has what the customer counted since the last known window. */
export function isRunningKnown({ today, running }: BranchState, customer: CustomerCounts): boolean {
  return (
    running !== undefined &&
    running.windows === today?.sums.length &&
    areEqual(running.customer, countedToday(customer))
  );
}
