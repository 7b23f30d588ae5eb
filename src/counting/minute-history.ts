/**
 * A stretch of the past by the minute: read in windows as large as the service allows, and held
 * against the `day` aggregation. Two windows overlap, and the overlap is asked for on its own and
 * taken away once: whatever the service means by the edges of a window, each record counts once.
 */
import { ServiceError } from '../base/errors.ts';
import { COUNTERS } from '../base/model.ts';
import type { MinuteStream } from '../base/model.ts';
import { createWindowReader } from './query.ts';
import type { Query, WindowReader, WindowResponse } from './query.ts';
import { DAY_MS, floorToMinute, MINUTE_MS } from './calendar.ts';
import type { Calendar, Span } from './calendar.ts';
import { areEqual, grandTotal, isZero } from './counts.ts';
import type { Counts } from './counts.ts';
import { establish, UNDECIDED } from './dating.ts';
import type { Dating } from './dating.ts';
import { dateRowBy, ledgerOfPieces, minutePieces } from './day-rows.ts';
import { KEY_READINGS, sameInstants, survivingReadings } from './keys.ts';
import { lastSeenIn } from './minutes.ts';
import type { DateRow } from './minutes.ts';
import { MinuteTable } from './minute-table.ts';
import { ENDPOINTS } from './stream.ts';

/** One stream of one customer over a stretch of time. */
export interface MinuteHistory {
  readonly span: Span;
  /** Per kind, how many were counted in each minute from the start of `span` on. */
  readonly minutes: readonly Float64Array[];
  /** The sums of all rows, whatever minute they are of. */
  readonly sums: Counts;
  /** What `day` says of the same window; what it says is not used for anything else. */
  readonly byDay: Counts;
  /** The newest minute of the day before the stretch that counted anybody, as far as it was asked for. */
  readonly lastSeenBeforeMs: number | undefined;
}

/** What one stretch teaches about the service, for the next one. */
export interface Learnt {
  readonly dating: Dating;
  /** The longest window that the service has answered by the minute. */
  readonly windowMs: number;
}

export const NOTHING_LEARNT: Learnt = { dating: UNDECIDED, windowMs: Infinity };

export interface HistoryContext {
  readonly stream: MinuteStream;
  readonly calendar: Calendar;
  /** Whole minutes at both ends. */
  readonly span: Span;
  /** Whether it matters who was seen last on the day before. */
  readonly needsDayBefore: boolean;
}

interface Work extends HistoryContext {
  readonly counterCount: number;
  readonly reader: WindowReader;
}

const OVERLAP_MS = 2 * MINUTE_MS;
/** One this short is taken as it is answered: the sums are right, only their minutes are not. */
const SHORTEST_WINDOW_MS = 8 * MINUTE_MS;
/** So many days are looked at for rows that tell how their keys are written. */
const MOST_DAYS = 31;
/** Keys that name a time of day leave the day open: their windows are shorter than one. */
const LONGEST_OF_DAY_KEYS_MS = 12 * 60 * MINUTE_MS;

/** The stretch, read once more where its minutes and its days differ, and what was learnt. */
export async function readMinuteHistory(
  context: HistoryContext,
  before: Learnt,
  query: Query,
): Promise<{ readonly history: MinuteHistory; readonly learnt: Learnt }> {
  const { stream, calendar, span } = context;
  const counterCount = COUNTERS[stream].length;
  const reader = createWindowReader({
    query,
    endpoint: ENDPOINTS[stream],
    counterCount,
    calendar,
    nowMs: () => span.endMs,
    hasTime: () => true,
  });
  const work: Work = { ...context, counterCount, reader };
  let byDay = await reader.read('day', span.startMs, span.endMs);
  let read = await readMinutes(work, before);
  if (!areEqual(read.sums, byDay.sums)) {
    // It may have been a moment's fault, of either; the larger of both answers counts.
    const again = await readMinutes(work, read.learnt);
    read = grandTotal(again.sums) >= grandTotal(read.sums) ? again : read;
    byDay = await reader.read('day', span.startMs, span.endMs);
  }
  const lastSeenBeforeMs = context.needsDayBefore
    ? await lastSeenBefore(work, read.learnt.dating)
    : undefined;
  const { minutes, sums, learnt } = read;
  return { history: { span, minutes, sums, byDay: byDay.sums, lastSeenBeforeMs }, learnt };
}

interface MinutesRead {
  readonly minutes: readonly Float64Array[];
  readonly sums: Counts;
  readonly learnt: Learnt;
}

async function readMinutes(work: Work, before: Learnt): Promise<MinutesRead> {
  const { span, reader, counterCount } = work;
  const table = new MinuteTable(span, counterCount);
  let { dating, windowMs } = before;
  for (let fromMs = span.startMs; ;) {
    const toMs = endOfWindow(work, fromMs, windowMs);
    const answer = await reader.read('minute', fromMs, toMs);
    const isCoarse = answer.aggregation !== 'minute' && !isZero(answer.sums);
    if (isCoarse && toMs - fromMs > SHORTEST_WINDOW_MS) {
      windowMs = Math.max(SHORTEST_WINDOW_MS, floorToMinute((toMs - fromMs) / 2));
      continue;
    }
    if (!isCoarse) {
      dating = await date(work, dating, answer);
      if (isOfDay(dating) && toMs - fromMs > LONGEST_OF_DAY_KEYS_MS) {
        windowMs = LONGEST_OF_DAY_KEYS_MS;
        continue;
      }
    }
    table.add(answer, dateRows(work, dating, answer), 1);
    if (toMs >= span.endMs) {
      return { minutes: table.minutes, sums: table.sums, learnt: { dating, windowMs } };
    }
    fromMs = toMs - OVERLAP_MS;
    const overlap = await reader.read('minute', fromMs, toMs);
    table.add(overlap, dateRows(work, dating, overlap), -1);
  }
}

/** Long windows end where a day starts, when it is night in the library. */
function endOfWindow({ span, calendar }: Work, fromMs: number, windowMs: number): number {
  const toMs = Math.min(span.endMs, fromMs + windowMs);
  const dayStartMs = calendar.dayAt(toMs).startMs;
  return toMs < span.endMs && windowMs >= 2 * DAY_MS && dayStartMs > fromMs + DAY_MS
    ? dayStartMs
    : toMs;
}

function dateRows({ calendar }: Work, dating: Dating, answer: WindowResponse): DateRow {
  return answer.aggregation === 'minute'
    ? dateRowBy(dating, answer.window, calendar.zone)
    : () => undefined;
}

function isOfDay({ status, readings }: Dating): boolean {
  const form = readings[0]?.form;
  return status === 'established' && (form === 'time_of_day' || form === 'minute_of_day');
}

/** How the keys of these rows are read. Throws a ServiceError where that cannot be found out. */
async function date(work: Work, dating: Dating, answer: WindowResponse): Promise<Dating> {
  const { reader, calendar, span } = work;
  if (isZero(answer.sums)) {
    return dating;
  }
  // What was established stays: of a short window most rows may be late ones, from before it.
  if (
    dating.status === 'established' &&
    (isOfDay(dating) || sameInstants(dating.readings, answer, calendar.zone))
  ) {
    return dating;
  }
  // In a long window, a time of day would be of any day.
  const isLong = answer.window.endMs - answer.window.startMs > LONGEST_OF_DAY_KEYS_MS;
  const candidates = [
    ...(isLong && dating.status !== 'established'
      ? []
      : [() => establish(reader, dating, [answer], calendar.zone)]),
    () => dateByDays(work, answer.window),
    () => dateByDays(work, span),
  ];
  for (const candidate of candidates) {
    const found = await candidate();
    if (found.status === 'established') {
      return found;
    }
  }
  // Clocks of devices that are off may hide it; but a key that says its own zone needs no proof.
  const [own] = survivingReadings(KEY_READINGS, answer, calendar.zone).filter(
    ({ form, zone }) => zone === 'written' && form !== 'minute_of_window',
  );
  if (own !== undefined) {
    return { status: 'established', readings: [own] };
  }
  throw new ServiceError(
    'malformed',
    'the keys of the minutes have no form that is known, so that it cannot be told when anybody was counted',
  );
}

/** By the newest day of a stretch whose rows decide it. */
async function dateByDays({ reader, calendar }: Work, stretch: Span): Promise<Dating> {
  let day = calendar.dayAt(stretch.endMs - 1);
  for (let days = 0; day.endMs > stretch.startMs && days < MOST_DAYS; days += 1) {
    const startMs = Math.max(day.startMs, stretch.startMs);
    const answer = await reader.read('minute', startMs, Math.min(day.endMs, stretch.endMs));
    const pieces = (await minutePieces(reader, answer)) ?? [];
    const dating = await establish(reader, UNDECIDED, pieces, calendar.zone);
    if (dating.status === 'established') {
      return dating;
    }
    day = calendar.dayBefore(day);
  }
  return UNDECIDED;
}

async function lastSeenBefore(
  { reader, calendar, span }: Work,
  dating: Dating,
): Promise<number | undefined> {
  const before = calendar.dayBefore(calendar.dayAt(span.startMs));
  const answer = await reader.read('minute', before.startMs, span.startMs);
  const pieces = (await minutePieces(reader, answer)) ?? [];
  const ledger = ledgerOfPieces(pieces, dating, calendar.zone);
  return ledger && lastSeenIn(ledger, before);
}
