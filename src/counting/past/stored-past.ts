/** The past of a stream as it is stored: a cache, which saves reading 28 days after a restart and changes no value. */
import { HOUR_MS } from '../../base/duration.ts';
import { COUNTERS } from '../../base/model.ts';
import type { MinuteStream } from '../../base/model.ts';
import type { Calendar } from '../calendar/calendar.ts';
import { HISTORY_DAYS, QUARTER_MS, QUARTERS_PER_DAY } from '../occupancy/door-model.ts';
import { countOf } from '../rows/counts.ts';
import { weekdayOf } from '../rows/day-counts.ts';
import type { Steps } from '../rows/day-counts.ts';
import type { Comparison, Past } from './past.ts';

/** Returns a past for JSON; its counts are base64 of bytes, or of numbers of two or eight bytes. */
export function serializePast({ zone }: Calendar, past: Past): Readonly<Record<string, unknown>> {
  const { today, days, windowMs, lastSeenMs, comparison, first, length, counts } = past;
  const { buffer, byteOffset, byteLength, BYTES_PER_ELEMENT } = counts;
  return {
    zone: zone.name,
    end_ms: today.endMs,
    days,
    window_ms: windowMs,
    last_seen_ms: lastSeenMs.map((atMs) => atMs ?? null),
    compared_ms: comparison.dayMs,
    differing: comparison.differing,
    first,
    length,
    bytes_per_count: BYTES_PER_ELEMENT,
    counts: Buffer.from(buffer, byteOffset, byteLength).toString('base64'),
  };
}

/** Returns a past from parsed JSON; undefined if it is invalid, or of another time zone or day start. */
export function restorePast(
  calendar: Calendar,
  stream: MinuteStream,
  startMs: number,
  stored: unknown,
): Past | undefined {
  const value = membersOf(stored);
  const { zone, end_ms: endMs, days, window_ms: windowMs, first, length } = value;
  const { last_seen_ms: lastSeen } = value;
  const today = calendar.dayAt(startMs);
  const counters = COUNTERS[stream].length;
  const counts = stepsOf(value['counts'], value['bytes_per_count']);
  const comparison = comparisonOf(value, counters);
  if (
    zone !== calendar.zone.name ||
    startMs !== today.startMs ||
    endMs !== today.endMs ||
    !isCount(days) ||
    days > HISTORY_DAYS ||
    (windowMs !== QUARTER_MS && windowMs !== HOUR_MS) ||
    !isCount(first) ||
    !isCount(length) ||
    first + length > QUARTERS_PER_DAY ||
    counts?.length !== days * counters * length ||
    !areNumbers(lastSeen, counters) ||
    comparison === undefined
  ) {
    return undefined;
  }
  const sums = COUNTERS[stream].map(() => 0);
  // A plain loop: at a start, there are those of 20,000 branches.
  for (let i = 0; i < counts.length; i += 1) {
    const counter = Math.floor(i / length) % counters;
    sums[counter] = countOf(sums, counter) + countOf(counts, i) / (windowMs / QUARTER_MS);
  }
  return {
    today,
    weekday: weekdayOf(calendar, today),
    days,
    windowMs,
    sums,
    lastSeenMs: lastSeen.map((atMs) => atMs ?? undefined),
    comparison,
    first,
    length,
    counts,
  };
}

function comparisonOf(
  { compared_ms: dayMs, differing }: Readonly<Record<string, unknown>>,
  counters: number,
): Comparison | undefined {
  const isValid =
    Number.isSafeInteger(dayMs) &&
    Array.isArray(differing) &&
    differing.every(
      (one) => Array.isArray(one) && Number.isSafeInteger(one[0]) && areNumbers(one[1], counters),
    );
  return isValid ? ({ dayMs, differing } as Comparison) : undefined;
}

function stepsOf(text: unknown, bytesPerCount: unknown): Steps | undefined {
  const Type = [Uint8Array, Int16Array, Float64Array].find(
    ({ BYTES_PER_ELEMENT }) => BYTES_PER_ELEMENT === bytesPerCount,
  );
  if (typeof text !== 'string' || Type === undefined) {
    return undefined;
  }
  const bytes = new Uint8Array(Buffer.from(text, 'base64'));
  if (bytes.length % Type.BYTES_PER_ELEMENT !== 0) {
    return undefined;
  }
  const counts = new Type(bytes.buffer);
  const isValid = counts instanceof Uint8Array || counts.every((count: number) => count >= 0);
  return isValid ? counts : undefined;
}

/** Returns what was stored as JSON; an object without members if it is none. */
export function parseStored(content: string): Readonly<Record<string, unknown>> {
  try {
    return membersOf(JSON.parse(content));
  } catch {
    return {};
  }
}

function areNumbers(value: unknown, length: number): value is readonly (number | null)[] {
  return (
    Array.isArray(value) &&
    value.length === length &&
    value.every((number) => number === null || Number.isSafeInteger(number))
  );
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return Object(value) as Readonly<Record<string, unknown>>;
}
