/**
 * Estimates how many people are inside from today's counts and the {@link LearnedDoors}: the direction
 * that counts less is scaled up, and the exits seen correct the number inside, because the past says how
 * soon people leave. Pure. docs/occupancy.md explains the method.
 */
import { MINUTE_MS } from '../../base/duration.ts';
import type { Span } from '../calendar/calendar.ts';
import { countInMinute } from '../rows/day-counts.ts';
import type { DayCounts } from '../rows/day-counts.ts';
import { MINUTES_PER_QUARTER, QUARTERS_PER_DAY } from './door-model.ts';
import type { DeparturePattern, LearnedDoors } from './door-model.ts';

/** People inside, and a 90 % interval around them: `0 <= lower <= people <= upper`. */
export interface Estimate {
  readonly people: number;
  readonly lower: number;
  readonly upper: number;
  /** Start of the minute from which on `lower` is above the limit; undefined if it is not. */
  readonly aboveSinceMs?: number | undefined;
}

/** What is known after some minutes of a day. */
interface Inside {
  people: number;
  variance: number;
  /** Scaled exits so far. */
  exits: number;
}

/** The exits seen are given half the weight that the model asks for: real departures vary more. */
const DISPERSION_FACTOR = 2;
/** A correction by exits is at most this many standard deviations: a class leaves at once. */
const MAX_CORRECTION_SDS = 2;

/** Everybody has left this long after closing. */
const LEAVING_MS = 45 * MINUTE_MS;

/** 1.4 and not 1.645: the two scale errors already widen the interval. */
const INTERVAL_SDS = 1.4;
const MAX_SCALE_ERROR = 0.1;
const UPPER_COUNT_VARIANCE_FACTOR = 1.3;
/** Misses are commoner than double counts, so the lower bound gets half of the latter. */
const DOUBLE_COUNT_WEIGHT = 0.5;

/**
 * Returns the estimate after the minutes of a day that start before `endMs`.
 *
 * @param openSpans the opening times of the day, in order; all of it if they are unknown
 * @param limit number of people
 */
export function estimateInside(
  model: LearnedDoors,
  counted: DayCounts,
  endMs: number,
  openSpans: readonly Span[],
  limit = Infinity,
): Estimate {
  const { countVariance, logRatioVariance, logRatio, departures } = model;
  const { day, first, stepMs } = counted;
  const entryScale = Math.exp(Math.max(0, -logRatio));
  const exitScale = Math.exp(Math.max(0, logRatio));
  const endMinute = Math.ceil((endMs - day.startMs) / MINUTE_MS);
  const emptyFromMinute = minuteWhenEmpty(day, openSpans);
  const inside: Inside = { people: 0, variance: 0, exits: 0 };
  let aboveSinceMs: number | undefined;
  // Before the first count nobody is inside.
  for (let minute = (first * stepMs) / MINUTE_MS; minute < endMinute; minute += 1) {
    const entered = Math.max(0, countInMinute(counted, 0, minute)) * entryScale;
    const exited = Math.max(0, countInMinute(counted, 1, minute)) * exitScale;
    if (minute === emptyFromMinute) {
      inside.people = 0;
      inside.variance = 0;
    } else if (departures !== undefined && minute < emptyFromMinute) {
      correctByExits(inside, departures, minute, entered, exited);
    }
    inside.people = Math.max(0, inside.people + entered - exited);
    inside.variance +=
      (countVariance / 2) * (entered + exited) +
      logRatioVariance * exited * (2 * inside.exits + exited);
    inside.exits += exited;
    // The lower bound is not above the people.
    const isAbove = inside.people > limit && withInterval(inside, model).lower > limit;
    aboveSinceMs = isAbove ? (aboveSinceMs ?? day.startMs + minute * MINUTE_MS) : undefined;
  }
  return { ...withInterval(inside, model), aboveSinceMs };
}

/** Who comes from this minute of the day on is at an event: usual stays say nothing about it. */
function minuteWhenEmpty({ startMs, endMs }: Span, openSpans: readonly Span[]): number {
  const closedMs = openSpans.at(-1)?.endMs ?? startMs;
  return closedMs === endMs ? Infinity : Math.ceil((closedMs + LEAVING_MS - startMs) / MINUTE_MS);
}

/** A step of a Kalman filter: more exits than usual mean that more people were inside. */
function correctByExits(
  inside: Inside,
  { leaveProbability, dispersion }: DeparturePattern,
  minute: number,
  entered: number,
  exited: number,
): void {
  const quarter = Math.min(QUARTERS_PER_DAY - 1, Math.floor(minute / MINUTES_PER_QUARTER));
  const probability = leaveProbability[quarter] ?? 0;
  if (probability === 0) {
    return;
  }
  const innovationVariance =
    probability ** 2 * inside.variance +
    DISPERSION_FACTOR * dispersion * probability * Math.max(inside.people, 0.5);
  const gain = (probability * inside.variance) / innovationVariance;
  const max = MAX_CORRECTION_SDS * Math.sqrt(inside.variance);
  const surprise = exited - probability * (inside.people + entered / 2);
  inside.people += clamp(gain * surprise, -max, max);
  inside.variance *= 1 - gain * probability;
}

function withInterval(
  { people, variance }: Inside,
  { countVariance, logRatio }: LearnedDoors,
): Omit<Estimate, 'aboveSinceMs'> {
  const bias = Math.abs(logRatio);
  const doubled = Math.min(MAX_SCALE_ERROR, (countVariance + bias) / 2);
  const missed = clamp(
    (UPPER_COUNT_VARIANCE_FACTOR * countVariance - bias) / 2,
    0,
    MAX_SCALE_ERROR,
  );
  const margin = INTERVAL_SDS * Math.sqrt(variance);
  return {
    people,
    lower: Math.max(0, people * (1 - DOUBLE_COUNT_WEIGHT * doubled) - margin),
    upper: people / (1 - missed) + margin,
  };
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}
