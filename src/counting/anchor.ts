/**
 * Taking an anchor: one reading of the total since the epoch, and around it twice the same question
 * about the last minutes. What later polls get for that question, minus what it gave at the anchor,
 * is what has come in between, whatever the service means by its windows (DESIGN.md, section 3).
 */
import { readCheck } from './anchor-check.ts';
import type { WindowResponse, WindowReader } from './query.ts';
import { floorToMinute, MINUTE_MS } from './calendar.ts';
import type { CountingPeriod, Span } from './calendar.ts';
import { anyBelow, anyOf, areEqual, grandTotal, higher, isZero, minus, plus } from './counts.ts';
import type { Counts } from './counts.ts';
import { establish } from './dating.ts';
import type { Dating } from './dating.ts';
import { minutePieces, withoutWindow } from './day-rows.ts';
import type { Evidence } from './keys.ts';
import { lastSeenIn } from './minutes.ts';
import type { MinuteLedger } from './minute-ledger.ts';
import { finerThan, totalByMinutes } from './total.ts';
import type { TotalsBy } from './total.ts';
import type { Zone } from './zone.ts';

export interface Anchor {
  readonly epoch: CountingPeriod;
  readonly day: Span;
  readonly takenAtMonotonicMs: number;
  /** Start of the window that every later poll asks for. */
  readonly windowStartMs: number;
  /** What that window held at the anchor: L0, without its rows. */
  readonly window: Pick<WindowResponse, 'aggregation' | 'sums'>;
  /** The service's total since the epoch: T. */
  readonly total: Counts;
  /** The service's figures since the day started: F. */
  readonly today: Counts;
  /** Today's minutes without those of the window; undefined where the keys cannot be read. */
  readonly ledger: MinuteLedger | undefined;
}

export interface AnchorTaken {
  readonly anchor: Anchor;
  /** The whole answer that L0 is of. */
  readonly window: WindowResponse;
  /**
   * Whether the window stood still while the totals were read, and has begun by the service's clock.
   * If not, the anchor serves once.
   */
  readonly keeps: boolean;
  /** Whether the window was empty though the day has counts in its minutes. */
  readonly doubted: boolean;
  /** Whether `totalsBy` agreed with minutes that counted somebody a moment ago. */
  readonly proves: boolean;
  readonly totalsBy: TotalsBy;
  readonly dating: Dating;
}

/** What the figures were when they were last believed; a lower answer is asked for again. */
export interface Expected {
  readonly total: Counts | undefined;
  readonly today: Counts | undefined;
  /** Counts of any size: whether the last minutes had any. */
  readonly windowHadCounts: boolean;
}

export interface AnchorContext {
  readonly reader: WindowReader;
  readonly zone: Zone;
  readonly counterCount: number;
  readonly epoch: CountingPeriod;
  readonly day: Span;
  readonly nowMs: () => number;
  readonly serviceNowMs: () => number;
  readonly monotonicMs: number;
  readonly expected: Expected;
  /** Whether what the totals are read by first has agreed with minutes that had just counted somebody. */
  readonly isProven: boolean;
  /** How much further back than usual the window reaches. */
  readonly reachBackMs: number;
}

/** How far back the window of the last minutes reaches when an anchor is taken. */
const WINDOW_MS = 15 * MINUTE_MS;
/** How often `day` or `quarter` may disagree with the minutes before it is not asked any more. */
const DISAGREEMENTS_BEFORE_FINER = 2;

/** Asks until the total agrees with the minutes, by day, then by quarter, then by minutes alone. */
export async function takeAnchor(
  context: AnchorContext,
  startWith: TotalsBy,
  dating: Dating,
): Promise<AnchorTaken> {
  let totalsBy = startWith;
  for (let attempt = 1; ; attempt++) {
    const readings = await readAll(context, totalsBy);
    if (readings !== undefined) {
      return await assemble(context, readings, totalsBy, dating);
    }
    if (attempt % DISAGREEMENTS_BEFORE_FINER === 0) {
      totalsBy = finerThan(totalsBy);
    }
  }
}

interface Readings {
  readonly windowBefore: WindowResponse;
  readonly total: Counts;
  readonly today: WindowResponse;
  readonly window: WindowResponse;
  /** Whether `totalsBy` agreed with minutes that counted somebody a moment ago. */
  readonly proves: boolean;
}

/** One round of the questions L1, T, F, X, L0; undefined where X and F disagree. */
async function readAll(context: AnchorContext, totalsBy: TotalsBy): Promise<Readings | undefined> {
  const { reader, day, expected, counterCount } = context;
  const windowStartMs = windowStart(context);
  const windowBefore = await reader.readAgainIfBelow(
    expected.windowHadCounts ? anyOf(counterCount) : undefined,
    'minute',
    windowStartMs,
  );
  const total = await readTotal(context, totalsBy);
  // The window lies in the day, so that the day must not hold less.
  const inWindow = windowBefore.aggregation === 'minute' ? windowBefore.sums : undefined;
  const least = leastToday(context, totalsBy, total.sums);
  const today = await reader.readAgainIfBelow(higher(least, inWindow), 'minute', day.startMs);
  const check = totalsBy === 'minute' ? undefined : await readCheck(context, totalsBy, today);
  const window = await reader.readAgainIfBelow(
    atLeast(windowBefore, today),
    'minute',
    windowStartMs,
  );
  const readings = { windowBefore, total: total.sums, today, window };
  if (check === undefined) {
    return { ...readings, proves: false };
  }
  const came = minus(window.sums, windowBefore.sums).map((count) => Math.max(0, count));
  const agrees =
    check.coarse.aggregation === total.aggregation &&
    !anyBelow(check.coarse.sums, check.minutes.sums) &&
    !anyBelow(plus(check.minutes.sums, came), check.coarse.sums) &&
    !(inWindow !== undefined && anyBelow(today.sums, inWindow));
  // Everything older may have been rolled up a moment ago, as a day that was over by then.
  const proves = inWindow !== undefined && !isZero(inWindow);
  return agrees ? { ...readings, proves } : undefined;
}

/** Start of the window of the last minutes: not in the service's future, nor before the day. */
function windowStart({ epoch, day, nowMs, serviceNowMs, reachBackMs }: AnchorContext): number {
  const startMs = Math.min(nowMs(), serviceNowMs()) - WINDOW_MS - reachBackMs;
  return Math.max(day.startMs, epoch.startMs, floorToMinute(startMs));
}

async function readTotal(
  context: AnchorContext,
  totalsBy: TotalsBy,
): Promise<{ readonly aggregation: string; readonly sums: Counts }> {
  const { reader, epoch, expected, nowMs } = context;
  if (totalsBy !== 'minute') {
    return await reader.readAgainIfBelow(expected.total, totalsBy, epoch.startMs);
  }
  const first = await totalByMinutes(reader, epoch.startMs, undefined, nowMs());
  if (expected.total === undefined || !anyBelow(first, expected.total)) {
    return { aggregation: 'minute', sums: first };
  }
  const second = await totalByMinutes(reader, epoch.startMs, undefined, nowMs());
  return { aggregation: 'minute', sums: grandTotal(second) >= grandTotal(first) ? second : first };
}

/**
 * What today should hold at least. An empty one is asked for again where nothing else would speak
 * against it: the first of a day, and one beside a total that is 0 because it may lag.
 */
function leastToday(
  { expected, isProven, counterCount }: AnchorContext,
  totalsBy: TotalsBy,
  total: Counts,
): Counts | undefined {
  const mayLag = totalsBy !== 'minute' && !isProven;
  const isDoubtful = isZero(total) ? mayLag : expected.today === undefined;
  return isDoubtful ? higher(expected.today, anyOf(counterCount)) : expected.today;
}

/**
 * What the window should hold when it is asked for again. If it held nothing and the day did, it is
 * asked twice: were both answers empty by a fault, all of it would be counted as growth later.
 */
function atLeast(windowBefore: WindowResponse, today: WindowResponse): Counts {
  return isZero(windowBefore.sums) && !isZero(today.sums)
    ? windowBefore.sums.with(0, 1)
    : windowBefore.sums;
}

async function assemble(
  context: AnchorContext,
  readings: Readings,
  totalsBy: TotalsBy,
  dating: Dating,
): Promise<AnchorTaken> {
  const { reader, zone, epoch, day, monotonicMs, serviceNowMs } = context;
  const { windowBefore, total, today, window } = readings;
  const pieces = await minutePieces(reader, today);
  const evidences: Evidence[] = window.aggregation === 'minute' ? [window] : [];
  const found = await establish(reader, dating, evidences.concat(pieces ?? []), zone);
  const anchor: Anchor = {
    epoch,
    day,
    takenAtMonotonicMs: monotonicMs,
    windowStartMs: window.window.startMs,
    window: { aggregation: window.aggregation, sums: window.sums },
    total,
    today: today.sums,
    ledger: pieces && withoutWindow(pieces, window, found, zone),
  };
  // Both readings of the window were empty, and the day has counts in it: one of them is wrong.
  const doubted =
    isZero(window.sums) &&
    anchor.ledger !== undefined &&
    lastSeenIn(anchor.ledger, { startMs: anchor.windowStartMs, endMs: serviceNowMs() + 1 }) !==
      undefined;
  const keeps =
    windowBefore.aggregation === window.aggregation &&
    areEqual(windowBefore.sums, window.sums) &&
    window.window.startMs <= serviceNowMs();
  return { anchor, window, keeps, doubted, proves: readings.proves, totalsBy, dating: found };
}
