/** Parses the parameters of the data endpoints (service-interface.md, 4.2 to 4.4). */
import type { Aggregation } from '../base/model.ts';
import { MINUTE_MS, SECOND_MS } from './conventions.ts';
import type { Conventions } from './conventions.ts';
import type { RecordStream } from './records.ts';
import type { Zone } from './zone.ts';

/** The position of a record in the order of raw answers. */
export interface Cursor {
  readonly windowMs: number;
  readonly day: number;
  readonly number: number;
}

export interface DataQuery {
  readonly stream: RecordStream;
  /** Absent for raw records. */
  readonly aggregation: Aggregation | undefined;
  /** Both included; -Infinity and Infinity if not given. */
  readonly fromMs: number;
  readonly toMs: number;
  /** `from` before its edge was applied. */
  readonly requestedFromMs: number;
  readonly limit: number | undefined;
  /** The page starts after this record. */
  readonly after: Cursor | undefined;
  /** `from` and `to` as given, for the metadata. */
  readonly echo: { readonly from?: string; readonly to?: string };
}

export interface QueryError {
  readonly status: number;
  readonly error: string;
}

const PEOPLE_AGGREGATIONS = ['branch', 'client', 'device', 'day', 'quarter', 'minute'] as const;
const LOGIN_AGGREGATIONS = ['day', 'quarter', 'minute'] as const;

export function parseQuery(
  stream: RecordStream,
  query: URLSearchParams,
  conventions: Conventions,
  zone: Zone,
): DataQuery | QueryError {
  const { status } = conventions;
  const given = query.get('aggregation') ?? undefined;
  const allowed: readonly Aggregation[] =
    stream === 'people' ? PEOPLE_AGGREGATIONS : LOGIN_AGGREGATIONS;
  const aggregation = allowed.find((name) => name === given);
  if (given !== undefined && aggregation === undefined) {
    return { status: status.badValue, error: `aggregation must be one of ${allowed.join(', ')}` };
  }
  const isPaged = query.has('limit') || query.has('startToken');
  if (aggregation !== undefined && isPaged && status.forbiddenCombination !== 'ignored') {
    return {
      status: status.forbiddenCombination,
      error: 'aggregation must not be used together with limit or startToken',
    };
  }
  if (query.has('to') && !query.has('from') && status.toWithoutFrom !== 'ignored') {
    return { status: status.toWithoutFrom, error: 'when to is used, from is required' };
  }
  const page = aggregation === undefined ? parsePage(stream, query, conventions) : {};
  if ('error' in page) {
    return page;
  }
  const fromText = query.get('from') ?? page.from;
  const toText = query.has('from') ? (query.get('to') ?? page.to) : page.to;
  const fromMs = fromText === undefined ? -Infinity : parseTime(fromText, conventions, zone);
  const toMs = toText === undefined ? Infinity : parseTime(toText, conventions, zone);
  if (fromMs === undefined || toMs === undefined) {
    const wrong = fromMs === undefined ? 'from' : 'to';
    return { status: status.badValue, error: `${wrong} must be a timestamp in ISO 8601 format` };
  }
  return {
    stream,
    aggregation,
    fromMs: conventions.fromEdge === 'exclusive' ? fromMs + 1 : fromMs,
    toMs: conventions.toEdge === 'exclusive' ? toMs - 1 : toMs,
    requestedFromMs: fromMs,
    limit: page.limit,
    after: page.after,
    echo: {
      ...(fromText === undefined ? {} : { from: fromText }),
      ...(toText === undefined ? {} : { to: toText }),
    },
  };
}

/** The token of the page that starts after a record. */
export function writeStartToken(query: DataQuery, last: Cursor): string {
  const { stream, limit, echo } = query;
  const parts = [stream, last.windowMs, last.day, last.number, limit, echo.from, echo.to];
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

interface Page {
  readonly limit?: number | undefined;
  readonly after?: Cursor;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

function parsePage(
  stream: RecordStream,
  query: URLSearchParams,
  conventions: Conventions,
): Page | QueryError {
  const { maximumLimit, aboveMaximumLimit, defaultLimit, status } = conventions;
  const startToken = query.get('startToken');
  const start = startToken === null ? {} : parseStartToken(stream, startToken);
  if (start === undefined) {
    return { status: status.badValue, error: 'startToken is invalid' };
  }
  const limitText = query.get('limit');
  if (limitText === null) {
    return { ...start, limit: start.limit ?? defaultLimit };
  }
  const limit = /^\d{1,9}$/.test(limitText) ? Number(limitText) : 0;
  if (limit < 1 || (limit > maximumLimit && aboveMaximumLimit === 'rejected')) {
    return { status: status.badValue, error: `limit must be a number from 1 to ${maximumLimit}` };
  }
  return { ...start, limit: Math.min(limit, maximumLimit) };
}

function parseStartToken(stream: RecordStream, token: string): Page | undefined {
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(token, 'base64url').toString());
  } catch {
    return undefined;
  }
  if (!Array.isArray(parts) || parts[0] !== stream) {
    return undefined;
  }
  const [, windowMs, day, number, limit, from, to] = parts as readonly unknown[];
  if (typeof windowMs !== 'number' || typeof day !== 'number' || typeof number !== 'number') {
    return undefined;
  }
  return {
    after: { windowMs, day, number },
    limit: typeof limit === 'number' ? limit : undefined,
    from: typeof from === 'string' ? from : undefined,
    to: typeof to === 'string' ? to : undefined,
  };
}

const ISO_TIME =
  /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(Z|[+-]\d\d(?::?\d\d)?)?)?$/i;

/** Milliseconds since 1970; undefined if the text is not an ISO 8601 timestamp. */
function parseTime(text: string, { designator }: Conventions, zone: Zone): number | undefined {
  const match = ISO_TIME.exec(text);
  if (match === null) {
    return undefined;
  }
  const [, year, month, day, hour, minute, second, fraction, zoneText] = match;
  const wallMs =
    Date.UTC(Number(year), Number(month) - 1, Number(day)) +
    Number(hour ?? 0) * 60 * MINUTE_MS +
    Number(minute ?? 0) * MINUTE_MS +
    Number(second ?? 0) * SECOND_MS +
    Math.floor(Number(`0.${fraction ?? 0}`) * 1_000);
  const isDate = new Date(wallMs).getUTCDate() === Number(day) && Number(month) <= 12;
  if (!isDate || Number(hour ?? 0) > 23 || Number(minute ?? 0) > 59 || Number(second ?? 0) > 59) {
    return undefined;
  }
  switch (designator) {
    case 'ignored, read as UTC':
      return wallMs;
    case 'ignored, read as local':
      return zone.instantOf(wallMs);
    case 'honoured':
      return zoneText === undefined ? zone.instantOf(wallMs) : wallMs - offsetOf(zoneText);
  }
}

function offsetOf(designator: string): number {
  if (designator.toUpperCase() === 'Z') {
    return 0;
  }
  const digits = designator.replace(':', '').slice(1);
  const minutes = Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2) || 0);
  return (designator.startsWith('-') ? -minutes : minutes) * MINUTE_MS;
}
