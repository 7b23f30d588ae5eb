/**
 * What the last four weeks say about the doors of a library: how many entries they count per exit,
 * how much their counts scatter, and how soon people leave. Learned once a day, pure.
 *
 * docs/occupancy.md describes the method and its accuracy. None of the constants is fitted to one library.
 */
import { countOf, grandTotal } from '../rows/counts.ts';
import type { DayCounts } from '../rows/day-counts.ts';

/** What today's estimate needs. */
export interface LearnedDoors {
  /**
   * Natural logarithm of entries counted per exit counted, as applied to today: 0 where it cannot be
   * distinguished from 0.
   */
  readonly logRatio: number;
  /** The learned log ratio; undefined before {@link MIN_RATIO_DAYS} usable days. */
  readonly learnedLogRatio: number | undefined;
  readonly logRatioVariance: number;
  /**
   * Variance of the error of one count: about the missed share of entries plus that of exits. 0 if
   * entries equal exits on most days: then the estimate is the raw occupancy.
   */
  readonly countVariance: number;
  /** Undefined before {@link MIN_DEPARTURE_DAYS} usable days. */
  readonly departures: DeparturePattern | undefined;
  /** False if people are counted around the day's start, when the building should be empty. */
  readonly emptiesAtNight: boolean;
}

export interface DoorModel extends LearnedDoors {
  /**
   * Busy days whose entries and exits differ too much to learn from, because a direction was dead: how many days
   * before today, the oldest first.
   */
  readonly rejectedDays: readonly number[];
  /** The learned ratio, each from the day after a usable day on, once it is known; the oldest first. */
  readonly ratios: readonly DayRatio[];
}

/** Entries counted per exit counted, as learned from the days before a day. */
export interface DayRatio {
  /** 0 for today. */
  readonly daysAgo: number;
  readonly value: number;
  readonly stddev: number;
}

/** By quarter-hour of a day like today. Typed arrays take half the memory of arrays here. */
export interface DeparturePattern {
  /** Probability that a person inside leaves within one minute of the quarter-hour. */
  readonly leaveProbability: Float64Array;
  /** How much more the exits of a day vary than those of independent people; at least 1. */
  readonly dispersion: number;
}

/** A past day: its weekday, and its counts by quarter-hour or a shorter step. */
export type PastDay = Pick<DayCounts, 'weekday' | 'stepMs' | 'first' | 'counts'>;

export const HISTORY_DAYS = 28;
export const QUARTERS_PER_DAY = 96;
export const MINUTES_PER_QUARTER = 15;
export const QUARTER_MS = MINUTES_PER_QUARTER * 60_000;

/** A day teaches something about the doors from this many counts on. */
const MIN_COUNTS_PER_DAY = 40;
/** A larger log ratio of a day means a dead direction, not a bias, unless many days are alike. */
const MAX_ABS_LOG_RATIO = 0.25;
/** A lasting loss of half of one direction is a bias; that of more is a fault. */
const MAX_ABS_LASTING_LOG_RATIO = 0.8;
/** So many of this number of busy days before and after are alike in a lasting loss. */
const MIN_ALIKE_DAYS = 4;
const ALIKE_NEIGHBOURS = 6;
/** Count variance of a direction that misses a third to a half. */
const LASTING_COUNT_VARIANCE = 0.5;
const MIN_RATIO_DAYS = 3;
const MIN_DEPARTURE_DAYS = 12;

/** Standard deviation of the log ratio before anything is known: doors are 95 to 98 % accurate. */
const PRIOR_RATIO_SD = 0.03;
/** How far a log ratio moves from one day to the next. */
const DAILY_RATIO_SD = 0.002;
/** Error of a day's log ratio beyond that of its counts. */
const EXTRA_DAY_SD = 0.001;
/** A day further away than this many standard deviations is an outlier. */
const OUTLIER_SDS = 4;

/** Count variance before it can be learned, and as prior worth some days afterwards. */
const UNKNOWN_COUNT_VARIANCE = 0.1;
const PRIOR_COUNT_VARIANCE = 0.08;
const PRIOR_COUNT_VARIANCE_DAYS = 4;
/** Median of the chi-squared distribution with one degree of freedom. */
const CHI_SQUARED_MEDIAN = 0.455;
const MAX_SQUARED_DEVIATION = 9;

/** Person-quarters of prior for the pattern of one weekday: that of all days. */
const WEEKDAY_PRIOR = 20;
const MIN_WEEKDAY_DAYS = 2;
/** Below this many counts a quarter-hour at the end of the day is quiet. */
const QUIET_COUNTS = 0.5;
const QUIET_LEAVE_PROBABILITY = 0.9;
const MAX_LEAVE_PROBABILITY = 0.95;
const UNKNOWN_DISPERSION = 10;

/** The last hour of a day. A night with at most one count in it was empty. */
const NIGHT_FROM_QUARTER = 92;
const MAX_NIGHT_COUNTS = 1;
const MIN_EMPTY_NIGHTS_SHARE = 0.8;

interface SummedDay {
  /** Place in the history, for the distance in days. */
  readonly index: number;
  /** 0 to 6, of the day's start. */
  readonly weekday: number;
  /** By elapsed quarter-hour, {@link QUARTERS_PER_DAY} of them. */
  readonly entered: Float64Array;
  readonly exited: Float64Array;
  readonly counts: number;
  /** Log ratio of entries to exits; not finite if a direction counted nobody. */
  readonly logRatio: number;
  /** Harmonic mean of entries and exits: the variance of the log ratio is proportional to 1 / n. */
  readonly effectiveCounts: number;
}

type Ratio = Pick<
  DoorModel,
  'logRatio' | 'learnedLogRatio' | 'logRatioVariance' | 'countVariance' | 'ratios'
>;

const UNKNOWN_RATIO: Ratio = {
  logRatio: 0,
  learnedLogRatio: undefined,
  logRatioVariance: PRIOR_RATIO_SD ** 2,
  countVariance: UNKNOWN_COUNT_VARIANCE,
  ratios: [],
};
const EXACT_RATIO: Ratio = {
  logRatio: 0,
  learnedLogRatio: 0,
  logRatioVariance: 0,
  countVariance: 0,
  ratios: [],
};

/**
 * Returns what the days before today say about the doors.
 *
 * @param days complete, oldest first, at most {@link HISTORY_DAYS}, in steps of a quarter-hour or less; a
 *   day without counts stays in the list
 * @param weekday that of today
 */
export function learnDoors(days: readonly PastDay[], weekday: number): DoorModel {
  const all = days.map(sumDay);
  const busy = all.filter(({ counts }) => counts >= MIN_COUNTS_PER_DAY);
  const usable = busy.filter((day, i) => isUsable(day, busy, i));
  const rejected = busy.filter((day) => !usable.includes(day));
  const ratio = learnRatio(usable, days.length);
  return {
    ...ratio,
    departures:
      usable.length >= MIN_DEPARTURE_DAYS && ratio.logRatioVariance > 0
        ? learnDepartures(usable, weekday)
        : undefined,
    emptiesAtNight: emptiesAtNight(all),
    rejectedDays: rejected.map(({ index }) => days.length - index),
  };
}

/** Whether a day's ratio is a bias, or a lasting loss that other days share. */
function isUsable(day: SummedDay, busy: readonly SummedDay[], i: number): boolean {
  if (Math.abs(day.logRatio) <= MAX_ABS_LOG_RATIO) {
    return true;
  }
  const measured = measure(day, LASTING_COUNT_VARIANCE);
  const alike = busy
    .slice(Math.max(0, i - ALIKE_NEIGHBOURS), i + ALIKE_NEIGHBOURS + 1)
    .filter(
      (other) => mayBeLoss(other) && areAlike(measure(other, LASTING_COUNT_VARIANCE), measured),
    );
  // The day itself is one of them.
  return mayBeLoss(day) && alike.length > MIN_ALIKE_DAYS;
}

function mayBeLoss({ logRatio }: SummedDay): boolean {
  const size = Math.abs(logRatio);
  return size > MAX_ABS_LOG_RATIO && size <= MAX_ABS_LASTING_LOG_RATIO;
}

function sumDay(counted: PastDay, index: number): SummedDay {
  const [entered, exited] = [sumQuarters(counted, 0), sumQuarters(counted, 1)];
  const [entries, exits] = [grandTotal(entered), grandTotal(exited)];
  return {
    index,
    weekday: counted.weekday,
    entered,
    exited,
    counts: entries + exits,
    logRatio: Math.log(entries / exits),
    effectiveCounts: 2 / (1 / entries + 1 / exits),
  };
}

/** Returns the counts of a day by elapsed quarter-hour. A 25th hour is added to the last one. */
export function sumQuarters({ stepMs, first, counts }: PastDay, counter: number): Float64Array {
  const quarters = new Float64Array(QUARTERS_PER_DAY);
  counts[counter]?.forEach((count, i) => {
    const elapsed = Math.floor(((first + i) * stepMs) / QUARTER_MS);
    const quarter = Math.min(QUARTERS_PER_DAY - 1, elapsed);
    quarters[quarter] = countOf(quarters, quarter) + Math.max(0, count);
  });
  return quarters;
}

function emptiesAtNight(days: readonly SummedDay[]): boolean {
  const counted = days.filter(({ counts }) => counts > 0);
  const emptyNights = counted.filter(
    ({ entered, exited }) =>
      grandTotal(entered.slice(NIGHT_FROM_QUARTER)) +
        grandTotal(exited.slice(NIGHT_FROM_QUARTER)) <=
      MAX_NIGHT_COUNTS,
  );
  return (
    counted.length < MIN_RATIO_DAYS || emptyNights.length >= MIN_EMPTY_NIGHTS_SHARE * counted.length
  );
}

function learnRatio(days: readonly SummedDay[], today: number): Ratio {
  if (days.length < MIN_RATIO_DAYS) {
    return UNKNOWN_RATIO;
  }
  const exactDays = days.filter(({ logRatio }) => logRatio === 0);
  return exactDays.length * 2 >= days.length
    ? EXACT_RATIO
    : filterRatio(days, today, learnCountVariance(days));
}

/** Returns the variance from differences of successive days, so that a slow drift is not taken for noise. */
function learnCountVariance(days: readonly SummedDay[]): number {
  const squares = days.slice(1).map((day, i) => {
    const before = days[i] ?? day;
    const difference = day.logRatio - before.logRatio;
    return difference ** 2 / (1 / day.effectiveCounts + 1 / before.effectiveCounts);
  });
  const max = (MAX_SQUARED_DEVIATION * median(squares)) / CHI_SQUARED_MEDIAN;
  return (
    (grandTotal(squares.map((square) => Math.min(square, max))) +
      PRIOR_COUNT_VARIANCE_DAYS * PRIOR_COUNT_VARIANCE) /
    (squares.length + PRIOR_COUNT_VARIANCE_DAYS)
  );
}

/** A log ratio and its variance. */
interface Measured {
  readonly ratio: number;
  readonly variance: number;
}

/**
 * A scalar Kalman filter over the days. One outlier is ignored; a second one like it means that the
 * door has changed, and the filter starts again from these two.
 */
function filterRatio(days: readonly SummedDay[], today: number, countVariance: number): Ratio {
  let learned: Measured = { ratio: 0, variance: PRIOR_RATIO_SD ** 2 };
  let index = days[0]?.index ?? 0;
  let outlier: Measured | undefined;
  const ratios: DayRatio[] = [];
  for (const day of days) {
    learned = afterDays(learned, day.index - index);
    ({ index } = day);
    const measured = measure(day, countVariance);
    const alike = [learned, outlier].find((ratio) => ratio && areAlike(ratio, measured));
    outlier = alike === undefined ? measured : undefined;
    learned = alike === undefined ? learned : combine(alike, measured);
    const value = Math.exp(learned.ratio);
    const stddev = value * Math.sqrt(withOutlier(afterDays(learned, 1), outlier));
    ratios.push({ daysAgo: today - 1 - index, value, stddev });
  }
  const { ratio, variance } = afterDays(learned, 1);
  const logRatioVariance = withOutlier({ ratio, variance }, outlier);
  // The positive-part James-Stein factor: it keeps the estimate of an unbiased door at the raw value.
  const shrinkage = outlier === undefined ? Math.max(0, 1 - variance / ratio ** 2) : 1;
  return {
    logRatio: ratio * shrinkage,
    learnedLogRatio: ratio,
    logRatioVariance,
    countVariance,
    ratios: ratios.slice(MIN_RATIO_DAYS - 1),
  };
}

/** Returns the variance, larger while it is open whether the newest day is an outlier. */
function withOutlier({ ratio, variance }: Measured, outlier: Measured | undefined): number {
  return variance + (outlier === undefined ? 0 : (outlier.ratio - ratio) ** 2);
}

function measure({ logRatio, effectiveCounts }: SummedDay, countVariance: number): Measured {
  return { ratio: logRatio, variance: countVariance / effectiveCounts + EXTRA_DAY_SD ** 2 };
}

function afterDays({ ratio, variance }: Measured, days: number): Measured {
  return { ratio, variance: variance + DAILY_RATIO_SD ** 2 * days };
}

function areAlike(a: Measured, b: Measured): boolean {
  return (a.ratio - b.ratio) ** 2 <= OUTLIER_SDS ** 2 * (a.variance + b.variance);
}

/** Returns the mean, weighted by the inverse variances. */
function combine(a: Measured, b: Measured): Measured {
  const gain = a.variance / (a.variance + b.variance);
  return { ratio: a.ratio + gain * (b.ratio - a.ratio), variance: a.variance * (1 - gain) };
}

/** A past day, scaled to end with nobody inside. */
interface BalancedDay {
  readonly isSameWeekday: boolean;
  readonly exited: Float64Array;
  /** People who could leave in a quarter-hour: half of those who enter in it are counted. */
  readonly couldLeave: readonly number[];
}

function learnDepartures(days: readonly SummedDay[], weekday: number): DeparturePattern {
  const quietFromQuarter = quietFrom(days.filter((day) => day.weekday === weekday));
  const balanced = days.map((day) => balance(day, weekday));
  const ofAllDays = leaveProbability(balanced, 1, () => 0);
  const ofWeekday = leaveProbability(
    balanced.filter(({ isSameWeekday }) => isSameWeekday),
    WEEKDAY_PRIOR,
    (quarter) => countOf(ofAllDays, quarter),
  );
  const ofToday = ofWeekday.map((probability, quarter) =>
    quarter >= quietFromQuarter ? QUIET_LEAVE_PROBABILITY : probability,
  );
  return {
    leaveProbability: Float64Array.from(ofToday, perMinute),
    dispersion: learnDispersion(balanced, ofToday, ofAllDays),
  };
}

/** Returns the quarter-hour from which on nobody is usually counted on a weekday. */
function quietFrom(days: readonly SummedDay[]): number {
  if (days.length < MIN_WEEKDAY_DAYS) {
    return QUARTERS_PER_DAY;
  }
  const counts = sumByQuarter(days.flatMap(({ entered, exited }) => [entered, exited]));
  return counts.findLastIndex((sum) => sum >= QUIET_COUNTS * days.length) + 1;
}

function balance(day: SummedDay, weekday: number): BalancedDay {
  const entryScale = Math.exp(Math.max(0, -day.logRatio));
  const exitScale = Math.exp(Math.max(0, day.logRatio));
  const exited = day.exited.map((count) => count * exitScale);
  let inside = 0;
  const couldLeave = byQuarter((quarter) => {
    const entered = countOf(day.entered, quarter) * entryScale;
    const atStart = inside;
    inside += entered - countOf(exited, quarter);
    return Math.max(0, atStart + entered / 2);
  });
  return { isSameWeekday: day.weekday === weekday, exited, couldLeave };
}

/** By quarter-hour; `priorPeople` who leave with the probability `prior` are added. */
function leaveProbability(
  days: readonly BalancedDay[],
  priorPeople: number,
  prior: (quarter: number) => number,
): number[] {
  const exits = sumByQuarter(days.map(({ exited }) => exited));
  const people = sumByQuarter(days.map(({ couldLeave }) => couldLeave));
  return byQuarter((quarter) => {
    const leaving = countOf(exits, quarter) + priorPeople * prior(quarter);
    return Math.min(1, leaving / (countOf(people, quarter) + priorPeople));
  });
}

/** Over whole days, because the stays of one day vary together. */
function learnDispersion(
  days: readonly BalancedDay[],
  sameWeekday: readonly number[],
  allDays: readonly number[],
): number {
  let squaredResiduals = 0;
  let expectedVariance = 0;
  for (const { isSameWeekday, exited, couldLeave } of days) {
    let residual = 0;
    for (let quarter = 0; quarter < QUARTERS_PER_DAY; quarter++) {
      const probability = countOf(isSameWeekday ? sameWeekday : allDays, quarter);
      const expected = countOf(couldLeave, quarter) * probability;
      residual += countOf(exited, quarter) - expected;
      expectedVariance += expected * (1 - probability);
    }
    squaredResiduals += residual ** 2;
  }
  return expectedVariance > 0
    ? Math.max(1, squaredResiduals / expectedVariance)
    : UNKNOWN_DISPERSION;
}

function perMinute(perQuarter: number): number {
  return 1 - (1 - Math.min(MAX_LEAVE_PROBABILITY, perQuarter)) ** (1 / MINUTES_PER_QUARTER);
}

const QUARTERS = Array.from({ length: QUARTERS_PER_DAY }, (_, quarter) => quarter);

/** Returns a value for each quarter-hour of a day. */
function byQuarter(value: (quarter: number) => number): number[] {
  return QUARTERS.map(value);
}

function sumByQuarter(days: readonly ArrayLike<number>[]): number[] {
  return byQuarter((quarter) => days.reduce((total, day) => total + countOf(day, quarter), 0));
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? countOf(sorted, middle)
    : (countOf(sorted, middle - 1) + countOf(sorted, middle)) / 2;
}
