/**
 * The estimate at a poll. The state before the baseline's recent window is kept, so that the next poll
 * continues it and computes only the last minutes; it is a cache, and changes no value.
 */
import type { Baseline } from '../totals/baseline.ts';
import { MINUTE_MS } from '../calendar/calendar.ts';
import type { Span } from '../calendar/calendar.ts';
import { at } from '../rows/counts.ts';
import type { DoorModel } from './door-model.ts';
import { continueEstimate, estimateFrom, START_OF_DAY } from './estimate.ts';
import type { DoorFault, Estimate, EstimateState, MinuteCounts } from './estimate.ts';
import { unpackMinutes } from './occupancy.ts';
import type { Minutes } from './occupancy.ts';
import type { OpeningHours } from '../calendar/opening-hours.ts';

/** What is known about the doors when a day starts. */
export interface DayDoors {
  readonly day: Span;
  readonly model: DoorModel;
  /** From this minute of the day on it is closed; Infinity if unknown. */
  readonly closingMinute: number;
}

export interface TodayEstimate {
  /** Undefined while nobody can know. */
  readonly estimate: Estimate | undefined;
  readonly fault: DoorFault | undefined;
  readonly doors: DayDoors;
  readonly baseline: Baseline;
  /** After the last minute before the baseline's recent window. */
  readonly atBaseline: EstimateState;
}

/**
 * @param minutes if they are in order, those since the start of the recent window, else all of today
 * @param before the estimate at the poll before
 */
export function estimateToday(
  doors: DayDoors,
  baseline: Baseline,
  minutes: Minutes,
  isInOrder: boolean,
  endMs: number,
  before: TodayEstimate | undefined,
): TodayEstimate {
  const { startMs } = doors.day;
  const { model, closingMinute } = doors;
  const recentMinute = Math.floor((baseline.recentStartMs - startMs) / MINUTE_MS);
  const atBaseline =
    before?.baseline === baseline && before.doors === doors
      ? before.atBaseline
      : continueEstimate(
          model,
          START_OF_DAY,
          minuteCounts(
            baseline.minutes ? unpackMinutes(baseline.minutes, startMs) : [],
            doors.day,
            startMs,
            baseline.recentStartMs,
          ),
          recentMinute,
          closingMinute,
        );
  const from = isInOrder ? atBaseline : START_OF_DAY;
  const state = continueEstimate(
    model,
    from,
    minuteCounts(minutes, doors.day, startMs + from.minutes * MINUTE_MS, endMs),
    Math.ceil((endMs - startMs) / MINUTE_MS),
    closingMinute,
  );
  const { fault } = state;
  return { estimate: estimateFrom(model, state), fault, doors, baseline, atBaseline };
}

/** Counts from one instant to another; a corrected record may have left a minute below 0. */
function minuteCounts(minutes: Minutes, day: Span, fromMs: number, toMs: number): MinuteCounts[] {
  return minutes
    .filter(({ startMs }) => startMs >= fromMs && startMs < toMs)
    .map(({ startMs, counts }) => ({
      minute: (startMs - day.startMs) / MINUTE_MS,
      entered: Math.max(0, at(counts, 0)),
      exited: Math.max(0, at(counts, 1)),
    }));
}

/** See {@link DayDoors.closingMinute}. */
export function findClosingMinute(
  day: Span,
  openingHours: OpeningHours | undefined,
  timezone: string,
): number {
  if (openingHours === undefined) {
    return Infinity;
  }
  let closedMs = day.startMs;
  let atMs = day.startMs;
  while (atMs < day.endMs) {
    const isOpen = openingHours.isOpenAt(atMs, timezone);
    const changeMs = openingHours.nextChangeAfter(atMs, timezone) ?? Infinity;
    if (isOpen && changeMs >= day.endMs) {
      return Infinity;
    }
    closedMs = isOpen ? changeMs : closedMs;
    atMs = changeMs;
  }
  return (closedMs - day.startMs) / MINUTE_MS;
}
