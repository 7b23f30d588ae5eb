/**
 * Raw answers (service-interface.md, 2.1 and 2.3). A page starts after a record, not at an offset, so
 * records that arrive between two pages do not shift it.
 */
import { chance } from './chance.ts';
import type { Ledger } from './ledger.ts';
import { openInterval } from './libraries.ts';
import { writeStartToken } from './queries.ts';
import type { Cursor, DataQuery } from './queries.ts';
import { recordTimes } from './records.ts';
import type { ServiceRecord } from './records.ts';
import { isoText, minuteOfDay, weekdayOf } from './zone.ts';
import type { Zone } from './zone.ts';

const TOWNS = ['Nordby', 'Westhaven', 'Millbrook', 'Kirkham', 'Anand', 'Ponsonby'];

/** The body of a raw answer; undefined if the service forces an aggregation (service-interface.md, 8). */
export function rawAnswer(
  ledger: Ledger,
  utc: Zone,
  query: DataQuery,
  nowMs: number,
): string | undefined {
  const { conventions } = ledger;
  const { forced } = conventions;
  const { limit } = query;
  const oversized = limit === undefined ? conventions.oversizedRaw : conventions.oversizedPage;
  const found = find(ledger, query, nowMs);
  const write = recordWriter(ledger, utc, query);
  const texts: string[] = [];
  let bytes = 200;
  for (const record of found.slice(0, limit)) {
    const text = write(record);
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
  const metadata = {
    ...query.echo,
    count: texts.length,
    ...(last !== undefined && texts.length < found.length
      ? { startToken: writeStartToken(query, last) }
      : {}),
    ...(limit === undefined ? {} : { limit }),
  };
  return `{"metadata":${JSON.stringify(metadata)},"result":[${texts.join(',')}]}`;
}

/** In order of window time. */
function find(ledger: Ledger, query: DataQuery, nowMs: number): readonly ServiceRecord[] {
  const { stream, after, toMs } = query;
  const found: ServiceRecord[] = [];
  const fromMs = Math.max(query.fromMs, after?.windowMs ?? -Infinity);
  ledger.forEachRecord({ stream, fromMs, toMs, nowMs }, (record) => {
    if (after === undefined || compare(record, after) > 0) {
      found.push(record);
    }
  });
  return found.sort(compare);
}

function compare(a: Cursor, b: Cursor): number {
  return a.windowMs - b.windowMs || a.day - b.day || a.number - b.number;
}

function recordWriter(
  ledger: Ledger,
  utc: Zone,
  { stream }: DataQuery,
): (record: ServiceRecord) => string {
  const { library, conventions, zone } = ledger;
  const { categories, recordTimes: designator } = conventions;
  const timeOf = recordTimes(library, conventions);
  const precision = conventions.resolutionMs === 1 ? 'fraction' : 'second';
  const utcDesignator = designator === 'offset' ? 'Z' : designator;
  return (record) => {
    const { day, number } = record;
    const device = library.devices[record.device];
    const common = {
      name: device?.name ?? '',
      localTime: isoText(zone, designator, precision, timeOf('local', record)),
      serverTime: isoText(utc, utcDesignator, precision, timeOf('server', record)),
      clientTime: isoText(utc, utcDesignator, precision, timeOf('client', record)),
    };
    const ids = {
      customerId: library.customerId,
      branchId: device?.branchId ?? 0,
      clientId: device?.clientId ?? 0,
      deviceId: device?.id ?? 0,
    };
    return JSON.stringify(
      stream === 'people'
        ? {
            id: `p-${day}-${number}`,
            amount: record.in + record.out,
            ...common,
            category: record.in > 0 ? categories.in : categories.out,
            libraryControllerState: controllerState(ledger, record.eventMs),
            ...ids,
          }
        : {
            id: `l-${day}-${number}`,
            ...patron(library.seed, library.customerId, day, number),
            ...common,
            category: categories.login,
            ...ids,
          },
    );
  };
}

function patron(...parts: readonly number[]): Record<string, unknown> {
  const gender = chance(...parts, 1);
  return {
    patronAge: 6 + Math.floor(chance(...parts, 2) * 80),
    patronGender: gender < 0.5 ? 'F' : gender < 0.97 ? 'M' : '',
    patronAddress2: TOWNS[Math.floor(chance(...parts, 3) * TOWNS.length)],
  };
}

/** Staffed from nine to five while open. */
function controllerState({ library, zone }: Ledger, eventMs: number): string {
  const minute = minuteOfDay(zone, eventMs);
  if (openInterval(library.opening, weekdayOf(zone.dayOf(eventMs)), minute) === undefined) {
    return 'Closed';
  }
  return minute >= 9 * 60 && minute < 17 * 60 ? 'Staffed' : 'SelfService';
}
