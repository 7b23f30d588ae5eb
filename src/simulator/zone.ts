/**
 * A time zone as arithmetic on milliseconds, fast enough to be asked for every record. A wall clock
 * is written as milliseconds too: those that would show it on a clock that runs in UTC.
 */
import { Temporal } from 'temporal-polyfill';
import { DAY_MS } from './conventions.ts';

export interface Zone {
  readonly name: string;
  /** What the wall clock is ahead of UTC. */
  offsetMsAt(instantMs: number): number;
  /** The local date, as days since 1970-01-01. */
  dayOf(instantMs: number): number;
  /** The first instant of a local date. */
  dayStartMs(day: number): number;
  /** The instant of a wall clock: the earlier of two, and past the gap where there is none. */
  instantOf(wallMs: number): number;
}

/** A stretch of time with one offset. */
interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
  readonly offsetMs: number;
}

/** A function that gives the zone of an IANA name, always the same object for one name. */
export function createZones(): (name: string) => Zone {
  const zones = new Map<string, Zone>();
  return (name) => {
    const zone = zones.get(name) ?? createZone(name);
    zones.set(name, zone);
    return zone;
  };
}

function createZone(name: string): Zone {
  const stretches = new Map<number, readonly Stretch[]>();
  let last: Stretch = { fromMs: 0, toMs: 0, offsetMs: 0 };

  function offsetMsAt(instantMs: number): number {
    if (instantMs >= last.fromMs && instantMs < last.toMs) {
      return last.offsetMs;
    }
    const utcDay = Math.floor(instantMs / DAY_MS);
    const ofDay = stretches.get(utcDay) ?? stretchesOf(name, utcDay * DAY_MS);
    stretches.set(utcDay, ofDay);
    last = ofDay.find((stretch) => instantMs < stretch.toMs) ?? last;
    return last.offsetMs;
  }

  function instantOf(wallMs: number): number {
    const before = wallMs - offsetMsAt(wallMs - DAY_MS);
    const after = wallMs - offsetMsAt(wallMs + DAY_MS);
    const afterIsReal = after + offsetMsAt(after) === wallMs;
    const beforeIsReal = before + offsetMsAt(before) === wallMs;
    if (beforeIsReal && afterIsReal) {
      return Math.min(before, after);
    }
    return afterIsReal ? after : before;
  }

  return {
    name,
    offsetMsAt,
    dayOf: (instantMs) => Math.floor((instantMs + offsetMsAt(instantMs)) / DAY_MS),
    dayStartMs: (day) => instantOf(day * DAY_MS),
    instantOf,
  };
}

/** One stretch for a day of UTC, or two where the offset changes in it. */
function stretchesOf(name: string, fromMs: number): readonly Stretch[] {
  const toMs = fromMs + DAY_MS;
  const first = temporalOffsetMs(name, fromMs);
  const second = temporalOffsetMs(name, toMs - 1);
  if (first === second) {
    return [{ fromMs, toMs, offsetMs: first }];
  }
  let low = fromMs;
  let high = toMs - 1;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (temporalOffsetMs(name, middle) === first) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return [
    { fromMs, toMs: high, offsetMs: first },
    { fromMs: high, toMs, offsetMs: second },
  ];
}

function temporalOffsetMs(name: string, instantMs: number): number {
  const instant = Temporal.Instant.fromEpochMilliseconds(instantMs);
  return instant.toZonedDateTimeISO(name).offsetNanoseconds / 1e6;
}
