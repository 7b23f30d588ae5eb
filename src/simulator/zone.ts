/**
 * Time zones as arithmetic on milliseconds, fast enough for every record. A local time is written as
 * the milliseconds at which a clock in UTC shows the same time.
 */
import { Temporal } from 'temporal-polyfill';
import { DAY_MS, MINUTE_MS } from '../base/duration.ts';

export type Zone = ReturnType<typeof createZone>;

/** The time between two changes of the offset. */
interface OffsetSpan {
  readonly fromMs: number;
  readonly toMs: number;
  readonly offsetMs: number;
}

/** Returns a lookup of zones by IANA name, cached. It throws a RangeError for an unknown name. */
export function createZones(): (name: string) => Zone {
  const zones = new Map<string, Zone>();
  return (name) => {
    const zone = zones.get(name) ?? createZone(name);
    zones.set(name, zone);
    return zone;
  };
}

function createZone(name: string) {
  const spans: OffsetSpan[] = [];

  /** How far local time is ahead of UTC. */
  function offsetMsAt(instantMs: number): number {
    let span = spans.find(({ fromMs, toMs }) => instantMs >= fromMs && instantMs < toMs);
    if (span === undefined) {
      span = offsetSpanAt(name, Math.floor(instantMs));
      spans.push(span);
    }
    return span.offsetMs;
  }

  /** The instant of a local time: the earlier of two, or after the gap where clocks are set forward. */
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

  let lastDate = { day: NaN, text: '' };

  return {
    offsetMsAt,
    /** A local date such as `2026-03-18`; fast if it is that of the last call. */
    dateText(day: number): string {
      lastDate = lastDate.day === day ? lastDate : { day, text: dateText(day) };
      return lastDate.text;
    },
    /** The local date, as days since 1970-01-01. */
    dayOf: (instantMs: number) => Math.floor((instantMs + offsetMsAt(instantMs)) / DAY_MS),
    /** The first instant of a local date. */
    dayStartMs: (day: number) => instantOf(day * DAY_MS),
    instantOf,
  };
}

function offsetSpanAt(name: string, instantMs: number): OffsetSpan {
  const local = Temporal.Instant.fromEpochMilliseconds(instantMs).toZonedDateTimeISO(name);
  // `previous` excludes its own instant.
  const previous = local.add({ milliseconds: 1 }).getTimeZoneTransition('previous');
  const next = local.getTimeZoneTransition('next');
  return {
    fromMs: previous?.epochMilliseconds ?? -Infinity,
    toMs: next?.epochMilliseconds ?? Infinity,
    offsetMs: local.offsetNanoseconds / 1e6,
  };
}

/** Returns the minute of the local day, from 0 to 1439. */
export function minuteOfDay(zone: Zone, instantMs: number): number {
  return Math.floor((instantMs + zone.offsetMsAt(instantMs)) / MINUTE_MS) % 1_440;
}

/** Returns the weekday of a local date after 1970; Monday is 0. 1970-01-01 was a Thursday. */
export function weekdayOf(day: number): number {
  return (day + 3) % 7;
}

const PRECISION_LENGTH = { minute: 16, second: 19, fraction: 23 } as const;

/** Writes an instant in ISO 8601 with the zone's offset, with `Z` (the time is in UTC), or without either. */
export function isoText(
  zone: Zone,
  designator: 'offset' | 'Z' | 'none',
  precision: keyof typeof PRECISION_LENGTH,
  instantMs: number,
): string {
  const offsetMs = designator === 'Z' ? 0 : zone.offsetMsAt(instantMs);
  const text = wallText(zone, instantMs + offsetMs, PRECISION_LENGTH[precision]);
  if (designator !== 'offset') {
    return designator === 'Z' ? `${text}Z` : text;
  }
  return `${text}${offsetMs < 0 ? '-' : '+'}${clockText(Math.floor(Math.abs(offsetMs) / MINUTE_MS))}`;
}

/** Returns a local date such as `2026-03-18`. */
export function dateText(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

/** Returns the first 16 or more characters of a local time such as `2026-03-18T12:34:56.789`. */
function wallText(zone: Zone, wallMs: number, length: number): string {
  const day = Math.floor(wallMs / DAY_MS);
  const minute = Math.floor(wallMs / MINUTE_MS);
  const text = `${zone.dateText(day)}T${clockText(minute - day * 1_440)}`;
  if (length === PRECISION_LENGTH.minute) {
    return text;
  }
  const ofMinute = Math.floor(wallMs) - minute * MINUTE_MS;
  const rest = ofMinute === 0 ? ':00.000' : new Date(ofMinute).toISOString().slice(16, 23);
  return text + rest.slice(0, length - text.length);
}

function clockText(minute: number): string {
  const ofHour = minute % 60;
  const hour = (minute - ofHour) / 60;
  return `${hour < 10 ? '0' : ''}${hour}:${ofHour < 10 ? '0' : ''}${ofHour}`;
}
