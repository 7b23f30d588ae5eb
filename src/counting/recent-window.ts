/** Whether the window of the last minutes shows what comes, and so whether a baseline can be reused. */
import type { Baseline, BaselineUse } from './baseline.ts';
import { grandTotal, isZero, minus } from './counts.ts';
import type { StreamState } from './poll.ts';

export type RecentWindow =
  | { readonly kind: 'usable' }
  /** Empty at so many baselines in a row although the day had counts in it. */
  | { readonly kind: 'suspect'; readonly baselines: number }
  /**
   * It begins earlier by the zone's offset: the service takes local times for UTC, so that in the
   * east the usual window is in its future.
   */
  | { readonly kind: 'extended' };

/** An empty window may be a fault for this many baselines in a row. */
const MAX_SUSPECT_BASELINES = 2;
/** The one transition of {@link RecentWindow}. */
export function nextRecentWindow(
  state: StreamState,
  baseline: Baseline,
  use: BaselineUse,
): RecentWindow {
  const before = state.recentWindow;
  switch (before.kind) {
    case 'extended':
      return before;
    case 'usable':
    case 'suspect': {
      const baselines = before.kind === 'suspect' ? before.baselines : 0;
      if (hasMissedGrowth(state, baseline)) {
        return { kind: 'extended' };
      }
      if (use !== 'window_empty') {
        return { kind: 'usable' };
      }
      return baselines >= MAX_SUSPECT_BASELINES
        ? { kind: 'extended' }
        : { kind: 'suspect', baselines: baselines + 1 };
    }
  }
}

/** Whether today grew by far more than the recent window, which was empty at both baselines. */
function hasMissedGrowth({ baseline: before, recent }: StreamState, baseline: Baseline): boolean {
  return (
    before?.day.startMs === baseline.day.startMs &&
    isZero(before.recentAtBaseline.sums) &&
    isZero(baseline.recentAtBaseline.sums) &&
    grandTotal(minus(baseline.todayByMinute, before.todayByMinute)) > 2 * grandTotal(recent ?? [])
  );
}

export function isBaselineReusable(
  before: RecentWindow,
  next: RecentWindow,
  use: BaselineUse,
): boolean {
  switch (use) {
    case 'once':
      return false;
    case 'window_empty':
      return before.kind === 'extended';
    case 'reusable':
      return before.kind === 'extended' || next.kind === 'usable';
  }
}
