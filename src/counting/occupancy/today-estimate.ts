/** The estimate at a poll, and what it needs to know about the day. */
import { MINUTE_MS } from '../../base/duration.ts';
import type { Span } from '../calendar/calendar.ts';
import type { DayCounts, Steps } from '../rows/day-counts.ts';
import type { DoorModel } from './door-model.ts';
import { continueEstimate, estimateFrom, START_OF_DAY } from './estimate.ts';
import type { DayHours, DoorFault, Estimate, EstimateState } from './estimate.ts';

/** What is known about the doors when a day starts. */
export interface DayDoors {
  readonly day: Span;
  readonly model: DoorModel;
  readonly hours: DayHours;
}

export interface TodayEstimate {
  /** Undefined while nobody can know. */
  readonly estimate: Estimate | undefined;
  readonly fault: DoorFault | undefined;
  /** The state before the newest minutes, from which the next poll goes on. */
  readonly settled: {
    readonly doors: DayDoors;
    readonly today: DayCounts;
    readonly state: EstimateState;
  };
}

const NO_STEPS: Steps = new Uint8Array();

/** Minutes that often change after a poll. */
const UNSETTLED_MINUTES = 20;

/**
 * Returns the estimate after the minutes that start before `endMs`. Where the older minutes are those of
 * the estimate `before`, it goes on from there: a whole day takes forty times as long.
 */
export function estimateToday(
  doors: DayDoors,
  today: DayCounts,
  endMs: number,
  before: TodayEstimate | undefined,
): TodayEstimate {
  const { model, hours } = doors;
  const endMinute = Math.ceil((endMs - doors.day.startMs) / MINUTE_MS);
  const settledBefore = before?.settled;
  const goesOn =
    settledBefore?.doors === doors &&
    settledBefore.state.minutes <= endMinute &&
    areEqualUntil(settledBefore.today, today, settledBefore.state.minutes);
  const settled = continueEstimate(
    model,
    goesOn ? settledBefore.state : START_OF_DAY,
    today,
    endMinute - UNSETTLED_MINUTES,
    hours,
  );
  const state = continueEstimate(model, settled, today, endMinute, hours);
  return {
    estimate: estimateFrom(model, state),
    fault: state.fault,
    settled: { doors, today, state: settled },
  };
}

function areEqualUntil(a: DayCounts, b: DayCounts, endMinute: number): boolean {
  const endMs = endMinute * MINUTE_MS;
  if (runningFromMs(a) < endMs || runningFromMs(b) < endMs) {
    return false;
  }
  const steps = Math.max(0, Math.ceil(endMs / a.stepMs) - a.first);
  return a.first === b.first && a.counts.every((_, i) => areEqual(a.counts[i], b.counts[i], steps));
}

/** Every poll compares a day: bytes are compared in a tenth of the time that a loop takes. */
function areEqual(a: Steps = NO_STEPS, b: Steps = NO_STEPS, steps: number): boolean {
  const length = Math.min(a.length, b.length, steps);
  function bytesOf({ buffer, byteOffset, BYTES_PER_ELEMENT }: Steps): Uint8Array {
    return new Uint8Array(buffer, byteOffset, length * BYTES_PER_ELEMENT);
  }
  const longer = a.length > b.length ? a : b;
  return (
    a.BYTES_PER_ELEMENT === b.BYTES_PER_ELEMENT &&
    Buffer.compare(bytesOf(a), bytesOf(b)) === 0 &&
    longer.subarray(length, Math.max(length, steps)).every((count) => count === 0)
  );
}

/** Returns the start of a running window, since the day's start; Infinity without one. */
function runningFromMs({ stepMs, lastStepEndMs, first, counts }: DayCounts): number {
  return lastStepEndMs === undefined ? Infinity : (first + (counts[0]?.length ?? 0) - 1) * stepMs;
}

/** Returns the hours of a day with these opening times. On a day without any it is closed from its start. */
export function hoursOf({ startMs, endMs }: Span, openSpans: readonly Span[]): DayHours {
  const openedMs = openSpans[0]?.startMs ?? startMs;
  const closedMs = openSpans.at(-1)?.endMs ?? startMs;
  return {
    openingMinute: (openedMs - startMs) / MINUTE_MS,
    closingMinute: closedMs === endMs ? Infinity : (closedMs - startMs) / MINUTE_MS,
  };
}
