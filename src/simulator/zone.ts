/**
 * Time zones as arithmetic on milliseconds, fast enough for every record. A local time is written as
 * the milliseconds at which a clock in UTC shows the same time.
 */
import { Temporal } from 'temporal-polyfill';
import { DAY_MS, MINUTE_MS } from './conventions.ts';

export interface Zone {
  readonly name: string;
  /** How far local time is ahead of UTC. */
  offsetMsAt(instantMs: number): number;
  /** The local date, as days since 1970-01-01. */
  dayOf(instantMs: number): number;
  /** The first instant of a local date. */
  dayStartMs(day: number): number;
  /** The instant of a local time: the earlier of two, or after the gap where clocks are set forward. */
  instantOf(wallMs: number): number;
}

/** The minute of the local day, from 0 to 1439. */
export function minuteOfDay(zone: Zone, instantMs: number): number {
  const minute = Math.floor((instantMs + zone.offsetMsAt(instantMs)) / MINUTE_MS);
  return ((minute % 1_440) + 1_440) % 1_440;
}

/** The weekday of a local date; Monday is 0. 1970-01-01 was a Thursday. */
export function weekdayOf(day: number): number {
  return (((day + 3) % 7) + 7) % 7;
}

/** A span of time with one offset. */
interface OffsetSpan {
  readonly fromMs: number;
  readonly toMs: number;
  readonly offsetMs: number;
}

/** A lookup of zones by IANA name, cached. */
export function createZones(): (name: string) => Zone {
  const zones = new Map<string, Zone>();
  return (name) => {
    const zone = zones.get(name) ?? createZone(name);
    zones.set(name, zone);
    return zone;
  };
}

function createZone(name: string): Zone {
  const spans = new Map<number, readonly OffsetSpan[]>();
  let last: OffsetSpan = { fromMs: 0, toMs: 0, offsetMs: 0 };

  function offsetMsAt(instantMs: number): number {
    if (instantMs >= last.fromMs && instantMs < last.toMs) {
      return last.offsetMs;
    }
    const utcDay = Math.floor(instantMs / DAY_MS);
    const ofDay = spans.get(utcDay) ?? offsetSpansOf(name, utcDay * DAY_MS);
    spans.set(utcDay, ofDay);
    last = ofDay.find((span) => instantMs < span.toMs) ?? last;
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

/** One span for a UTC day, or two if the offset changes in it. */
function offsetSpansOf(name: string, fromMs: number): readonly OffsetSpan[] {
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
