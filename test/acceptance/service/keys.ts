/** What the key of a minute may be, and which instant it stands for. Shares no code with src. */
import { dayMs, instantOfWall, minuteMs, wallMs } from '../local-time.ts';

export interface KeyReading {
  /** As the report says it. */
  readonly name: string;
  /** The instant of a key, for the window that starts at `fromMs`; NaN if it has another format. */
  readonly read: (key: string, fromMs: number, zone: string) => number;
}

const NAIVE = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(?::\d\d(?:\.\d+)?)?$/;

function naive(key: string): number {
  const [, date, time] = NAIVE.exec(key) ?? [];
  return date === undefined ? NaN : Date.parse(`${date}T${time}Z`);
}

/** The instant of a local time; NaN for what is no time. */
export function instantOfLocal(wall: number, zone: string): number {
  return Number.isNaN(wall) ? NaN : instantOfWall(wall, zone);
}

function compact(key: string): number {
  return /^\d{12}$/.test(key)
    ? naive(key.replace(/(....)(..)(..)(..)(..)/, '$1-$2-$3T$4:$5'))
    : NaN;
}

function minuteOfClock(key: string): number {
  const [, hour, minute] = /^(\d\d):(\d\d)(?::\d\d)?$/.exec(key) ?? [];
  return Number(hour) * 60 + Number(minute);
}

function minuteOfDay(key: string): number {
  return /^\d{1,4}$/.test(key) ? Number(key) : NaN;
}

/** The first instant after the window's start at which a clock shows this minute of the day. */
function nextAt(minute: number, fromMs: number, zone: string): number {
  if (!(minute >= 0 && minute < 1_440)) {
    return NaN;
  }
  const startWall = Math.floor(wallMs(fromMs, zone) / minuteMs) * minuteMs;
  const wall = Math.floor(startWall / dayMs) * dayMs + minute * minuteMs;
  return instantOfWall(wall < startWall ? wall + dayMs : wall, zone);
}

/** The likeliest first. */
export const KEY_READINGS: readonly KeyReading[] = [
  {
    name: 'ISO 8601 with Z or an offset',
    read: (key) =>
      /T?.*(?:Z|[+-]\d\d:?\d\d)$/.test(key) && /^\d{4}-/.test(key) ? Date.parse(key) : NaN,
  },
  {
    name: 'ISO 8601 in local time, without a zone',
    read: (key, _, zone) => instantOfLocal(naive(key), zone),
  },
  { name: 'ISO 8601 in UTC, without a zone', read: naive },
  {
    name: 'yyyyMMddHHmm in local time',
    read: (key, _, zone) => instantOfLocal(compact(key), zone),
  },
  { name: 'yyyyMMddHHmm in UTC', read: compact },
  {
    name: 'seconds since 1970',
    read: (key) => (/^\d{10}$/.test(key) ? Number(key) * 1_000 : NaN),
  },
  { name: 'milliseconds since 1970', read: (key) => (/^\d{13}$/.test(key) ? Number(key) : NaN) },
  {
    name: 'minutes since 1970',
    read: (key) => (/^\d{8}$/.test(key) ? Number(key) * minuteMs : NaN),
  },
  {
    name: 'time of day in local time',
    read: (key, fromMs, zone) => nextAt(minuteOfClock(key), fromMs, zone),
  },
  {
    name: 'time of day in UTC',
    read: (key, fromMs) => nextAt(minuteOfClock(key), fromMs, 'UTC'),
  },
  {
    name: 'minute of the day in local time',
    read: (key, fromMs, zone) => nextAt(minuteOfDay(key), fromMs, zone),
  },
  {
    name: 'minute of the day in UTC',
    read: (key, fromMs) => nextAt(minuteOfDay(key), fromMs, 'UTC'),
  },
  {
    name: 'number of the minute in the window',
    read: (key, fromMs) => fromMs + minuteOfDay(key) * minuteMs,
  },
];

/**
 * Returns the readings that know every key, and by which at least half of them are in the window or a minute
 * beside it: a late record and one of a wrong clock are in the window by another of their times.
 */
export function fittingReadings(
  readings: readonly KeyReading[],
  keys: readonly string[],
  window: readonly [fromMs: number, toMs: number],
  zone: string,
): readonly KeyReading[] {
  const [fromMs, toMs] = window;
  return readings.filter(({ read }) => {
    const instants = keys.map((key) => read(key, fromMs, zone));
    const inside = instants.filter((ms) => ms >= fromMs - minuteMs && ms <= toMs + minuteMs);
    return !instants.some((ms) => Number.isNaN(ms)) && inside.length * 2 >= keys.length;
  });
}
