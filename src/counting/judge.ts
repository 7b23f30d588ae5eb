/** What becomes of the figures of a poll: shown, or kept back until they have come again. */
import { confirms, EMPTY_POLLS_BEFORE_BELIEF, isOutOfProportion } from './belief.ts';
import type { Believed } from './belief.ts';
import type { CountingPeriod } from './calendar.ts';
import type {
  MinuteFigures,
  PollContext,
  PollNote,
  PollOutcome,
  Snapshot,
  StreamState,
} from './state.ts';

export type Figures = Pick<Snapshot, 'epoch' | 'day' | 'atMs' | 'totals' | 'today'>;

export interface Candidate {
  readonly figures: Figures;
  /** Nothing was found where something was expected. */
  readonly emptied: boolean;
  readonly minutes: MinuteFigures | undefined;
  /** The state if the figures are believed. */
  readonly next: StreamState;
}

/** Takes the figures over, or keeps what there was until they have come again. */
export function judge(state: StreamState, context: PollContext, candidate: Candidate): PollOutcome {
  const { figures, emptied, minutes, next } = candidate;
  const learnt = { ...state, dating: next.dating };
  const notes = datingNotes(state, next);
  const emptyPolls = emptied ? state.emptyPolls + 1 : 0;
  if (emptied && emptyPolls < EMPTY_POLLS_BEFORE_BELIEF) {
    return { state: { ...learnt, emptyPolls }, notes: [...notes, 'empty_not_believed'] };
  }
  const periodStartMs = figures.epoch.startMs;
  const before = believedBefore(state, context, figures.epoch);
  if (
    isOutOfProportion(before, figures.totals, figures.atMs, periodStartMs) &&
    !confirms(state.suspicion, figures.totals, figures.atMs, periodStartMs)
  ) {
    return {
      state: { ...learnt, emptyPolls: 0, suspicion: figures },
      notes: [...notes, 'rise_not_believed'],
    };
  }
  const snapshot = { ...figures, minutes };
  return {
    state: { ...next, snapshot, emptyPolls: 0, suspicion: undefined },
    notes: [...notes, ...totalsNotes(state, next)],
  };
}

/** The totals that a rise is measured against: the last believed, the marks, or 0 at the epoch. */
function believedBefore(state: StreamState, context: PollContext, epoch: CountingPeriod): Believed {
  if (state.snapshot?.epoch.startMs === epoch.startMs) {
    return state.snapshot;
  }
  const marks = context.epoch.startMs === epoch.startMs ? context.marks : undefined;
  return marks ?? { totals: [], atMs: epoch.startMs };
}

function totalsNotes(state: StreamState, next: StreamState): PollNote[] {
  if (next.totalsBy === state.totalsBy || next.totalsBy === 'day') {
    return [];
  }
  return [next.totalsBy === 'quarter' ? 'totals_by_quarter' : 'totals_by_minute'];
}

function datingNotes(state: StreamState, next: StreamState): PollNote[] {
  if (next.dating.status === state.dating.status || next.dating.status === 'undecided') {
    return [];
  }
  return [next.dating.status === 'unknown' ? 'keys_unknown' : 'keys_established'];
}
