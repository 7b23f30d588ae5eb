/**
 * One stream of one customer: what is remembered between two polls, and the poll itself as a
 * conversation. A poll that fails half-way changes nothing: the state is replaced whole at its end.
 */
import type { Endpoint, MinuteStream } from '../base/nouns.ts';
import { takeAnchor } from './anchor.ts';
import type { Anchor, Expected } from './anchor.ts';
import { createInquirer } from './asking.ts';
import type { Answer, Asking, Inquirer } from './asking.ts';
import type { Span } from './calendar.ts';
import { isZero, minus, plus } from './counts.ts';
import { considerRows } from './dating.ts';
import { judge } from './judge.ts';
import type { Figures } from './judge.ts';
import type { PollContext, PollOutcome, StreamState } from './state.ts';
import { knowDayBefore, minuteFigures } from './today.ts';

export const ENDPOINTS = {
  people: 'peoplecount',
  logins: 'login',
} as const satisfies Record<MinuteStream, Endpoint>;

/** How soon a new anchor may look again at keys that leave several readings. */
const UNDECIDED_KEYS_RETRY_MS = 60_000;

/** Whether the next poll takes an anchor: it must where it has none, and wishes to when it is old. */
export function anchorNeed(
  state: StreamState,
  context: Pick<
    PollContext,
    'calendar' | 'epoch' | 'nowMs' | 'monotonicMs' | 'reconcileIntervalMs'
  >,
): 'must' | 'wish' | 'none' {
  const { anchor, dating } = state;
  if (anchor === undefined) {
    return 'must';
  }
  const ageMs = context.monotonicMs - anchor.takenAtMonotonicMs;
  const ofAnotherDay =
    anchor.epoch.startMs !== context.epoch.startMs ||
    anchor.day.startMs !== context.calendar.dayAt(context.nowMs()).startMs;
  const undecided = dating.status === 'undecided' && anchor.ledger === undefined;
  return ofAnotherDay ||
    ageMs >= context.reconcileIntervalMs ||
    (undecided && ageMs >= UNDECIDED_KEYS_RETRY_MS)
    ? 'wish'
    : 'none';
}

/** One poll: one question about the last minutes, or an anchor. */
export function* pollStream(state: StreamState, context: PollContext): Asking<PollOutcome> {
  const inquirer = createInquirer({
    endpoint: ENDPOINTS[context.stream],
    kinds: context.kinds,
    calendar: context.calendar,
    nowMs: context.nowMs,
  });
  const need = anchorNeed(state, context);
  const { anchor } = state;
  if (anchor !== undefined && (need === 'none' || !context.mayAnchor)) {
    const window = yield* inquirer.askTwiceIfBelow(state.window, 'minute', anchor.windowStartMs);
    if (window.aggregation === anchor.window.aggregation) {
      return concludeOrdinary(state, context, anchor, window);
    }
  }
  return yield* pollWithAnchor(state, context, inquirer);
}

function concludeOrdinary(
  state: StreamState,
  context: PollContext,
  anchor: Anchor,
  window: Answer,
): PollOutcome {
  const zone = context.calendar.zone;
  const dating =
    window.aggregation === 'minute' ? considerRows(state.dating, window, zone) : state.dating;
  const figures = figuresFrom(anchor, window, context.nowMs());
  const emptied = isZero(window.sums) && state.window !== undefined && !isZero(state.window);
  return judge(state, context, {
    figures,
    emptied,
    minutes: minuteFigures(context, anchor, window, dating, state.dayBefore),
    next: { ...state, dating, window: window.sums },
  });
}

function* pollWithAnchor(
  state: StreamState,
  context: PollContext,
  inquirer: Inquirer,
): Asking<PollOutcome> {
  const { calendar, epoch, kinds, nowMs, monotonicMs } = context;
  const day = calendar.dayAt(nowMs());
  const taken = yield* takeAnchor(
    {
      inquirer,
      zone: calendar.zone,
      kinds,
      epoch,
      day,
      nowMs,
      monotonicMs,
      expected: expectedOf(state, context, day),
    },
    state.totalsBy,
    state.dating,
  );
  const { anchor, totalsBy } = taken;
  const { dayBefore, dating } = yield* knowDayBefore(state, context, inquirer, taken);
  const today = state.snapshot?.day.startMs === day.startMs ? state.snapshot.today : undefined;
  const totalIsNews =
    state.snapshot?.epoch.startMs !== epoch.startMs || !isZero(state.snapshot.totals);
  const emptied =
    (isZero(anchor.total) && totalIsNews) ||
    (isZero(anchor.today) && today !== undefined && !isZero(today));
  return judge(state, context, {
    figures: figuresFrom(anchor, anchor.window, nowMs()),
    emptied,
    minutes: minuteFigures(context, anchor, anchor.window, dating, dayBefore),
    next: {
      ...state,
      anchor: taken.keeps ? anchor : undefined,
      window: anchor.window.sums,
      totalsBy,
      dating,
      dayBefore,
    },
  });
}

function expectedOf(state: StreamState, context: PollContext, day: Span): Expected {
  const { snapshot } = state;
  const sameEpoch = snapshot?.epoch.startMs === context.epoch.startMs;
  return {
    total: sameEpoch ? snapshot?.totals : context.marks?.totals,
    today: snapshot?.day.startMs === day.startMs ? snapshot.today : undefined,
    windowHadCounts: state.window !== undefined && !isZero(state.window),
  };
}

function figuresFrom(anchor: Anchor, window: Answer, atMs: number): Figures {
  const came = minus(window.sums, anchor.window.sums);
  return {
    epoch: anchor.epoch,
    day: anchor.day,
    atMs,
    totals: plus(anchor.total, came),
    today: plus(anchor.today, came),
  };
}
