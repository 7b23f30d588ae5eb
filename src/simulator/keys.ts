/** Time buckets of an aggregation and their keys, as JSON. */
import { DAY_MS, MINUTE_MS, SECOND_MS } from './conventions.ts';
import type { Conventions, KeyType, MinuteKey } from './conventions.ts';
import { createIsoWriter, dateText } from './iso.ts';
import { minuteOfDay } from './zone.ts';
import type { Zone } from './zone.ts';

export type TimeAggregation = 'minute' | 'quarter' | 'day';

/** Buckets are numbered in the order of time. */
export interface Buckets {
  bucketOf(instantMs: number): number;
  startMs(bucket: number): number;
  /** The key as JSON; `firstBucket` is the bucket in which the requested window starts. */
  key(bucket: number, firstBucket: number): string;
}

const QUARTER_HOUR_MS = 15 * MINUTE_MS;

export function createBuckets(
  aggregation: TimeAggregation,
  conventions: Conventions,
  zone: Zone,
  utc: Zone,
): Buckets {
  const dayZone = conventions.dayZone === 'utc' ? utc : zone;
  const { minuteKey, quarterKey, dayKey } = conventions;
  const startKey = createMinuteWriter(minuteKey, zone, utc);
  function dateKey(dayNumber: number, compact: boolean): string {
    const date = dateText(dayNumber);
    return compact ? date.replaceAll('-', '') : `"${date}"`;
  }
  /** Formats of minute keys without a date cannot be used for days. */
  function longKey(dayNumber: number): string {
    const dated = minuteKey.form !== 'minute-of-day' && minuteKey.form !== 'clock';
    return dated && minuteKey.form !== 'index'
      ? startKey(dayZone.dayStartMs(dayNumber))
      : dateKey(dayNumber, false);
  }
  function ofDay(dayNumber: number, firstBucket: number): string {
    switch (dayKey) {
      case 'start':
        return longKey(dayNumber);
      case 'date':
      case 'compact':
        return dateKey(dayNumber, dayKey === 'compact');
      case 'index':
        return String(dayNumber - firstBucket);
    }
  }
  if (aggregation === 'minute') {
    return {
      ...fixedBuckets(MINUTE_MS),
      key: (bucket, firstBucket) =>
        minuteKey.form === 'index'
          ? typed(bucket - firstBucket, minuteKey.type)
          : startKey(bucket * MINUTE_MS),
    };
  }
  if (aggregation === 'day') {
    return {
      bucketOf: (instantMs) => dayZone.dayOf(instantMs),
      startMs: (bucket) => dayZone.dayStartMs(bucket),
      key: ofDay,
    };
  }
  if (conventions.quarter === '15 minutes') {
    return {
      ...fixedBuckets(QUARTER_HOUR_MS),
      key: (bucket, firstBucket) => {
        if (quarterKey === 'index' || minuteKey.form === 'index') {
          return String(bucket - firstBucket);
        }
        return quarterKey === 'label'
          ? String(Math.floor(minuteOfDay(dayZone, bucket * QUARTER_HOUR_MS) / 15))
          : startKey(bucket * QUARTER_HOUR_MS);
      },
    };
  }
  return {
    bucketOf: (instantMs) => quarterOfYear(dayZone.dayOf(instantMs)),
    startMs: (bucket) => dayZone.dayStartMs(firstDayOfQuarter(bucket)),
    key: (bucket, firstBucket) => {
      if (quarterKey === 'index') {
        return String(bucket - firstBucket);
      }
      return quarterKey === 'label'
        ? `"${Math.floor(bucket / 4)}-Q${(bucket % 4) + 1}"`
        : longKey(firstDayOfQuarter(bucket));
    },
  };
}

/** The number of the three months that a date is in. */
function quarterOfYear(dayNumber: number): number {
  const date = new Date(dayNumber * DAY_MS);
  return date.getUTCFullYear() * 4 + Math.floor(date.getUTCMonth() / 3);
}

function firstDayOfQuarter(bucket: number): number {
  return Date.UTC(Math.floor(bucket / 4), (bucket % 4) * 3, 1) / DAY_MS;
}

function fixedBuckets(lengthMs: number): Pick<Buckets, 'bucketOf' | 'startMs'> {
  return {
    bucketOf: (instantMs) => Math.floor(instantMs / lengthMs),
    startMs: (bucket) => bucket * lengthMs,
  };
}

/** A function that writes the key of the minute that starts at an instant, as JSON. */
function createMinuteWriter(form: MinuteKey, zone: Zone, utc: Zone): (instantMs: number) => string {
  const keyZone = 'zone' in form && form.zone === 'utc' ? utc : zone;
  const write = createIsoWriter(
    keyZone,
    form.form === 'iso' ? form.designator : 'none',
    form.form === 'iso' ? form.precision : 'minute',
  );
  switch (form.form) {
    case 'iso':
      return (instantMs) => `"${write(instantMs)}"`;
    case 'epoch': {
      const unitMs = { ms: 1, s: SECOND_MS, min: MINUTE_MS }[form.unit];
      return (instantMs) => typed(instantMs / unitMs, form.type);
    }
    case 'compact':
      return (instantMs) => {
        const text = write(instantMs).replaceAll(/[-T:]/g, '');
        return form.type === 'string' ? `"${text}"` : text;
      };
    case 'minute-of-day':
      return (instantMs) => typed(minuteOfDay(keyZone, instantMs), form.type);
    case 'clock':
      return (instantMs) => `"${write(instantMs).slice(11)}"`;
    case 'index':
      return (instantMs) => typed(instantMs / MINUTE_MS, form.type);
  }
}

function typed(value: number, type: KeyType): string {
  return type === 'string' ? `"${value}"` : String(value);
}
