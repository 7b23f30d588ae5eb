/** Parses the parameters of the data endpoints (docs/service.md#requests). */
import { Temporal } from 'temporal-polyfill';
import type { Aggregation, MinuteStream } from '../base/model.ts';
import type { Conventions } from './conventions.ts';
import type { Zone } from './zone.ts';

/** The position of a record in the order of raw records. */
export interface Cursor {
  readonly windowMs: number;
  readonly day: number;
  readonly number: number;
}

export interface DataQuery {
  readonly stream: MinuteStream;
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
  /** `from` and `to` of the metadata. */
  readonly echo: { readonly from: string | undefined; readonly to: string | undefined };
}

export interface QueryError {
  readonly status: number;
  readonly error: string;
}

interface Page {
  readonly limit?: number | undefined;
  readonly after?: Cursor;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

const LOGIN_AGGREGATIONS = ['day', 'quarter', 'minute'] as const;
const AGGREGATIONS = {
  people: ['branch', 'client', 'device', ...LOGIN_AGGREGATIONS],
  logins: LOGIN_AGGREGATIONS,
} as const;

/** Parses the parameters of a data request. Returns the error of the service for what it would refuse. */
export function parseQuery(
  stream: MinuteStream,
  query: URLSearchParams,
  conventions: Conventions,
  zone: Zone,
): DataQuery | QueryError {
  const { badValueStatus, forbiddenCombinationStatus, toWithoutFromStatus } = conventions;
  const given = query.get('aggregation') ?? undefined;
  const aggregation = AGGREGATIONS[stream].find((name) => name === given);
  if (given !== undefined && aggregation === undefined) {
    const allowed = AGGREGATIONS[stream].join(', ');
    return { status: badValueStatus, error: `aggregation must be one of ${allowed}` };
  }
  const isPaged = query.has('limit') || query.has('startToken');
  if (aggregation !== undefined && isPaged && forbiddenCombinationStatus !== 'ignored') {
    return {
      status: forbiddenCombinationStatus,
      error: 'aggregation must not be used together with limit or startToken',
    };
  }
  if (query.has('to') && !query.has('from') && toWithoutFromStatus !== 'ignored') {
    return { status: toWithoutFromStatus, error: 'when to is used, from is required' };
  }
  const page = aggregation === undefined ? parsePage(stream, query, conventions) : {};
  if ('error' in page) {
    return page;
  }
  const from = query.get('from') ?? page.from;
  const to = query.has('from') ? (query.get('to') ?? page.to) : page.to;
  const fromMs = from === undefined ? -Infinity : parseTime(from, conventions, zone);
  const toMs = to === undefined ? Infinity : parseTime(to, conventions, zone);
  if (fromMs === undefined || toMs === undefined) {
    const wrong = fromMs === undefined ? 'from' : 'to';
    return { status: badValueStatus, error: `${wrong} must be a timestamp in ISO 8601 format` };
  }
  return {
    stream,
    aggregation,
    fromMs: conventions.fromEdge === 'exclusive' ? fromMs + 1 : fromMs,
    toMs: conventions.toEdge === 'exclusive' ? toMs - 1 : toMs,
    requestedFromMs: fromMs,
    limit: page.limit,
    after: page.after,
    echo: { from, to },
  };
}

function parsePage(
  stream: MinuteStream,
  query: URLSearchParams,
  { maximumLimit, aboveMaximumLimit, defaultLimit, badValueStatus }: Conventions,
): Page | QueryError {
  const startToken = query.get('startToken');
  const start = startToken === null ? {} : parseStartToken(stream, startToken);
  if (start === undefined) {
    return { status: badValueStatus, error: 'startToken is invalid' };
  }
  const limitText = query.get('limit');
  if (limitText === null) {
    return { ...start, limit: start.limit ?? defaultLimit };
  }
  const limit = /^\d{1,9}$/.test(limitText) ? Number(limitText) : 0;
  if (limit < 1 || (limit > maximumLimit && aboveMaximumLimit === 'rejected')) {
    return { status: badValueStatus, error: `limit must be a number from 1 to ${maximumLimit}` };
  }
  return { ...start, limit: Math.min(limit, maximumLimit) };
}

/** Returns the token of the page that starts after a record. */
export function writeStartToken({ stream, limit, echo }: DataQuery, last: Cursor): string {
  const { windowMs, day, number } = last;
  const page = { stream, after: { windowMs, day, number }, limit, ...echo };
  return Buffer.from(JSON.stringify(page)).toString('base64url');
}

/** Returns undefined unless the token was written for this stream. */
function parseStartToken(stream: MinuteStream, token: string): Page | undefined {
  try {
    const text = Buffer.from(token, 'base64url').toString();
    const page = JSON.parse(text) as Page & { readonly stream: MinuteStream };
    return page.stream === stream ? page : undefined;
  } catch {
    return undefined;
  }
}

/** Milliseconds since 1970; undefined if the text is not an ISO 8601 timestamp. */
function parseTime(text: string, { designator }: Conventions, zone: Zone): number | undefined {
  try {
    const wallMs = parseWall(text);
    if (designator === 'ignored, read as UTC') {
      return wallMs;
    }
    const hasOffset = /(?:z|[+-]\d\d(?::?\d\d)?)$/i.test(text.slice('2026-03-18'.length));
    if (designator !== 'honoured' || !hasOffset) {
      return zone.instantOf(wallMs);
    }
    return USUAL_TIME.test(text) ? Date.parse(text) : Temporal.Instant.from(text).epochMilliseconds;
  } catch {
    return undefined;
  }
}

/** `2026-03-18T12:34:56`, with `Z`, an offset or neither. Temporal, which is slow, parses all others. */
const USUAL_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-][01]\d:[0-5]\d)?$/;

/** Returns the local time, without the offset. Throws a RangeError for what is not ISO 8601. */
function parseWall(text: string): number {
  if (USUAL_TIME.test(text)) {
    const local = text.slice(0, 'yyyy-MM-ddTHH:mm:ss'.length);
    const wallMs = Date.parse(`${local}Z`);
    // Date.parse accepts February 31 and 24:00.
    if (new Date(wallMs).getUTCDate() === Number(text.slice('yyyy-MM-'.length, 10))) {
      return wallMs;
    }
  }
  const wall = Temporal.PlainDateTime.from(text.replace(/z$/i, ''));
  return wall.toZonedDateTime('UTC').epochMilliseconds;
}
