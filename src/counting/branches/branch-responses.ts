/** What the responses to requests for windows change, and the repair of windows after late records. */
import { anyBelow, isZero, plus } from '../rows/counts.ts';
import type { CountsByKey } from '../rows/counts.ts';
import { addKeys, areSumsEqual, isComplete, sumOfKey, sumsAt, sumsOf } from './branch-day.ts';
import type { BranchDay, Sums } from './branch-day.ts';
import { gapAt, newestSuspect } from './branch-gaps.ts';
import type { BranchState, Repair } from './branch-state.ts';
import type { BranchTask, RunningTask, WindowTask } from './branch-windows.ts';

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
  { branchDay: unrepaired, customer }: WindowTask,
  read: Sums,
): BranchState {
  const repaired = [...unrepaired.sums, read];
  const gap = gapAt(unrepaired, repaired, repaired.length, customer);
  return repairNext(state, {
    unrepaired,
    repaired,
    customer,
    gap,
    windows: unrepaired.sums.length,
  });
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
  const { unrepaired, repaired, customer, gap } = repair;
  const windows = newestSuspect(unrepaired, repaired, customer, gap, repair.windows);
  if (windows > 0) {
    return { ...state, repair: { ...repair, windows } };
  }
  const gapAtEnd = gapAt(unrepaired, repaired, repaired.length, customer);
  const next = { ...unrepaired, sums: repaired, gap: gapAtEnd };
  const verified = isComplete(unrepaired) ? [unrepaired.day.startMs] : [];
  return {
    ...replaceDay(state, unrepaired, next),
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

function replaceDay(state: BranchState, unrepaired: BranchDay, next: BranchDay): BranchState {
  return state.today === unrepaired
    ? { ...state, today: next }
    : {
        ...state,
        past: state.past.map((branchDay) => (branchDay === unrepaired ? next : branchDay)),
      };
}

/** Returns the state after a request failed: what it repaired is dropped. */
export function failed(state: BranchState): BranchState {
  return { ...state, repair: undefined };
}
