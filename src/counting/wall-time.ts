/**
 * Dates with a time, as keys write them: the wall clock that they show, and the offset that is written
 * behind it. Most of what a poll does with an answer is to read these.
 */
import { MINUTE_MS } from './calendar.ts';

export interface WallTime {
  readonly kind: 'wall';
  /** What the clock shows, as if it were UTC. */
  readonly ms: number;
  readonly writtenOffsetMs: number | undefined;
}

const ISO =
  /^(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):?(\d\d)(?::?\d\d(?:[.,]\d+)?)?\s?(Z|[+-]\d\d(?::?\d\d)?)?$/i;
const COMPACT = /^(\d{4})(\d\d)(\d\d)T?(\d\d)(\d\d)(?:\d\d)?$/;

const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** ISO 8601 in the forms that services write; undefined for any other text. */
export function readIso(text: string): WallTime | undefined {
  return readUsualIso(text) ?? parseWall(ISO.exec(text));
}

/** yyyyMMddHHmm, with seconds or without. */
export function readCompact(text: string): WallTime | undefined {
  return parseWall(COMPACT.exec(text));
}

function parseWall(match: RegExpExecArray | null): WallTime | undefined {
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

/**
 * The same for 2026-11-21T15:03:00, with Z, +01:00 or nothing behind it, and undefined for all the
 * rest: a tenth of a microsecond in the place of a whole one, for every row of every answer.
 */
function readUsualIso(text: string): WallTime | undefined {
  const isPunctuated =
    text[4] === '-' && text[7] === '-' && text[10] === 'T' && text[13] === ':' && text[16] === ':';
  const writtenOffsetMs = isPunctuated ? usualOffsetMs(text) : UNUSUAL;
  const year = 100 * twoDigits(text, 0) + twoDigits(text, 2);
  const month = twoDigits(text, 5);
  const day = twoDigits(text, 8);
  const hour = twoDigits(text, 11);
  const minute = twoDigits(text, 14);
  // A comparison with what is no number is false. To Date.UTC, years before 100 are others.
  const isTime = hour < 24 && minute < 60 && twoDigits(text, 17) >= 0;
  const isDate = year >= 100 && month >= 1 && day >= 1 && month <= 12 && day <= daysIn(year, month);
  return isTime && isDate && writtenOffsetMs !== UNUSUAL
    ? { kind: 'wall', ms: Date.UTC(year, month - 1, day, hour, minute), writtenOffsetMs }
    : undefined;
}

const UNUSUAL = 'unusual';

function usualOffsetMs(text: string): number | undefined | typeof UNUSUAL {
  const sign = text[19];
  if (text.length === 25 && (sign === '+' || sign === '-') && text[22] === ':') {
    const minutes = 60 * twoDigits(text, 20) + twoDigits(text, 23);
    return Number.isNaN(minutes) ? UNUSUAL : (sign === '-' ? -minutes : minutes) * MINUTE_MS;
  }
  if (text.length === 20 && sign === 'Z') {
    return 0;
  }
  return text.length === 19 ? undefined : UNUSUAL;
}

/** What two digits say, or NaN. */
function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at) - 48;
  const ones = text.charCodeAt(at + 1) - 48;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? 10 * tens + ones : Number.NaN;
}
