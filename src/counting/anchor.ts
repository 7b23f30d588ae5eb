/**
 * Taking an anchor: one reading of the total since the epoch, and around it twice the same question
 * about the last minutes. What later polls get for that question, minus what it gave at the anchor,
 * is what has come in between, whatever the service means by its windows (DESIGN.md, section 3).
 */
import type { Answer, Asking, Inquirer } from './asking.ts';
import { contains, floorToMinute, MINUTE_MS } from './calendar.ts';
import type { Epoch, Span } from './calendar.ts';
import { anyBelow, areEqual, isZero, minus, plus } from './counts.ts';
import type { Counts } from './counts.ts';
import { establish } from './dating.ts';
import type { Dating } from './dating.ts';
import { readKey } from './keys.ts';
import type { Evidence } from './keys.ts';
import { withRows } from './minutes.ts';
import type { MinuteLedger } from './minutes.ts';
import { finerThan, totalByMinutes } from './total.ts';
import type { TotalsBy } from './total.ts';
import type { Row } from '../base/nouns.ts';
import type { Zone } from './zone.ts';

export interface Anchor {
  readonly epoch: Epoch;
  readonly day: Span;
  readonly takenAtMonotonicMs: number;
  /** Start of the window that every later poll asks for. */
  readonly windowStartMs: number;
  /** What that window held at the anchor: L0. */
  readonly window: Answer;
  /** The service's total since the epoch: T. */
  readonly total: Counts;
  /** The service's figures since the day started: F. */
  readonly today: Counts;
  /** Today's minutes without those of the window; undefined where the keys cannot be read. */
  readonly ledger: MinuteLedger | undefined;
}

export interface AnchorTaken {
  readonly anchor: Anchor;
  /** Whether the window stood still while the totals were read. If not, the anchor serves once. */
  readonly keeps: boolean;
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
  readonly inquirer: Inquirer;
  readonly zone: Zone;
  readonly kinds: number;
  readonly epoch: Epoch;
  readonly day: Span;
  readonly nowMs: () => number;
  readonly monotonicMs: number;
  readonly expected: Expected;
}

/** How far back the window of the last minutes reaches when an anchor is taken. */
const WINDOW_MS = 15 * MINUTE_MS;
/** How often `day` or `quarter` may disagree with the minutes before it is not asked any more. */
const DISAGREEMENTS_BEFORE_FINER = 2;

/** Asks until the total agrees with the minutes, by day, then by quarter, then by minutes alone. */
export function* takeAnchor(
  context: AnchorContext,
  startWith: TotalsBy,
  dating: Dating,
): Asking<AnchorTaken> {
  let totalsBy = startWith;
  for (let attempt = 1; ; attempt++) {
    const readings = yield* readAll(context, totalsBy);
    if (readings !== undefined) {
      return yield* assemble(context, readings, totalsBy, dating);
    }
    if (attempt % DISAGREEMENTS_BEFORE_FINER === 0) {
      totalsBy = finerThan(totalsBy);
    }
  }
}

interface Readings {
  readonly windowBefore: Answer;
  readonly total: Counts;
  readonly today: Answer;
  readonly window: Answer;
}

/** One round of the questions L1, T, F, X, L0; undefined where X and F disagree. */
function* readAll(context: AnchorContext, totalsBy: TotalsBy): Asking<Readings | undefined> {
  const { inquirer, epoch, day, expected, kinds, nowMs } = context;
  const windowStartMs = Math.max(day.startMs, epoch.startMs, floorToMinute(nowMs() - WINDOW_MS));
  const any = Array.from({ length: kinds }, () => 0).with(0, 1);
  const windowBefore = yield* inquirer.askTwiceIfBelow(
    expected.windowHadCounts ? any : undefined,
    'minute',
    windowStartMs,
  );
  if (totalsBy === 'minute') {
    const total = yield* totalByMinutes(inquirer, epoch.startMs, undefined, nowMs());
    const today = yield* inquirer.askTwiceIfBelow(expected.today, 'minute', day.startMs);
    const window = yield* inquirer.askTwiceIfBelow(
      atLeast(windowBefore, today),
      'minute',
      windowStartMs,
    );
    return { windowBefore, total, today, window };
  }
  const total = yield* inquirer.askTwiceIfBelow(expected.total, totalsBy, epoch.startMs);
  const today = yield* inquirer.askTwiceIfBelow(expected.today, 'minute', day.startMs);
  const check = yield* inquirer.askTwiceIfBelow(expected.today, totalsBy, day.startMs);
  const window = yield* inquirer.askTwiceIfBelow(
    atLeast(windowBefore, today),
    'minute',
    windowStartMs,
  );
  const came = minus(window.sums, windowBefore.sums).map((count) => Math.max(0, count));
  const agrees =
    check.aggregation === total.aggregation &&
    !anyBelow(check.sums, today.sums) &&
    !anyBelow(plus(today.sums, came), check.sums);
  return agrees ? { windowBefore, total: total.sums, today, window } : undefined;
}

/**
 * What the window should hold when it is asked for again. If it held nothing and the day did, it is
 * asked twice: were both answers empty by a fault, all of it would be counted as growth later.
 */
function atLeast(windowBefore: Answer, today: Answer): Counts {
  return isZero(windowBefore.sums) && !isZero(today.sums)
    ? windowBefore.sums.with(0, 1)
    : windowBefore.sums;
}

function* assemble(
  context: AnchorContext,
  readings: Readings,
  totalsBy: TotalsBy,
  dating: Dating,
): Asking<AnchorTaken> {
  const { inquirer, zone, epoch, day, monotonicMs } = context;
  const { windowBefore, total, today, window } = readings;
  const pieces = yield* minutePieces(inquirer, today, MOST_PIECES);
  const evidences: Evidence[] = window.aggregation === 'minute' ? [window] : [];
  const found = yield* establish(inquirer, dating, evidences.concat(pieces ?? []), zone);
  const keeps =
    windowBefore.aggregation === window.aggregation && areEqual(windowBefore.sums, window.sums);
  const anchor: Anchor = {
    epoch,
    day,
    takenAtMonotonicMs: monotonicMs,
    windowStartMs: window.window.startMs,
    window,
    total,
    today: today.sums,
    ledger: pieces && withoutWindow(pieces, window, found, zone),
  };
  return { anchor, keeps, totalsBy, dating: found };
}

/** How many halves of a day are asked for at most, where the service forces a coarser aggregation. */
const MOST_PIECES = 32;

/**
 * The rows of a window by the minute, asked for in halves where the service gave a coarser
 * aggregation; undefined where that takes too many. Only for the sake of the order of minutes: the
 * sums are those of the whole.
 */
function* minutePieces(
  inquirer: Inquirer,
  answer: Answer,
  most: number,
): Asking<readonly Evidence[] | undefined> {
  if (isZero(answer.sums)) {
    return [];
  }
  if (answer.aggregation === 'minute') {
    return [answer];
  }
  const { startMs, endMs } = answer.window;
  const middleMs = floorToMinute((startMs + endMs) / 2);
  if (most < 2 || middleMs <= startMs) {
    return undefined;
  }
  const halves: Evidence[] = [];
  for (const [fromMs, toMs] of [
    [startMs, middleMs],
    [middleMs, endMs],
  ] as const) {
    const half = yield* inquirer.ask('minute', fromMs, toMs);
    const pieces = yield* minutePieces(inquirer, half, most / 2);
    if (pieces === undefined) {
      return undefined;
    }
    halves.push(...pieces);
  }
  return halves;
}

function withoutWindow(
  pieces: readonly Evidence[],
  window: Answer,
  dating: Dating,
  zone: Zone,
): MinuteLedger | undefined {
  let ledger: MinuteLedger | undefined = [];
  for (const { rows, window: span } of pieces) {
    const dateOf = datingOf(dating, span, zone);
    // Whether a window includes its edges is not known: the minute between two pieces counts once.
    const own = pieces.length === 1 ? rows : rows.filter((row) => isWithin(span, dateOf(row)));
    ledger = ledger && withRows(ledger, own, 1, dateOf);
  }
  return ledger && withRows(ledger, window.rows, -1, datingOf(dating, window.window, zone));
}

/** Rows that cannot be dated stay, for they must not be lost in silence. */
function isWithin(span: Span, instantMs: number | undefined): boolean {
  return instantMs === undefined || contains(span, instantMs);
}

/** How to read the keys of one window's rows: undefined for every key while no reading is established. */
export function datingOf(
  dating: Dating,
  window: Span,
  zone: Zone,
): (row: Row) => number | undefined {
  const reading = dating.status === 'established' ? dating.readings[0] : undefined;
  return ({ key }) => (reading === undefined ? undefined : readKey(reading, key, window, zone));
}
