/** The forms of a key: how it is written, whatever the zone that it is of. */
import type { Key } from '../base/model.ts';
import { MINUTE_MS } from './calendar.ts';
import type { Span } from './calendar.ts';
import { readCompact, readIso } from './wall-time.ts';
import type { WallTime } from './wall-time.ts';

export type KeyForm =
  | 'iso'
  | 'compact'
  | 'epoch_milliseconds'
  | 'epoch_seconds'
  | 'epoch_minutes'
  | 'time_of_day'
  | 'minute_of_day'
  | 'minute_of_window';

const TIME_OF_DAY = /^(\d\d?):(\d\d)(?::\d\d)?$/;
const WHOLE = /^\d{1,15}$/;

/** What a key says: an instant, a time of the wall clock, or one of an unnamed day. Milliseconds. */
export type ParsedKey =
  | { readonly kind: 'instant'; readonly ms: number }
  | WallTime
  | { readonly kind: 'time_of_day'; readonly ms: number };

/** Undefined where the key is not of this form. */
export function parseKey(form: KeyForm, key: Key, window: Span): ParsedKey | undefined {
  const text = String(key);
  switch (form) {
    case 'iso':
      return readIso(text);
    case 'compact':
      return readCompact(text);
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

function wholeNumber(text: string, unitMs: number): ParsedKey | undefined {
  return WHOLE.test(text) ? { kind: 'instant', ms: Number(text) * unitMs } : undefined;
}

function timeOfDay(minute: number, plausible: boolean): ParsedKey | undefined {
  return plausible && minute < 24 * 60
    ? { kind: 'time_of_day', ms: minute * MINUTE_MS }
    : undefined;
}
