/** What follows from the order of today's minutes: people inside, and when anybody was last seen. */
import type { Anchor, AnchorTaken } from './anchor.ts';
import type { WindowResponse, WindowReader } from './query.ts';
import { MINUTE_MS } from './calendar.ts';
import { isZero } from './counts.ts';
import { establish } from './dating.ts';
import type { Dating } from './dating.ts';
import { dateRowBy } from './day-rows.ts';
import { MinuteLedger } from './minute-ledger.ts';
import { dated, lastSeenIn, walk, withRows } from './minutes.ts';
import { latestNowMs } from './state.ts';
import type { MinuteFigures, PollContext, StreamState } from './state.ts';

/** How long before the end of a day its newest snapshot still tells all of it. */
const REMEMBERED_MS = 15 * MINUTE_MS;

export function minuteFigures(
  context: PollContext,
  anchor: Anchor,
  window: WindowResponse,
  dating: Dating,
  dayBefore: StreamState['dayBefore'],
): MinuteFigures | undefined {
  const isReadable = window.aggregation === 'minute' || isZero(window.sums);
  const zone = context.calendar.zone;
  const added = isReadable ? dated(window.rows, dateRowBy(dating, window.window, zone)) : undefined;
  if (anchor.ledger === undefined || added === undefined) {
    return undefined;
  }
  const { startMs } = anchor.day;
  const passed = { startMs, endMs: latestNowMs(context) + 1 };
  const before = dayBefore?.dayStartMs === startMs ? dayBefore.lastSeenMs : undefined;
  if (context.stream !== 'people') {
    return {
      occupancy: 0,
      path: [],
      lastSeenMs: lastSeenIn(anchor.ledger, passed, added) ?? before,
    };
  }
  const { path, lastSeenMs } = walk(anchor.ledger, added, passed);
  return { occupancy: path.at(-1) ?? 0, path, lastSeenMs: lastSeenMs ?? before };
}

/**
 * When the day before was last seen anybody. It is remembered over the change of the day; after a
 * restart it is asked for, while today has nobody yet. What its rows tell of the keys is kept.
 */
export async function knowDayBefore(
  state: StreamState,
  context: PollContext,
  reader: WindowReader,
  { anchor, dating }: AnchorTaken,
): Promise<Pick<StreamState, 'dayBefore' | 'dating'>> {
  const { calendar } = context;
  const { day } = anchor;
  if (state.dayBefore?.dayStartMs === day.startMs) {
    return { dayBefore: state.dayBefore, dating };
  }
  const before = calendar.dayBefore(day);
  const { snapshot } = state;
  if (
    snapshot?.minutes !== undefined &&
    snapshot.day.startMs === before.startMs &&
    day.startMs - snapshot.atMs <= REMEMBERED_MS
  ) {
    const { lastSeenMs } = snapshot.minutes;
    const counts = lastSeenMs !== undefined && lastSeenMs >= before.startMs;
    const dayBefore = { dayStartMs: day.startMs, lastSeenMs: counts ? lastSeenMs : undefined };
    return { dayBefore, dating };
  }
  if (!isZero(anchor.today)) {
    return { dayBefore: undefined, dating };
  }
  const answer = await reader.readOptional('minute', before.startMs);
  if (answer?.aggregation !== 'minute') {
    return { dayBefore: undefined, dating };
  }
  const found = await establish(reader, dating, [answer], calendar.zone);
  const ledger = withRows(
    MinuteLedger.EMPTY,
    answer.rows,
    1,
    dateRowBy(found, answer.window, calendar.zone),
  );
  return {
    dayBefore: ledger && { dayStartMs: day.startMs, lastSeenMs: lastSeenIn(ledger, before) },
    dating: found,
  };
}
