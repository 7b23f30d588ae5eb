/**
 * Estimates how many people are inside from today's minutes and the learned {@link DoorModel}. The
 * direction that counts less is scaled up; the exits seen correct the number inside, because the
 * past says how soon people leave; silent and dead doors are detected. Pure: the same minutes give
 * the same estimate after a restart and in a replica. docs/occupancy.md explains the method.
 */
import { countOf } from '../rows/counts.ts';
import { countInMinute } from '../rows/day-counts.ts';
import type { DayCounts } from '../rows/day-counts.ts';
import { MINUTES_PER_QUARTER, QUARTERS_PER_DAY } from './door-model.ts';
import type { DeparturePattern, DoorModel } from './door-model.ts';

export const DOOR_FAULTS = ['exits_missing', 'entries_missing', 'silent'] as const;
export type DoorFault = (typeof DOOR_FAULTS)[number];

/** People inside, and a 90 % interval around them: `0 <= lower <= people <= upper`. */
export interface Estimate {
  readonly people: number;
  readonly lower: number;
  readonly upper: number;
}

/** What is known about the people inside. Restored when a device turns out to be offline. */
interface Inside {
  readonly people: number;
  readonly variance: number;
  /** People inside by entries and usual departures alone, without the exits counted. */
  readonly modelPeople: number;
  /** Exits, and those that the model expects, with weights that fade over {@link EXITS_FADE_MINUTES}. */
  readonly recentExits: number;
  readonly expectedExits: number;
}

/** The estimate after some minutes of a day. Immutable; continue with {@link continueEstimate}. */
export interface EstimateState extends Inside {
  /** Number of minutes so far. */
  readonly minutes: number;
  readonly exits: number;
  /** Scaled entries minus scaled exits, not clamped at 0, and the variance of their count errors. */
  readonly balance: number;
  readonly balanceVariance: number;
  /** Entries, and the usual ones, with weights that fade over {@link ENTRIES_FADE_MINUTES}. */
  readonly recentEntries: number;
  readonly usualRecentEntries: number;
  /** Counts that would have been usual since the last one, or since the opening. */
  readonly missedCounts: number;
  readonly afterLastCount: Inside;
  /** Whether anybody entered after everybody had left: then the opening hours are not those of the day. */
  readonly isReopened: boolean;
  readonly fault: DoorFault | undefined;
}

/** In minutes of a day. */
export interface DayHours {
  readonly openingMinute: number;
  /** From this minute on it is closed; Infinity if unknown. */
  readonly closingMinute: number;
}

/** A day whose opening hours are unknown. */
export const UNKNOWN_HOURS: DayHours = { openingMinute: 0, closingMinute: Infinity };

const NOBODY_INSIDE: Inside = {
  people: 0,
  variance: 0,
  modelPeople: 0,
  recentExits: 0,
  expectedExits: 0,
};

/** The state at the start of a day. */
export const START_OF_DAY: EstimateState = {
  ...NOBODY_INSIDE,
  minutes: 0,
  exits: 0,
  balance: 0,
  balanceVariance: 0,
  recentEntries: 0,
  usualRecentEntries: 0,
  missedCounts: 0,
  afterLastCount: NOBODY_INSIDE,
  isReopened: false,
  fault: undefined,
};

const EXITS_FADE_MINUTES = 180;
const ENTRIES_FADE_MINUTES = 30;
const EXITS_WEIGHT = Math.exp(-1 / EXITS_FADE_MINUTES);
const ENTRIES_WEIGHT = Math.exp(-1 / ENTRIES_FADE_MINUTES);

/** The exits seen are given half the weight that the model asks for: real departures vary more. */
const DISPERSION_FACTOR = 2;
/** A correction by exits is at most this many standard deviations: a class leaves at once. */
const MAX_CORRECTION_SDS = 2;

/** Everybody has left this long after closing. */
const LEAVING_MINUTES = 45;

/** Missed counts from which the last minutes are ignored, and from which the doors are silent. */
const FREEZE_MISSED_COUNTS = 7;
const SILENT_MISSED_COUNTS = 30;
/** Variance added for each usual count while nothing is counted. */
const FROZEN_VARIANCE = 4;
/** Fewer than half of the usual recent entries: a device may be offline. */
const MIN_USUAL_ENTRIES = 12;
const OFFLINE_SHARE = 0.5;

/** A direction is dead when this share of its expected counts, or less, came. */
const DEAD_SHARE = 0.4;
const ALIVE_SHARE = 0.6;
const MIN_EXPECTED_EXITS = 25;
/** Exits are suspected only while entries are at this share of usual. */
const LIVELY_SHARE = 0.7;
const MIN_MODEL_ERROR = 0.25;
/** A difference is suspect from so many standard deviations and people on. */
const SUSPECT_SDS = 5;
const SUSPECT_PEOPLE = 5;

/** 1.4 and not 1.645: the two scale errors already widen the interval. */
const INTERVAL_SDS = 1.4;
const MAX_SCALE_ERROR = 0.1;
const UPPER_COUNT_VARIANCE_FACTOR = 1.3;
/** Misses are commoner than double counts, so the lower bound gets half of the latter. */
const DOUBLE_COUNT_WEIGHT = 0.5;

/**
 * Returns the state after more minutes of a day.
 *
 * @param model learned from the days before
 * @param state after the minutes before; {@link START_OF_DAY} for all of today
 * @param counted the day, in steps of any length
 * @param endMinute the minute after the last one to include
 * @param hours those of the day
 */
export function continueEstimate(
  model: DoorModel,
  state: EstimateState,
  counted: DayCounts,
  endMinute: number,
  hours: DayHours,
): EstimateState {
  const next = { ...state };
  while (next.minutes < endMinute) {
    addMinute(next, model, counted, hours);
  }
  return next;
}

/** Returns the estimate; undefined while nobody can know: entries are missing, or the doors are silent. */
export function estimateFrom(model: DoorModel, state: EstimateState): Estimate | undefined {
  if (state.fault === 'entries_missing' || state.fault === 'silent') {
    return undefined;
  }
  const { people } = state;
  const { countVariance, logRatio } = model;
  const bias = Math.abs(logRatio);
  const doubled = Math.min(MAX_SCALE_ERROR, (countVariance + bias) / 2);
  const missed = clamp(
    (UPPER_COUNT_VARIANCE_FACTOR * countVariance - bias) / 2,
    0,
    MAX_SCALE_ERROR,
  );
  const margin = INTERVAL_SDS * Math.sqrt(state.variance);
  return {
    people,
    lower: Math.max(0, people * (1 - DOUBLE_COUNT_WEIGHT * doubled) - margin),
    upper: people / (1 - missed) + margin,
  };
}

type Mutable<State> = { -readonly [Key in keyof State]: State[Key] };

function addMinute(
  next: Mutable<EstimateState>,
  model: DoorModel,
  counted: DayCounts,
  { openingMinute, closingMinute }: DayHours,
): void {
  const { countVariance, logRatioVariance, logRatio, departures } = model;
  const minute = next.minutes;
  const countedEntries = Math.max(0, countInMinute(counted, 0, minute));
  const countedExits = Math.max(0, countInMinute(counted, 1, minute));
  const entered = countedEntries * Math.exp(Math.max(0, -logRatio));
  const exited = countedExits * Math.exp(Math.max(0, logRatio));
  const isCounted = countedEntries + countedExits > 0;
  const isEmpty = minute >= closingMinute + LEAVING_MINUTES;
  next.minutes += 1;
  next.isReopened ||= isEmpty && countedEntries > 0;
  next.balance += entered - exited;
  next.balanceVariance += (countVariance / 2) * (entered + exited);
  if (departures !== undefined) {
    const quarter = Math.min(QUARTERS_PER_DAY - 1, Math.floor(minute / MINUTES_PER_QUARTER));
    const isQuiet = isEmpty || quarter >= departures.quietFromQuarter;
    const usualCounts = countOf(departures.usualCounts, quarter) / MINUTES_PER_QUARTER;
    next.recentEntries = next.recentEntries * ENTRIES_WEIGHT + countedEntries;
    next.usualRecentEntries =
      next.usualRecentEntries * ENTRIES_WEIGHT +
      countOf(departures.usualEntries, quarter) / MINUTES_PER_QUARTER;
    const isOpen = minute >= openingMinute && minute < closingMinute;
    watchSilence(next, isOpen ? usualCounts : 0, isCounted || isQuiet);
    const isOffline =
      next.usualRecentEntries >= MIN_USUAL_ENTRIES &&
      next.recentEntries < OFFLINE_SHARE * next.usualRecentEntries;
    if (isFrozen(next)) {
      next.variance += usualCounts * FROZEN_VARIANCE;
    } else if (!isOffline && !next.isReopened) {
      correctByExits(next, departures, quarter, entered, exited);
    }
    watchDirections(next, model, departures, isOffline);
  }
  next.people = Math.max(0, next.people + entered - exited);
  next.variance +=
    (countVariance / 2) * (entered + exited) +
    logRatioVariance * exited * (2 * next.exits + exited);
  next.exits += exited;
  if (next.fault === 'exits_missing' && departures !== undefined) {
    next.people = next.modelPeople;
    next.variance = (departures.modelError * next.modelPeople) ** 2 + next.modelPeople;
  }
  if (isEmpty && !isCounted && !next.isReopened) {
    next.people = 0;
    next.variance = 0;
    next.modelPeople = 0;
  }
  if (isCounted) {
    next.afterLastCount = insideOf(next);
  }
}

/** Nothing is counted although it would be usual: the state after the last count applies. */
function watchSilence(
  next: Mutable<EstimateState>,
  missedCounts: number,
  isSilenceExplained: boolean,
): void {
  const wasFrozen = isFrozen(next);
  if (isSilenceExplained) {
    if (next.afterLastCount === NOBODY_INSIDE && next.fault === undefined) {
      // The day begins later than usual: cleaners came on other days. Nobody can be inside.
      next.variance = 0;
    }
    next.missedCounts = 0;
    next.fault = next.fault === 'silent' ? undefined : next.fault;
  } else {
    next.missedCounts += missedCounts;
  }
  if (isFrozen(next) && !wasFrozen) {
    Object.assign(next, next.afterLastCount);
  }
  if (next.missedCounts >= SILENT_MISSED_COUNTS && next.fault === undefined) {
    next.fault = 'silent';
  }
}

function isFrozen({ missedCounts }: EstimateState): boolean {
  return missedCounts >= FREEZE_MISSED_COUNTS;
}

/** A step of a Kalman filter: more exits than usual mean that more people were inside. */
function correctByExits(
  next: Mutable<EstimateState>,
  departures: DeparturePattern,
  quarter: number,
  entered: number,
  exited: number,
): void {
  const probability = countOf(departures.leaveProbability, quarter);
  if (probability > 0 && next.fault !== 'exits_missing') {
    const innovationVariance =
      probability ** 2 * next.variance +
      DISPERSION_FACTOR * departures.dispersion * probability * Math.max(next.people, 0.5);
    const gain = (probability * next.variance) / innovationVariance;
    const max = MAX_CORRECTION_SDS * Math.sqrt(next.variance);
    const surprise = exited - probability * (next.people + entered / 2);
    next.people += clamp(gain * surprise, -max, max);
    next.variance *= 1 - gain * probability;
  }
  const expected = probability * (next.modelPeople + entered / 2);
  next.modelPeople += entered - expected;
  next.recentExits = next.recentExits * EXITS_WEIGHT + exited;
  next.expectedExits = next.expectedExits * EXITS_WEIGHT + expected;
}

/** Suspects that one direction is dead: the balance and the model drift apart. */
function watchDirections(
  next: Mutable<EstimateState>,
  model: DoorModel,
  departures: DeparturePattern,
  isOffline: boolean,
): void {
  const { balance, modelPeople, recentExits, expectedExits } = next;
  const balanceVariance = next.balanceVariance + model.logRatioVariance * next.exits ** 2;
  const modelVariance = (Math.max(MIN_MODEL_ERROR, departures.modelError) * modelPeople) ** 2;
  const differs =
    expectedExits >= MIN_EXPECTED_EXITS &&
    !isOffline &&
    Math.abs(balance - modelPeople) >
      SUSPECT_SDS * Math.sqrt(balanceVariance + modelVariance) + SUSPECT_PEOPLE;
  const isNegative = balance < -SUSPECT_SDS * Math.sqrt(balanceVariance) - SUSPECT_PEOPLE;
  if (
    isNegative ||
    (differs && balance < modelPeople && recentExits * DEAD_SHARE > expectedExits)
  ) {
    next.fault = 'entries_missing';
  } else if (
    next.fault === undefined &&
    differs &&
    balance > modelPeople &&
    recentExits < DEAD_SHARE * expectedExits &&
    next.recentEntries >= LIVELY_SHARE * next.usualRecentEntries
  ) {
    next.fault = 'exits_missing';
  } else if (next.fault === 'exits_missing' && recentExits > ALIVE_SHARE * expectedExits) {
    next.fault = undefined;
    next.balance = modelPeople;
    next.balanceVariance = modelVariance;
  }
}

function insideOf({
  people,
  variance,
  modelPeople,
  recentExits,
  expectedExits,
}: EstimateState): Inside {
  return { people, variance, modelPeople, recentExits, expectedExits };
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}
