/** Time buckets of an aggregation and their keys, as JSON. */
import { DAY_MS, MINUTE_MS, SECOND_MS } from './conventions.ts';
import type { Conventions, KeyType } from './conventions.ts';
import { isoText, minuteOfDay, wallText } from './zone.ts';
import type { Zone } from './zone.ts';

export type TimeAggregation = 'minute' | 'quarter' | 'day';

/** Buckets are numbered in the order of time. */
export interface Buckets {
  bucketOf(instantMs: number): number;
  startMs(bucket: number): number;
  /** The key as JSON; `firstBucket` is the bucket in which the requested window starts. */
  key(bucket: number, firstBucket: number): string;
}

export function createBuckets(
  aggregation: TimeAggregation,
  conventions: Conventions,
  zone: Zone,
  utc: Zone,
): Buckets {
  const { minuteKey, quarterKey, dayKey } = conventions;
  const dayZone = conventions.dayZone === 'utc' ? utc : zone;
  const writeStart = minuteWriter(conventions, zone, utc);
  /** Minute keys without a date cannot be used for days. */
  function dayStartKey(day: number): string {
    return ['minute-of-day', 'clock', 'index'].includes(minuteKey.form)
      ? `"${dateText(day)}"`
      : writeStart(dayZone.dayStartMs(day));
  }
  if (aggregation === 'day') {
    return {
      bucketOf: (instantMs) => dayZone.dayOf(instantMs),
      startMs: (bucket) => dayZone.dayStartMs(bucket),
      key(bucket, firstBucket) {
        switch (dayKey) {
          case 'start':
            return dayStartKey(bucket);
          case 'date':
            return `"${dateText(bucket)}"`;
          case 'compact':
            return dateText(bucket).replaceAll('-', '');
          case 'index':
            return String(bucket - firstBucket);
        }
      },
    };
  }
  if (aggregation === 'quarter' && conventions.quarter === '3 months') {
    return {
      bucketOf: (instantMs) => quarterOfYear(dayZone.dayOf(instantMs)),
      startMs: (bucket) => dayZone.dayStartMs(firstDayOfQuarter(bucket)),
      key: (bucket, firstBucket) =>
        ({
          index: () => String(bucket - firstBucket),
          label: () => `"${Math.floor(bucket / 4)}-Q${(bucket % 4) + 1}"`,
          start: () => dayStartKey(firstDayOfQuarter(bucket)),
        })[quarterKey](),
    };
  }
  const lengthMs = aggregation === 'minute' ? MINUTE_MS : 15 * MINUTE_MS;
  return {
    bucketOf: (instantMs) => Math.floor(instantMs / lengthMs),
    startMs: (bucket) => bucket * lengthMs,
    key(bucket, firstBucket) {
      if (aggregation === 'minute' && minuteKey.form === 'index') {
        return typed(bucket - firstBucket, minuteKey.type);
      }
      if (aggregation === 'quarter' && (quarterKey === 'index' || minuteKey.form === 'index')) {
        return String(bucket - firstBucket);
      }
      return aggregation === 'quarter' && quarterKey === 'label'
        ? String(Math.floor(minuteOfDay(dayZone, bucket * lengthMs) / 15))
        : writeStart(bucket * lengthMs);
    },
  };
}

/** The number of the three months that a date is in. */
function quarterOfYear(day: number): number {
  const date = new Date(day * DAY_MS);
  return date.getUTCFullYear() * 4 + Math.floor(date.getUTCMonth() / 3);
}

function firstDayOfQuarter(bucket: number): number {
  return Date.UTC(Math.floor(bucket / 4), (bucket % 4) * 3, 1) / DAY_MS;
}

function dateText(day: number): string {
  return wallText(day * DAY_MS, 10);
}

/** A function that writes the key of the minute that starts at an instant, as JSON. */
function minuteWriter(
  { minuteKey }: Conventions,
  zone: Zone,
  utc: Zone,
): (instantMs: number) => string {
  const keyZone = 'zone' in minuteKey && minuteKey.zone === 'utc' ? utc : zone;
  return (instantMs) => {
    switch (minuteKey.form) {
      case 'iso':
        return `"${isoText(keyZone, minuteKey.designator, minuteKey.precision, instantMs)}"`;
      case 'epoch': {
        const unitMs = { ms: 1, s: SECOND_MS, min: MINUTE_MS }[minuteKey.unit];
        return typed(instantMs / unitMs, minuteKey.type);
      }
      case 'compact': {
        const text = isoText(keyZone, 'none', 'minute', instantMs);
        return typed(text.replaceAll(/[-T:]/g, ''), minuteKey.type);
      }
      case 'minute-of-day':
        return typed(minuteOfDay(keyZone, instantMs), minuteKey.type);
      case 'clock':
        return `"${isoText(keyZone, 'none', 'minute', instantMs).slice(11)}"`;
      case 'index':
        throw new Error('an index depends on the window');
    }
  };
}

function typed(value: number | string, type: KeyType): string {
  return type === 'string' ? `"${value}"` : String(value);
}
