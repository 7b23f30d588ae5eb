/** Time buckets of an aggregation and their keys, as JSON. */
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../base/duration.ts';
import type { Conventions, KeyType } from './conventions.ts';
import { dateText, isoText, minuteOfDay } from './zone.ts';
import type { Zone } from './zone.ts';

export type TimeAggregation = 'minute' | 'quarter' | 'day';

/** Buckets are numbered in the order of time. */
export interface Buckets {
  bucketOf(instantMs: number): number;
  startMs(bucket: number): number;
  /** Returns the key as JSON; `firstBucket` is the bucket in which the requested window starts. */
  key(bucket: number, firstBucket: number): string;
}

/** More than the minutes of two months. */
const MAX_TEXTS = 100_000;

/** Returns the buckets of an aggregation and how their keys are written. */
export function createBuckets(
  aggregation: TimeAggregation,
  conventions: Conventions,
  zone: Zone,
  utc: Zone,
): Buckets {
  const { quarterKey, dayKey, quarter } = conventions;
  const dayZone = conventions.dayZone === 'utc' ? utc : zone;

  /** Where minutes without counts are listed, the same keys are written again and again. */
  const texts = conventions.emptyBuckets === 'listed' ? new Map<number, string>() : undefined;

  function minuteText(instantMs: number): string {
    // Small integers are faster keys.
    const minute = instantMs / MINUTE_MS;
    const kept = texts?.get(minute);
    if (kept !== undefined) {
      return kept;
    }
    const text = minuteKeyText(conventions, zone, utc, instantMs);
    if (texts !== undefined && texts.size >= MAX_TEXTS) {
      texts.clear();
    }
    texts?.set(minute, text);
    return text;
  }
  function dayStartText(day: number): string {
    return minuteText(dayZone.dayStartMs(day));
  }

  if (aggregation === 'day') {
    const keys = {
      start: dayStartText,
      date: (day: number) => `"${dateText(day)}"`,
      compact: (day: number) => dateText(day).replaceAll('-', ''),
      index: indexKey,
    };
    return {
      bucketOf: (instantMs) => dayZone.dayOf(instantMs),
      startMs: (day) => dayZone.dayStartMs(day),
      key: keys[dayKey],
    };
  }
  if (aggregation === 'quarter' && quarter === '3 months') {
    const keys = {
      start: (bucket: number) => dayStartText(firstDayOfQuarter(bucket)),
      label: (bucket: number) => `"${Math.floor(bucket / 4)}-Q${(bucket % 4) + 1}"`,
      index: indexKey,
    };
    return {
      bucketOf: (instantMs) => quarterOfYear(dayZone.dayOf(instantMs)),
      startMs: (bucket) => dayZone.dayStartMs(firstDayOfQuarter(bucket)),
      key: keys[quarterKey],
    };
  }
  const isMinute = aggregation === 'minute';
  const lengthMs = isMinute ? MINUTE_MS : 15 * MINUTE_MS;
  const keys = {
    start: (bucket: number) => minuteText(bucket * lengthMs),
    label: (bucket: number) => String(Math.floor(minuteOfDay(dayZone, bucket * lengthMs) / 15)),
    index: indexKey,
  };
  return {
    bucketOf: (instantMs) => Math.floor(instantMs / lengthMs),
    startMs: (bucket) => bucket * lengthMs,
    key: keys[isMinute ? 'start' : quarterKey],
  };
}

/** Returns the number of the bucket in the window. */
function indexKey(bucket: number, firstBucket: number): string {
  return String(bucket - firstBucket);
}

/** Returns the number of the three months that a date is in. */
function quarterOfYear(day: number): number {
  const date = new Date(day * DAY_MS);
  return date.getUTCFullYear() * 4 + Math.floor(date.getUTCMonth() / 3);
}

function firstDayOfQuarter(bucket: number): number {
  return Date.UTC(Math.floor(bucket / 4), (bucket % 4) * 3, 1) / DAY_MS;
}

/** Returns the key of the minute that starts at an instant, as JSON. */
function minuteKeyText(
  { minuteKey }: Conventions,
  zone: Zone,
  utc: Zone,
  instantMs: number,
): string {
  switch (minuteKey.form) {
    case 'iso': {
      const keyZone = minuteKey.zone === 'utc' ? utc : zone;
      const text = isoText(keyZone, minuteKey.designator, minuteKey.precision, instantMs);
      return `"${text.replace('T', minuteKey.separator)}"`;
    }
    case 'epoch':
      return literal(instantMs / { ms: 1, s: SECOND_MS }[minuteKey.unit], minuteKey.type);
    case 'opaque':
      return `"bucket ${(instantMs / MINUTE_MS).toString(36)}"`;
  }
}

function literal(value: number, type: KeyType): string {
  return type === 'string' ? `"${value}"` : String(value);
}
