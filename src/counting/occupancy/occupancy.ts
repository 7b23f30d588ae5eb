/**
 * Today's minutes, and what depends on their order: occupancy and last seen (rule 9). The minutes of
 * a poll are today's minutes at the baseline, without those of `recentAtBaseline`, plus `recent`.
 */
import type { Row } from '../../base/model.ts';
import { contains, MINUTE_MS } from '../calendar/calendar.ts';
import type { Span } from '../calendar/calendar.ts';
import { at, isZero, plus } from '../rows/counts.ts';
import type { Counts } from '../rows/counts.ts';
import { keyParser } from '../rows/key-format.ts';
import type { KeyFormatState, KeySample } from '../rows/key-format.ts';
import type { Zone } from '../calendar/zone.ts';

export interface CountedMinute {
  readonly startMs: number;
  readonly counts: Counts;
}

/** Sorted, each minute once, without minutes that counted nobody. */
export type Minutes = readonly CountedMinute[];

/** Minutes as numbers: how many minutes after the one before, its counts, the next minute likewise… */
export interface PackedMinutes {
  /** Of the last minute. */
  readonly startMs: number;
  readonly counterCount: number;
  readonly values: Uint8Array | Int16Array | Float64Array;
}

/**
 * Minutes that are kept until the next baseline. As objects, those of 10,000 customers would take
 * 1 GB, as numbers of one byte 20 MB.
 */
export function packMinutes(minutes: Minutes): PackedMinutes {
  const values = minutes.flatMap(({ startMs, counts }, i) => [
    (startMs - (minutes[i - 1]?.startMs ?? startMs)) / MINUTE_MS,
    ...counts,
  ]);
  const small = [Uint8Array.from(values), Int16Array.from(values)];
  return {
    startMs: minutes.at(-1)?.startMs ?? 0,
    counterCount: minutes[0]?.counts.length ?? 0,
    values:
      small.find((packed) => values.every((value, i) => value === packed[i])) ??
      Float64Array.from(values),
  };
}

/** The minutes that start at `fromMs` or later. */
export function unpackMinutes(
  { startMs: lastMs, counterCount, values }: PackedMinutes,
  fromMs: number,
): Minutes {
  const minutes: CountedMinute[] = [];
  let startMs = lastMs;
  for (let end = values.length; end > 0 && startMs >= fromMs; end -= 1 + counterCount) {
    const [minutesAfter = 0, ...counts] = values.subarray(end - 1 - counterCount, end);
    minutes.push({ startMs, counts });
    startMs -= minutesAfter * MINUTE_MS;
  }
  return minutes.reverse();
}

/** The start of a row's minute; undefined if its key cannot be parsed. */
export type ParseRow = (row: Row) => number | undefined;

/** Undefined if a key cannot be parsed. Rows of one minute are added up. */
export function minutesOf(rows: readonly Row[], parse: ParseRow): Minutes | undefined {
  const found: CountedMinute[] = [];
  for (const row of rows) {
    const startMs = parse(row);
    if (startMs === undefined) {
      return undefined;
    }
    if (!isZero(row.counts)) {
      found.push({ startMs, counts: row.counts });
    }
  }
  return sumMinutes(found);
}

export function addMinutes(a: Minutes, b: Minutes): Minutes {
  return b.length === 0 ? a : sumMinutes([...a, ...b]);
}

export function subtractMinutes(a: Minutes, b: Minutes): Minutes {
  const negative = b.map(({ startMs, counts }) => ({
    startMs,
    counts: counts.map((count) => 0 - count),
  }));
  return addMinutes(a, negative);
}

function sumMinutes(minutes: readonly CountedMinute[]): Minutes {
  // As they usually come, which saves a sort and two copies.
  if (minutes.every(({ startMs }, i) => startMs > (minutes[i - 1]?.startMs ?? -Infinity))) {
    return minutes;
  }
  const sorted = minutes.toSorted((a, b) => a.startMs - b.startMs);
  const sums: CountedMinute[] = [];
  for (const minute of sorted) {
    const last = sums.at(-1);
    if (last?.startMs === minute.startMs) {
      sums[sums.length - 1] = { ...last, counts: plus(last.counts, minute.counts) };
    } else {
      sums.push(minute);
    }
  }
  return sums.filter(({ counts }) => !isZero(counts));
}

/** The distance of two samples of a day. */
export const SAMPLE_MS = 15 * MINUTE_MS;
/** 26 hours. Minutes after the longest possible day are in the last sample. */
const MAX_SAMPLES = 104;

/** What the minutes of a day show up to one of them. Immutable; continue with {@link continueDay}. */
export interface DayState {
  /** People inside at the end of each quarter of an hour before the last minute; of people only. */
  readonly samples: readonly number[];
  /** People inside after the last minute. */
  readonly inside: number;
  /** Start of the newest minute that counted anybody. */
  readonly lastSeenMs: number | undefined;
  /** Sums of the minutes before the day. */
  readonly sumsBefore: Counts;
}

export const NO_MINUTES: DayState = {
  samples: [],
  inside: 0,
  lastSeenMs: undefined,
  sumsBefore: [],
};

/**
 * Adds later minutes; those after the span are left out. Occupancy is clamped at 0 in each minute:
 * after a missed entry, an exit is ignored and does not lower the rest of the day.
 */
export function continueDay(before: DayState, minutes: Minutes, day: Span): DayState {
  let { samples, inside, lastSeenMs, sumsBefore } = before;
  for (const { startMs, counts } of minutes) {
    if (startMs < day.startMs) {
      sumsBefore = plus(counts, sumsBefore);
    } else if (startMs < day.endMs) {
      if (counts.length > 1) {
        samples = addSamples(samples, inside, startMs - day.startMs);
      }
      inside = nextOccupancy(inside, at(counts, 0), at(counts, 1));
      lastSeenMs = counts.some((count) => count > 0) ? startMs : lastSeenMs;
    }
  }
  return { samples, inside, lastSeenMs, sumsBefore };
}

/** People inside at the end of each quarter of an hour of the span, and at its end. */
export function occupancyUntil(
  { samples, inside }: Pick<DayState, 'samples' | 'inside'>,
  { startMs, endMs }: Span,
): number[] {
  return [...addSamples(samples, inside, endMs - startMs), inside];
}

/** The same array if no quarter has ended: of most polls, which then share one. */
function addSamples(
  samples: readonly number[],
  inside: number,
  elapsedMs: number,
): readonly number[] {
  const ended = Math.min(Math.floor(elapsedMs / SAMPLE_MS), MAX_SAMPLES - 1);
  const missing = Math.max(0, ended - samples.length);
  return missing === 0 ? samples : samples.concat(Array.from({ length: missing }, () => inside));
}

/** People inside after a minute. */
export function nextOccupancy(inside: number, entered: number, exited: number): number {
  return Math.max(0, inside + Math.max(0, entered) - Math.max(0, exited));
}

/** Start of the newest minute of a span that counted anybody. */
export function lastSeenIn(minutes: Minutes, span: Span): number | undefined {
  return minutes.findLast(
    ({ startMs, counts }) => contains(span, startMs) && counts.some((count) => count > 0),
  )?.startMs;
}

/** Undefined if a key cannot be parsed. */
export function minutesOfSamples(
  samples: readonly KeySample[],
  keyFormat: KeyFormatState,
  zone: Zone,
): Minutes | undefined {
  const all: CountedMinute[] = [];
  for (const { rows, window } of samples) {
    const parse = keyParser(keyFormat, window, zone);
    // Windows may include both of their edges: a minute between two chunks counts once.
    const own = samples.length === 1 ? rows : rows.filter((row) => isOwn(window, parse(row)));
    const minutes = minutesOf(own, parse);
    if (minutes === undefined) {
      return undefined;
    }
    all.push(...minutes);
  }
  return sumMinutes(all);
}

/** Rows whose key cannot be parsed are kept, so that they are noticed. */
function isOwn(window: Span, instantMs: number | undefined): boolean {
  return instantMs === undefined || contains(window, instantMs);
}
