/** What the key of a minute may be, and which instant it stands for. Shares no code with src. */
import { instantOfWall, minuteMs } from '../local-time.ts';

export interface KeyReading {
  /** As the report says it. */
  readonly name: string;
  /** The instant of a key; NaN if it has another format. */
  readonly read: (key: string, zone: string) => number;
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

/** The likeliest first. */
export const KEY_READINGS: readonly KeyReading[] = [
  {
    name: 'ISO 8601 with Z or an offset',
    read: (key) =>
      /T?.*(?:Z|[+-]\d\d:?\d\d)$/.test(key) && /^\d{4}-/.test(key) ? Date.parse(key) : NaN,
  },
  {
    name: 'ISO 8601 in local time, without a zone',
    read: (key, zone) => instantOfLocal(naive(key), zone),
  },
  { name: 'ISO 8601 in UTC, without a zone', read: naive },
  {
    name: 'seconds since 1970',
    read: (key) => (/^\d{10}$/.test(key) ? Number(key) * 1_000 : NaN),
  },
  { name: 'milliseconds since 1970', read: (key) => (/^\d{13}$/.test(key) ? Number(key) : NaN) },
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
    const instants = keys.map((key) => read(key, zone));
    const inside = instants.filter((ms) => ms >= fromMs - minuteMs && ms <= toMs + minuteMs);
    return !instants.some((ms) => Number.isNaN(ms)) && inside.length * 2 >= keys.length;
  });
}
