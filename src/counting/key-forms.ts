/** The forms of a key: how it is written, whatever the zone that it is of. */
import type { Key } from '../base/nouns.ts';
import { MINUTE_MS } from './calendar.ts';
import type { Span } from './calendar.ts';

export type KeyForm =
  | 'iso'
  | 'compact'
  | 'epoch_milliseconds'
  | 'epoch_seconds'
  | 'epoch_minutes'
  | 'time_of_day'
  | 'minute_of_day'
  | 'minute_of_window';

const ISO =
  /^(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):?(\d\d)(?::?\d\d(?:[.,]\d+)?)?\s?(Z|[+-]\d\d(?::?\d\d)?)?$/i;
const COMPACT = /^(\d{4})(\d\d)(\d\d)T?(\d\d)(\d\d)(?:\d\d)?$/;
const TIME_OF_DAY = /^(\d\d?):(\d\d)(?::\d\d)?$/;
const WHOLE = /^\d{1,15}$/;

const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** What a key says: an instant, a time of the wall clock, or one of an unnamed day. Milliseconds. */
export type ParsedKey =
  | { readonly kind: 'instant'; readonly ms: number }
  | { readonly kind: 'wall'; readonly ms: number; readonly writtenOffsetMs: number | undefined }
  | { readonly kind: 'time_of_day'; readonly ms: number };

/** Undefined where the key is not of this form. */
export function parseKey(form: KeyForm, key: Key, window: Span): ParsedKey | undefined {
  const text = String(key);
  switch (form) {
    case 'iso':
      return parseWall(ISO.exec(text));
    case 'compact':
      return parseWall(COMPACT.exec(text));
    case 'epoch_milliseconds':
      return wholeNumber(text, 1);
    case 'epoch_seconds':
      return wholeNumber(text, 1000);
    case 'epoch_minutes':
      return wholeNumber(text, MINUTE_MS);
    case 'time_of_day': {
      const match = TIME_OF_DAY.exec(text);
      return match === null
        ? undefined
        : timeOfDay(Number(match[1]) * 60 + Number(match[2]), Number(match[2]) < 60);
    }
    case 'minute_of_day':
      return WHOLE.test(text) ? timeOfDay(Number(text), true) : undefined;
    case 'minute_of_window':
      return WHOLE.test(text) && Number(text) <= 32 * 24 * 60
        ? { kind: 'instant', ms: window.startMs + Number(text) * MINUTE_MS }
        : undefined;
  }
}

function parseWall(match: RegExpExecArray | null): ParsedKey | undefined {
  if (match === null) {
    return undefined;
  }
  const year = Number(match[1]);
  const month = Number(match[2]);
  const day = Number(match[3]);
  const hour = Number(match[4]);
  const minute = Number(match[5]);
  const isTime = hour < 24 && minute < 60;
  const isDate = month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month);
  return isTime && isDate
    ? {
        kind: 'wall',
        ms: Date.UTC(year, month - 1, day, hour, minute),
        writtenOffsetMs: designatorMs(match[6]),
      }
    : undefined;
}

function daysIn(year: number, month: number): number {
  const isLeapYear = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 && isLeapYear ? 29 : (MONTH_DAYS[month - 1] ?? 0);
}

function designatorMs(designator: string | undefined): number | undefined {
  if (designator === undefined) {
    return undefined;
  }
  if (designator.toUpperCase() === 'Z') {
    return 0;
  }
  const digits = designator.replace(':', '');
  const minutes = Number(digits.slice(1, 3)) * 60 + Number(digits.slice(3) || 0);
  return (digits.startsWith('-') ? -minutes : minutes) * MINUTE_MS;
}

function wholeNumber(text: string, unitMs: number): ParsedKey | undefined {
  return WHOLE.test(text) ? { kind: 'instant', ms: Number(text) * unitMs } : undefined;
}

function timeOfDay(minute: number, plausible: boolean): ParsedKey | undefined {
  return plausible && minute < 24 * 60
    ? { kind: 'time_of_day', ms: minute * MINUTE_MS }
    : undefined;
}
