/** Local dates with a time, as minute keys write them. */
import { MINUTE_MS } from './calendar.ts';

export interface WallTime {
  readonly kind: 'wall';
  /** The local date and time as if it were UTC, without the seconds. */
  readonly ms: number;
  readonly writtenOffsetMs: number | undefined;
}

const ISO =
  /^(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):?(\d\d)(?::?\d\d(?:[.,]\d+)?)?\s?(Z|[+-]\d\d(?::?\d\d)?)?$/i;
const COMPACT = /^(\d{4})(\d\d)(\d\d)T?(\d\d)(\d\d)(?:\d\d)?$/;

/** ISO 8601 in the forms that services write; undefined for any other text. */
export function readIso(text: string): WallTime | undefined {
  return parseWall(ISO.exec(text));
}

/** yyyyMMddHHmm, with seconds or without. */
export function readCompact(text: string): WallTime | undefined {
  return parseWall(COMPACT.exec(text));
}

function parseWall(match: RegExpExecArray | null): WallTime | undefined {
  if (match === null) {
    return undefined;
  }
  const [, year, month, day, hour, minute, designator] = match;
  const ms = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute));
  // Date.UTC accepts 30 February and 25:00.
  const exists =
    new Date(ms).toISOString().slice(0, 16) === `${year}-${month}-${day}T${hour}:${minute}`;
  return exists ? { kind: 'wall', ms, writtenOffsetMs: offsetMs(designator) } : undefined;
}

function offsetMs(designator: string | undefined): number | undefined {
  if (designator === undefined) {
    return undefined;
  }
  if (designator.toUpperCase() === 'Z') {
    return 0;
  }
  const digits = designator.replace(':', '');
  const minutes = Number(digits.slice(1, 3)) * 60 + Number(digits.slice(3));
  return (digits.startsWith('-') ? -minutes : minutes) * MINUTE_MS;
}
