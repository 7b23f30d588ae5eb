/**
 * What may be asked of the data endpoints (service-interface.md, 4.2 to 4.4), and what it means
 * under the conventions. No records here.
 */
import type { Aggregation } from '../base/model.ts';
import { MINUTE_MS, SECOND_MS } from './conventions.ts';
import type { Conventions } from './conventions.ts';
import type { RecordStream } from './records.ts';
import type { Zone } from './zone.ts';

/** The record after which a page starts. */
export interface Cursor {
  readonly windowMs: number;
  readonly day: number;
  readonly number: number;
}

export interface DataQuestion {
  readonly stream: RecordStream;
  /** Undefined: raw records. */
  readonly aggregation: Aggregation | undefined;
  /** Whole milliseconds, edges included; -Infinity and Infinity where not asked. */
  readonly fromMs: number;
  readonly toMs: number;
  /** `from` as it was meant, whatever becomes of its edge. */
  readonly askedFromMs: number;
  readonly limit: number | undefined;
  readonly after: Cursor | undefined;
  /** `from` and `to` as they were written, for the metadata. */
  readonly echo: { readonly from?: string; readonly to?: string };
}

/** What the service objects to, and with which status. */
export class Objection {
  readonly status: number;
  readonly message: string;

  constructor(status: number, message: string) {
    this.status = status;
    this.message = message;
  }
}

const PEOPLE_AGGREGATIONS = ['branch', 'client', 'device', 'day', 'quarter', 'minute'] as const;
const LOGIN_AGGREGATIONS = ['day', 'quarter', 'minute'] as const;

/** The question that the parameters ask, or what is wrong with them. */
export function understand(
  stream: RecordStream,
  query: URLSearchParams,
  conventions: Conventions,
  zone: Zone,
): DataQuestion | Objection {
  const { status } = conventions;
  const given = query.get('aggregation') ?? undefined;
  const allowed: readonly Aggregation[] =
    stream === 'people' ? PEOPLE_AGGREGATIONS : LOGIN_AGGREGATIONS;
  const aggregation = allowed.find((name) => name === given);
  if (given !== undefined && aggregation === undefined) {
    return new Objection(status.badValue, `aggregation must be one of ${allowed.join(', ')}`);
  }
  const isPaged = query.has('limit') || query.has('startToken');
  if (aggregation !== undefined && isPaged && status.forbiddenCombination !== 'ignored') {
    return new Objection(
      status.forbiddenCombination,
      'aggregation must not be used together with limit or startToken',
    );
  }
  if (query.has('to') && !query.has('from') && status.toWithoutFrom !== 'ignored') {
    return new Objection(status.toWithoutFrom, 'when to is used, from is required');
  }
  const page = aggregation === undefined ? understandPage(stream, query, conventions) : {};
  if (page instanceof Objection) {
    return page;
  }
  const fromText = query.get('from') ?? page.from;
  const toText = query.has('from') ? (query.get('to') ?? page.to) : page.to;
  const fromMs = fromText === undefined ? -Infinity : parseTime(fromText, conventions, zone);
  const toMs = toText === undefined ? Infinity : parseTime(toText, conventions, zone);
  if (fromMs === undefined || toMs === undefined) {
    const wrong = fromMs === undefined ? 'from' : 'to';
    return new Objection(status.badValue, `${wrong} must be a timestamp in ISO 8601 format`);
  }
  return {
    stream,
    aggregation,
    fromMs: conventions.fromEdge === 'exclusive' ? fromMs + 1 : fromMs,
    toMs: conventions.toEdge === 'exclusive' ? toMs - 1 : toMs,
    askedFromMs: fromMs,
    limit: page.limit,
    after: page.after,
    echo: {
      ...(fromText === undefined ? {} : { from: fromText }),
      ...(toText === undefined ? {} : { to: toText }),
    },
  };
}

/** The token that makes the next page start after a record. */
export function writeStartToken(question: DataQuestion, last: Cursor): string {
  const { stream, limit, echo } = question;
  const parts = [stream, last.windowMs, last.day, last.number, limit, echo.from, echo.to];
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

interface Page {
  readonly limit?: number | undefined;
  readonly after?: Cursor;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

function understandPage(
  stream: RecordStream,
  query: URLSearchParams,
  conventions: Conventions,
): Page | Objection {
  const { maximumLimit, aboveMaximumLimit, defaultLimit, status } = conventions;
  const startToken = query.get('startToken');
  const start = startToken === null ? {} : readStartToken(stream, startToken);
  if (start === undefined) {
    return new Objection(status.badValue, 'startToken is not one that this service gave');
  }
  const limitText = query.get('limit');
  if (limitText === null) {
    return { ...start, limit: start.limit ?? defaultLimit };
  }
  const limit = /^\d{1,9}$/.test(limitText) ? Number(limitText) : 0;
  if (limit < 1 || (limit > maximumLimit && aboveMaximumLimit === 'rejected')) {
    return new Objection(status.badValue, `limit must be a number from 1 to ${maximumLimit}`);
  }
  return { ...start, limit: Math.min(limit, maximumLimit) };
}

function readStartToken(stream: RecordStream, token: string): Page | undefined {
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

/** Whole milliseconds, or `undefined` for what is not a timestamp. */
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
