/**
 * One stream of one customer: what is remembered between two polls, and the poll itself as a
 * conversation. A poll that fails half-way changes nothing: the state is replaced whole at its end.
 */
import type { Endpoint, MinuteStream } from '../base/model.ts';
import { takeAnchor } from './anchor.ts';
import type { Anchor, Expected } from './anchor.ts';
import { createWindowReader } from './query.ts';
import type { Query, WindowReader, WindowResponse } from './query.ts';
import { MINUTE_MS } from './calendar.ts';
import type { Span } from './calendar.ts';
import { grandTotal, isZero, minus, plus } from './counts.ts';
import { considerRows } from './dating.ts';
import { judge } from './judge.ts';
import type { Figures } from './judge.ts';
import { latestNowMs } from './state.ts';
import type { PollContext, PollOutcome, StreamState } from './state.ts';
import { knowDayBefore, minuteFigures } from './today.ts';

export const ENDPOINTS = {
  people: 'peoplecount',
  logins: 'login',
} as const satisfies Record<MinuteStream, Endpoint>;

/** How soon a new anchor may look again at keys that leave several readings. */
const UNDECIDED_KEYS_RETRY_MS = MINUTE_MS;

/** So often in a row an empty window may be a fault. After that the service cannot see it, and it begins too late. */
const MOST_DOUBTS = 2;

/** Whether the next poll takes an anchor: it must where it has none, and wishes to when it is old. */
export function anchorNeed(
  state: StreamState,
  context: Pick<PollContext, 'calendar' | 'epoch' | 'nowMs' | 'monotonicMs' | 'renewalMs'>,
): 'must' | 'wish' | 'none' {
  const { anchor, dating, window } = state;
  if (anchor === undefined) {
    return 'must';
  }
  const ageMs = context.monotonicMs - anchor.takenAtMonotonicMs;
  const ofAnotherDay =
    anchor.epoch.startMs !== context.epoch.startMs ||
    anchor.day.startMs !== context.calendar.dayAt(context.nowMs()).startMs;
  const hasRows = anchor.ledger === undefined || (window !== undefined && !isZero(window));
  const undecided = dating.status === 'undecided' && hasRows;
  return ofAnotherDay ||
    anchor.takenAtMonotonicMs < context.renewalMs ||
    (undecided && ageMs >= UNDECIDED_KEYS_RETRY_MS)
    ? 'wish'
    : 'none';
}

/** One poll: one question about the last minutes, or an anchor. */
export async function pollStream(
  state: StreamState,
  context: PollContext,
  query: Query,
): Promise<PollOutcome> {
  const reader = readerFor(context, query);
  const need = anchorNeed(state, context);
  const { anchor } = state;
  if (anchor !== undefined && (need === 'none' || !context.mayAnchor)) {
    const window = await reader.readAgainIfBelow(state.window, 'minute', anchor.windowStartMs);
    if (window.aggregation === anchor.window.aggregation) {
      return concludeOrdinary(state, context, anchor, window);
    }
  }
  return await pollWithAnchor(state, context, reader);
}

/** Asks of the context's stream, in its time. */
export function readerFor(context: PollContext, query: Query): WindowReader {
  return createWindowReader({
    query,
    endpoint: ENDPOINTS[context.stream],
    counterCount: context.counterCount,
    calendar: context.calendar,
    nowMs: () => latestNowMs(context),
    hasTime: context.hasTime,
  });
}

function concludeOrdinary(
  state: StreamState,
  context: PollContext,
  anchor: Anchor,
  window: WindowResponse,
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

async function pollWithAnchor(
  state: StreamState,
  context: PollContext,
  reader: WindowReader,
): Promise<PollOutcome> {
  const { calendar, epoch, counterCount, nowMs, serviceNowMs, monotonicMs } = context;
  const day = calendar.dayAt(nowMs());
  const sameDay = state.snapshot?.day.startMs === day.startMs;
  // A lag of the service may end: each epoch begins with the cheapest way to read the totals.
  const samePeriod = state.snapshot?.epoch.startMs === epoch.startMs;
  const totalsBy = samePeriod ? state.totalsBy : 'day';
  const taken = await takeAnchor(
    {
      reader,
      zone: calendar.zone,
      counterCount,
      epoch,
      day,
      nowMs,
      serviceNowMs,
      monotonicMs,
      expected: expectedOf(state, context, day),
      isProven: state.provenPeriodMs === epoch.startMs && totalsBy === state.totalsBy,
      reachBackMs: state.isBlind ? Math.max(0, calendar.zone.offsetMsAt(nowMs())) : 0,
    },
    totalsBy,
    state.dating,
  );
  const { anchor, window } = taken;
  const { dayBefore, dating } = await knowDayBefore(state, context, reader, taken);
  const today = sameDay ? state.snapshot?.today : undefined;
  const totalIsNews = !samePeriod || !isZero(state.snapshot?.totals ?? []);
  const emptied =
    (isZero(anchor.total) && totalIsNews) ||
    (isZero(anchor.today) && today !== undefined && !isZero(today));
  const doubtedWindows = taken.doubted ? state.doubtedWindows + 1 : 0;
  const isBlind = state.isBlind || doubtedWindows > MOST_DOUBTS || wasBlind(state, anchor);
  const sees = state.isBlind || (!taken.doubted && !isBlind);
  return judge(state, context, {
    figures: figuresFrom(anchor, window, nowMs()),
    emptied,
    minutes: minuteFigures(context, anchor, window, dating, dayBefore),
    next: {
      ...state,
      anchor: taken.keeps && sees ? anchor : undefined,
      window: anchor.window.sums,
      totalsBy: taken.totalsBy,
      provenPeriodMs: taken.proves ? epoch.startMs : state.provenPeriodMs,
      doubtedWindows,
      isBlind,
      dating,
      dayBefore,
    },
  });
}

/**
 * Whether today's figure has grown by far more than the window, which was empty at both anchors. A
 * service that reads local time as UTC looks for it in the future of libraries in the east.
 */
function wasBlind({ anchor: before, window }: StreamState, anchor: Anchor): boolean {
  return (
    before?.day.startMs === anchor.day.startMs &&
    isZero(before.window.sums) &&
    isZero(anchor.window.sums) &&
    grandTotal(minus(anchor.today, before.today)) > 2 * grandTotal(window ?? [])
  );
}

function expectedOf(state: StreamState, context: PollContext, day: Span): Expected {
  const { snapshot } = state;
  const samePeriod = snapshot?.epoch.startMs === context.epoch.startMs;
  return {
    total: samePeriod ? snapshot?.totals : context.marks?.totals,
    today: snapshot?.day.startMs === day.startMs ? snapshot.today : undefined,
    windowHadCounts: state.window !== undefined && !isZero(state.window),
  };
}

function figuresFrom(anchor: Anchor, window: WindowResponse, atMs: number): Figures {
  const came = minus(window.sums, anchor.window.sums);
  return {
    epoch: anchor.epoch,
    day: anchor.day,
    atMs,
    totals: plus(anchor.total, came),
    today: plus(anchor.today, came),
  };
}
