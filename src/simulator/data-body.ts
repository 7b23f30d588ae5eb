/** Bodies of the data endpoints from a ledger: rows of an aggregation, or raw records. */
import type { Aggregation, Breakdown } from '../base/model.ts';
import { chance } from './chance.ts';
import { DAY_MS, MINUTE_MS } from '../base/duration.ts';
import type { Conventions } from './conventions.ts';
import { groupId, groupsBy } from './ground-truth.ts';
import type { Buckets, TimeAggregation } from './keys.ts';
import type { Ledger } from './ledger.ts';
import { openInterval } from './libraries.ts';
import { writeStartToken } from './queries.ts';
import type { Cursor, DataQuery } from './queries.ts';
import { addCounts } from './records.ts';
import type { Counts, ServiceRecord } from './records.ts';
import { isoText, minuteOfDay, weekdayOf } from './zone.ts';

/** `key` is JSON. */
interface Row {
  readonly key: string;
  readonly counts: Readonly<Counts>;
}

const NO_COUNTS: Readonly<Counts> = { in: 0, out: 0 };
/** A different last argument of chance() makes the fields independent. */
const PATRON_FIELDS = { gender: 1, age: 2, town: 3 };
const TOWNS = ['Nordby', 'Westhaven', 'Millbrook', 'Kirkham', 'Anand', 'Ponsonby'];
/** Size of a page of raw records without the records, about. */
const ENVELOPE_BYTES = 200;
/** The local time of the nightly roll-up. */
const ROLL_UP_MINUTE = 150;

/** Returns the body of a successful response, as JSON. */
export function dataBody(ledger: Ledger, query: DataQuery, nowMs: number): string {
  const { conventions } = ledger;
  const { forced, forcedTo, forcedWindow } = conventions;
  const { aggregation } = query;
  function forcedBody(): string {
    const rows = rowsOf(ledger, query, forcedTo, forcedWindow, nowMs);
    return aggregated(conventions, query, forcedTo, rows);
  }
  if (aggregation === undefined) {
    return rawBody(ledger, query, nowMs) ?? forcedBody();
  }
  const window = aggregation === 'minute' ? 'as asked' : conventions.window;
  const rows = rowsOf(ledger, query, aggregation, window, nowMs);
  const body = aggregated(conventions, query, aggregation, rows);
  const size = forced.above === 'rows' ? rows.length : body.length;
  if (isGroup(aggregation)) {
    return conventions.forcedGroups === 'always' ? forcedBody() : body;
  }
  const mayForce = coarseness(forcedTo, conventions) > coarseness(aggregation, conventions);
  return mayForce && size > forced.limit ? forcedBody() : body;
}

/** Returns how coarse an aggregation is: it is only forced to a coarser one. */
function coarseness(aggregation: TimeAggregation, { quarter }: Conventions): number {
  return { minute: 0, quarter: quarter === '15 minutes' ? 1 : 3, day: 2 }[aggregation];
}

function aggregated(
  { metadataCount }: Conventions,
  query: DataQuery,
  aggregation: Aggregation,
  rows: readonly Row[],
): string {
  let result = '';
  for (const { key, counts } of rows) {
    const values =
      query.stream === 'people' ? `"in":${counts.in},"out":${counts.out}` : `"value":${counts.in}`;
    result += `${result === '' ? '' : ','}{"key":${key},${values}}`;
  }
  const count =
    metadataCount === 'rows'
      ? rows.length
      : rows.reduce((sum, { counts }) => sum + counts.in + counts.out, 0);
  const metadata = JSON.stringify({ ...query.echo, count, aggregation });
  return `{"metadata":${metadata},"result":[${result}]}`;
}

function rowsOf(
  ledger: Ledger,
  query: DataQuery,
  aggregation: Aggregation,
  window: Conventions['window'],
  nowMs: number,
): readonly Row[] {
  const rows = isGroup(aggregation)
    ? groupRows(ledger, query, aggregation, nowMs)
    : timeRows(ledger, query, aggregation, window, nowMs);
  return ledger.conventions.rowOrder === 'descending' ? rows.reverse() : rows;
}

function timeRows(
  ledger: Ledger,
  query: DataQuery,
  aggregation: TimeAggregation,
  window: Conventions['window'],
  nowMs: number,
): Row[] {
  const { conventions } = ledger;
  const buckets = ledger.local.buckets[aggregation];
  const { fromMs, toMs } = window === 'whole buckets' ? widen(query, buckets) : query;
  const { dayFreshness: day, quarterFreshness: quarter } = conventions;
  const isNightly = { minute: 'live', quarter, day }[aggregation] === 'nightly';
  const shown = isNightly ? lastRollUp(ledger, nowMs) : { knownAtMs: nowMs, keyBeforeMs: Infinity };

  const { knownAtMs, keyBeforeMs } = shown;
  const span = { stream: query.stream, fromMs, toMs, nowMs: knownAtMs, keyBeforeMs };
  const counts = ledger.sumsBy(span, {
    name: aggregation === 'minute' ? undefined : aggregation,
    numberOf: ({ keyMs }) => buckets.bucketOf(keyMs),
  });
  const shownBuckets = [...counts.keys()];
  if (conventions.emptyBuckets === 'listed') {
    const lastMs = Math.min(toMs, nowMs + conventions.serviceClockMs, keyBeforeMs - 1);
    const last = buckets.bucketOf(lastMs);
    const listedFrom = buckets.bucketOf(Math.max(fromMs, ledger.startMs));
    for (let bucket = listedFrom; bucket <= last; bucket++) {
      if (!counts.has(bucket)) {
        shownBuckets.push(bucket);
      }
    }
  }
  shownBuckets.sort((a, b) => a - b);
  const first =
    query.fromMs === -Infinity ? (shownBuckets[0] ?? 0) : buckets.bucketOf(query.requestedFromMs);
  const rows = shownBuckets.map((bucket) => ({
    key: buckets.key(bucket, first),
    counts: counts.get(bucket) ?? NO_COUNTS,
  }));
  return conventions.repeatedKeys === 'merged' ? merge(rows) : rows;
}

/** Returns one row for each key. */
function merge(rows: readonly Row[]): Row[] {
  const merged = new Map<string, Counts>();
  rows.forEach(({ key, counts }) => addCounts(merged, key, counts));
  return Array.from(merged, ([key, counts]) => ({ key, counts }));
}

function widen(
  { fromMs, toMs, requestedFromMs }: DataQuery,
  buckets: Buckets,
): { readonly fromMs: number; readonly toMs: number } {
  return {
    fromMs: Number.isFinite(fromMs) ? buckets.startMs(buckets.bucketOf(requestedFromMs)) : fromMs,
    toMs: Number.isFinite(toMs) ? buckets.startMs(buckets.bucketOf(toMs) + 1) - 1 : toMs,
  };
}

/** What the last nightly roll-up shows: the days that were complete, as known when it ran. */
function lastRollUp(
  { local: { zone, dayZone } }: Ledger,
  nowMs: number,
): { readonly knownAtMs: number; readonly keyBeforeMs: number } {
  function rollUpMs(day: number): number {
    return zone.instantOf(day * DAY_MS + ROLL_UP_MINUTE * MINUTE_MS);
  }
  const today = zone.dayOf(nowMs);
  const knownAtMs = rollUpMs(rollUpMs(today) <= nowMs ? today : today - 1);
  return { knownAtMs, keyBeforeMs: dayZone.dayStartMs(dayZone.dayOf(knownAtMs)) };
}

function groupRows(ledger: Ledger, query: DataQuery, aggregation: Breakdown, nowMs: number): Row[] {
  const counts = ledger.sumsBy({ ...query, nowMs }, groupsBy(ledger, aggregation));
  if (ledger.conventions.emptyBuckets === 'listed') {
    for (const [device, { kind }] of ledger.library.devices.entries()) {
      if (kind === 'door') {
        addCounts(counts, groupId(ledger, aggregation, device));
      }
    }
  }
  return [...counts]
    .toSorted(([a], [b]) => a - b)
    .map(([id, counts]) => ({ key: groupKey(ledger, aggregation, id), counts }));
}

function groupKey({ library, conventions }: Ledger, aggregation: Breakdown, id: number): string {
  if (conventions.groupKey !== 'name') {
    return conventions.groupKey === 'string' ? `"${id}"` : String(id);
  }
  const named = { branch: library.branches, client: [], device: library.devices }[aggregation];
  const name = named.find((one) => one.id === id)?.name ?? aggregation;
  // Two doors may have the same name, so the key includes the id.
  return JSON.stringify(`${name} ${id}`);
}

function isGroup(aggregation: Aggregation): aggregation is Breakdown {
  return aggregation === 'branch' || aggregation === 'client' || aggregation === 'device';
}

/**
 * Returns a page of raw records as JSON (docs/service.md#people-counts, #logins); undefined if the service
 * forces an aggregation. A page starts after a record, not at an offset, so records that arrive between two
 * pages do not shift it.
 */
function rawBody(ledger: Ledger, query: DataQuery, nowMs: number): string | undefined {
  const { conventions } = ledger;
  const { forced } = conventions;
  const { limit } = query;
  const oversized = limit === undefined ? conventions.oversizedRaw : conventions.oversizedPage;
  const found = findRecords(ledger, query, nowMs);
  const texts: string[] = [];
  let bytes = ENVELOPE_BYTES;
  for (const record of found.slice(0, limit)) {
    const text = JSON.stringify(rawRecord(ledger, query, record));
    bytes += text.length + 1;
    const full = forced.above === 'rows' ? texts.length >= forced.limit : bytes > forced.limit;
    if (full && oversized === 'aggregated') {
      return undefined;
    }
    if (full && texts.length > 0) {
      break;
    }
    texts.push(text);
  }
  const last = found[texts.length - 1];
  const hasMore = last !== undefined && texts.length < found.length;
  const startToken = hasMore ? writeStartToken(query, last) : undefined;
  const count = conventions.metadataCount === 'rows' ? texts.length : found.length;
  const metadata = JSON.stringify({ ...query.echo, count, startToken, limit });
  return `{"metadata":${metadata},"result":[${texts.join(',')}]}`;
}

/** Returns the records in the order of window time. */
function findRecords(ledger: Ledger, query: DataQuery, nowMs: number): readonly ServiceRecord[] {
  const { stream, after, toMs } = query;
  const fromMs = Math.max(query.fromMs, after?.windowMs ?? -Infinity);
  return ledger
    .records({ stream, fromMs, toMs, nowMs })
    .filter((record) => after === undefined || compare(record, after) > 0)
    .toSorted(compare);
}

function compare(a: Cursor, b: Cursor): number {
  return a.windowMs - b.windowMs || a.day - b.day || a.number - b.number;
}

function rawRecord(ledger: Ledger, { stream }: DataQuery, record: ServiceRecord): object {
  const { library, conventions, local, utc, timeOf } = ledger;
  const { categories, recordTimes: designator } = conventions;
  const { day, number } = record;
  const device = library.devices[record.device];
  function time(which: 'local' | 'server' | 'client'): string {
    const precision = conventions.resolutionMs === 1 ? 'fraction' : 'second';
    const isLocal = which === 'local';
    const utcDesignator = designator === 'offset' ? 'Z' : designator;
    const ms = timeOf(which, record);
    return isoText(isLocal ? local.zone : utc, isLocal ? designator : utcDesignator, precision, ms);
  }
  const common = {
    name: device?.name ?? '',
    localTime: time('local'),
    serverTime: time('server'),
    clientTime: time('client'),
  };
  const ids = {
    customerId: library.customerId,
    branchId: device?.branchId ?? 0,
    clientId: device?.clientId ?? 0,
    deviceId: device?.id ?? 0,
  };
  return stream === 'people'
    ? {
        id: `p-${day}-${number}`,
        amount: record.in + record.out,
        ...common,
        category: record.in > 0 ? categories.in : categories.out,
        libraryControllerState: controllerState(ledger, record),
        ...ids,
      }
    : {
        id: `l-${day}-${number}`,
        ...patron(library.seed, library.customerId, day, number),
        ...common,
        category: categories.login,
        ...ids,
      };
}

function patron(...recordId: readonly number[]): Record<string, unknown> {
  const gender = chance(...recordId, PATRON_FIELDS.gender);
  return {
    patronAge: 6 + Math.floor(chance(...recordId, PATRON_FIELDS.age) * 80),
    patronGender: gender < 0.5 ? 'F' : gender < 0.97 ? 'M' : '',
    patronAddress2: TOWNS[Math.floor(chance(...recordId, PATRON_FIELDS.town) * TOWNS.length)],
  };
}

/** Staffed from nine to five while open. */
function controllerState({ library, zone }: Ledger, { eventMs, device }: ServiceRecord): string {
  const minute = minuteOfDay(zone, eventMs);
  const branch = library.branches.find(({ id }) => id === library.devices[device]?.branchId);
  const opening = branch?.opening ?? library.opening;
  if (openInterval(opening, weekdayOf(zone.dayOf(eventMs)), minute) === undefined) {
    return 'Closed';
  }
  return minute >= 9 * 60 && minute < 17 * 60 ? 'Staffed' : 'SelfService';
}
