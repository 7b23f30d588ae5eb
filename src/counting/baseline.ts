/**
 * The baseline (rule 1): the period's total, and around it twice the same request for the last
 * minutes. What later polls get for that request, minus what it returned at the baseline, is what
 * came since, however the service defines its windows.
 */
import { floorToMinute, MINUTE_MS } from './calendar.ts';
import type { CountingPeriod, Span } from './calendar.ts';
import {
  ANY_COUNT,
  anyBelow,
  areEqual,
  grandTotal,
  higher,
  isZero,
  minus,
  plus,
} from './counts.ts';
import type { Counts } from './counts.ts';
import { detectKeyFormat, keyParser } from './key-format.ts';
import type { KeyFormatState, KeySample } from './key-format.ts';
import {
  lastSeenIn,
  minutesOf,
  minutesOfSamples,
  readByMinute,
  subtractMinutes,
} from './occupancy.ts';
import type { Minutes } from './occupancy.ts';
import { readLarger } from './query.ts';
import type { WindowReader, WindowResponse } from './query.ts';
import { finerSource, isVerified, readComparison, totalByMinute } from './totals.ts';
import type { TotalSource } from './totals.ts';
import type { Zone } from './zone.ts';

export interface Baseline {
  readonly period: CountingPeriod;
  readonly day: Span;
  readonly takenAtMonotonicMs: number;
  /** Start of the window that every later poll requests. */
  readonly recentStartMs: number;
  readonly recentAtBaseline: Pick<WindowResponse, 'aggregation' | 'sums'>;
  readonly periodTotal: Counts;
  readonly todayByMinute: Counts;
  /** Today's minutes without those of `recentAtBaseline`; undefined if keys cannot be parsed. */
  readonly minutes: Minutes | undefined;
}

/** Whether a baseline may be used by later polls. */
export type BaselineUse =
  | 'reusable'
  /** Somebody came while it was read, or its window starts in the future by the service's clock. */
  | 'once'
  /** Its recent window was empty although the day has counts in it. */
  | 'window_empty';

export type BaselineResult =
  | {
      readonly kind: 'read';
      readonly baseline: Baseline;
      readonly recent: WindowResponse;
      readonly use: BaselineUse;
      readonly source: TotalSource;
      readonly keyFormat: KeyFormatState;
    }
  /** No aggregation agrees with the others, so that no total can be trusted now. */
  | { readonly kind: 'inconsistent' };

/** The last accepted values. A lower response is requested again. */
export interface Expected {
  readonly total: Counts | undefined;
  readonly today: Counts | undefined;
  readonly recentHadCounts: boolean;
}

export interface BaselineContext {
  readonly reader: WindowReader;
  readonly zone: Zone;
  readonly period: CountingPeriod;
  readonly day: Span;
  readonly nowMs: () => number;
  readonly serviceNowMs: () => number;
  readonly monotonicMs: number;
  readonly expected: Expected;
  /** How much longer than usual the recent window is. */
  readonly extraWindowMs: number;
}

const RECENT_WINDOW_MS = 15 * MINUTE_MS;
/** Disagreements with the minutes after which a finer aggregation is tried. */
const MAX_DISAGREEMENTS = 2;

/** Reads until the total agrees with the minutes: by day, then by quarter, then by minute. */
export async function readBaseline(
  context: BaselineContext,
  startWith: TotalSource,
  keyFormat: KeyFormatState,
): Promise<BaselineResult> {
  let source = startWith;
  for (let attempt = 1; ; attempt++) {
    const responses = await readResponses(context, source);
    if (responses.kind === 'consistent') {
      return assemble(context, responses, keyFormat);
    }
    if (attempt % MAX_DISAGREEMENTS === 0) {
      const finer = await finerSource(context.reader, source, context.day.startMs);
      if (finer === undefined) {
        return { kind: 'inconsistent' };
      }
      source = finer;
    }
  }
}

interface ConsistentResponses {
  readonly kind: 'consistent';
  readonly recentBefore: WindowResponse;
  readonly periodTotal: Counts;
  readonly todayByMinute: WindowResponse;
  readonly recentAtBaseline: WindowResponse;
  readonly source: TotalSource;
}

/** The requests of rule 1, in its order; `todayByDay` is by the aggregation of the total. */
async function readResponses(
  context: BaselineContext,
  source: TotalSource,
): Promise<ConsistentResponses | { readonly kind: 'inconsistent' }> {
  const { reader, period, day, expected } = context;
  const recentStartMs = recentStart(context);
  const recentBefore = await reader.readAgainIfBelow(
    expected.recentHadCounts ? ANY_COUNT : undefined,
    'minute',
    recentStartMs,
  );
  const total = await readPeriodTotal(context, source);
  // The recent window is in the day, so that the day must not have less.
  const recentMinutes = recentBefore.aggregation === 'minute' ? recentBefore.sums : undefined;
  const todayByMinute = await reader.readAgainIfBelow(
    higher(recentMinutes, minimumToday(context, source, total.sums)),
    'minute',
    day.startMs,
  );
  const comparison =
    source.kind === 'minutes'
      ? undefined
      : await readComparison(reader, {
          aggregation: source.aggregation,
          todayByMinute,
          expectedToday: expected.today,
          periodStartMs: period.startMs,
          dayStartMs: day.startMs,
          isVerified: isVerified(source, period),
        });
  const recentAtBaseline = await reader.readAgainIfBelow(
    minimumRecent(recentBefore, todayByMinute),
    'minute',
    recentStartMs,
  );
  const responses = { recentBefore, periodTotal: total.sums, todayByMinute, recentAtBaseline };
  if (source.kind === 'minutes' || comparison === undefined) {
    return { kind: 'consistent', ...responses, source };
  }
  const { minutes, coarse } = comparison;
  const came = minus(recentAtBaseline.sums, recentBefore.sums).map((count) => Math.max(0, count));
  const isConsistent =
    coarse.aggregation === total.aggregation &&
    !anyBelow(coarse.sums, minutes.sums) &&
    !anyBelow(plus(minutes.sums, came), coarse.sums) &&
    !(recentMinutes !== undefined && anyBelow(todayByMinute.sums, recentMinutes));
  if (!isConsistent) {
    return { kind: 'inconsistent' };
  }
  // Only counts of the last minutes verify it: everything older may have been rolled up since.
  const verifies = recentMinutes !== undefined && !isZero(recentMinutes);
  return {
    kind: 'consistent',
    ...responses,
    source: verifies
      ? { kind: 'verified', aggregation: source.aggregation, periodStartMs: period.startMs }
      : source,
  };
}

/** Not in the service's future, and not before the day. */
function recentStart(context: BaselineContext): number {
  const { period, day, nowMs, serviceNowMs, extraWindowMs } = context;
  const startMs = Math.min(nowMs(), serviceNowMs()) - RECENT_WINDOW_MS - extraWindowMs;
  return Math.max(day.startMs, period.startMs, floorToMinute(startMs));
}

async function readPeriodTotal(
  { reader, period, expected, nowMs }: BaselineContext,
  source: TotalSource,
): Promise<Pick<WindowResponse, 'aggregation' | 'sums'>> {
  if (source.kind !== 'minutes') {
    return reader.readAgainIfBelow(expected.total, source.aggregation, period.startMs);
  }
  const sums = await readLarger(
    () => totalByMinute(reader, period.startMs, undefined, nowMs()),
    (total) => expected.total !== undefined && anyBelow(total, expected.total),
    grandTotal,
  );
  return { aggregation: 'minute', sums };
}

/**
 * What today must have at least. An empty response is requested again if nothing else would show
 * that it is wrong: the first one of a day, and one beside a total of 0 that may lag.
 */
function minimumToday(
  { expected, period }: BaselineContext,
  source: TotalSource,
  periodTotal: Counts,
): Counts | undefined {
  const mayBeWrong = isZero(periodTotal)
    ? !isVerified(source, period)
    : expected.today === undefined;
  return mayBeWrong ? higher(expected.today, ANY_COUNT) : expected.today;
}

/**
 * What the recent window must have when it is read again. If it was empty and the day is not, an
 * empty response is requested again: if both were a fault, all of its counts would be added later.
 */
function minimumRecent(recentBefore: WindowResponse, todayByMinute: WindowResponse): Counts {
  return isZero(recentBefore.sums) && !isZero(todayByMinute.sums) ? ANY_COUNT : recentBefore.sums;
}

async function assemble(
  context: BaselineContext,
  responses: ConsistentResponses,
  keyFormatBefore: KeyFormatState,
): Promise<BaselineResult> {
  const { reader, zone, period, day, monotonicMs } = context;
  const { recentAtBaseline, todayByMinute, periodTotal, source } = responses;
  const samples = await readByMinute(reader, todayByMinute);
  const recentSample: KeySample[] =
    recentAtBaseline.aggregation === 'minute' ? [recentAtBaseline] : [];
  const keyFormat = await detectKeyFormat(
    reader,
    keyFormatBefore,
    recentSample.concat(samples ?? []),
    zone,
  );
  const today = samples && minutesOfSamples(samples, keyFormat, zone);
  const recent = minutesOf(
    recentAtBaseline.rows,
    keyParser(keyFormat, recentAtBaseline.window, zone),
  );
  const baseline: Baseline = {
    period,
    day,
    takenAtMonotonicMs: monotonicMs,
    recentStartMs: recentAtBaseline.window.startMs,
    recentAtBaseline: { aggregation: recentAtBaseline.aggregation, sums: recentAtBaseline.sums },
    periodTotal,
    todayByMinute: todayByMinute.sums,
    minutes: today && recent && subtractMinutes(today, recent),
  };
  const use = baselineUse(context, responses, baseline.minutes);
  return { kind: 'read', baseline, recent: recentAtBaseline, use, source, keyFormat };
}

function baselineUse(
  { serviceNowMs }: BaselineContext,
  { recentBefore, recentAtBaseline }: ConsistentResponses,
  minutes: Minutes | undefined,
): BaselineUse {
  const { startMs } = recentAtBaseline.window;
  const isStable =
    recentBefore.aggregation === recentAtBaseline.aggregation &&
    areEqual(recentBefore.sums, recentAtBaseline.sums) &&
    startMs <= serviceNowMs();
  if (!isStable) {
    return 'once';
  }
  const hasMissedCounts =
    isZero(recentAtBaseline.sums) &&
    minutes !== undefined &&
    lastSeenIn(minutes, { startMs, endMs: serviceNowMs() + 1 }) !== undefined;
  return hasMissedCounts ? 'window_empty' : 'reusable';
}
