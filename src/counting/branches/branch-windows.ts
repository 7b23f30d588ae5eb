/**
 * The branches of a customer by windows: the service has no minutes of a branch, but the sums of all
 * branches in any window. `update` (branch-update.ts) takes what the customer's own counts say without a
 * request, `plan` says what to request next, `requestSums` asks, `decide` (branch-responses.ts) returns the
 * next state. Pure: the same data of the service give the same windows after a restart and in a replica.
 * docs/occupancy.md explains the method.
 */
import { readByKey } from '../breakdowns/poll-breakdown.ts';
import type { Calendar } from '../calendar/calendar.ts';
import { anyBelow, grandTotal } from '../rows/counts.ts';
import type { Counts, CountsByKey } from '../rows/counts.ts';
import { lastSeenIn } from '../rows/day-counts.ts';
import { readLarger, WindowReader } from '../rows/window-reader.ts';
import type { Query } from '../rows/window-reader.ts';
import { endMsOf, isComplete, NO_GAP, sumsAt, sumsOf, totalOf } from './branch-day.ts';
import type { BranchDay } from './branch-day.ts';
import { countedToday, finishedWindows, isRunningKnown, newestSuspect } from './branch-gaps.ts';
import type { BranchState, CustomerCounts, CustomerDay, Repair } from './branch-state.ts';

/** One request, and what it is for. */
export type BranchTask = WindowTask | RepairTask | RunningTask;

interface TaskWindow {
  readonly fromMs: number;
  /** Undefined for the running window. */
  readonly toMs: number | undefined;
  /** Entries and exits that the response should have at least. */
  readonly atLeast: Counts | undefined;
}

export interface WindowTask extends TaskWindow {
  readonly kind: 'window';
  readonly branchDay: BranchDay;
  readonly customer: CustomerDay;
}

interface RepairTask extends TaskWindow {
  readonly kind: 'repair';
  readonly repair: Repair;
}

export interface RunningTask extends TaskWindow {
  readonly kind: 'running';
  readonly windows: number;
  readonly customer: Counts;
  readonly lastSeenMs: number | undefined;
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
        unrepaired: branchDay,
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
  const { unrepaired, repaired, windows } = repair;
  return {
    kind: 'repair',
    repair,
    fromMs: unrepaired.day.startMs,
    toMs: endMsOf(unrepaired, windows),
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
