/**
 * Raw records of service-interface.md, 2.1 and 2.3, page by page. A page starts after a record and
 * not at a number, so that what arrives between two pages moves nothing.
 */
import { createIsoWriter } from './iso.ts';
import type { Ledger } from './ledger.ts';
import { writeStartToken } from './questions.ts';
import type { Cursor, DataQuestion } from './questions.ts';
import { recordTimes } from './records.ts';
import type { Records } from './records.ts';
import { chance } from './seeds.ts';
import { openSpell } from './libraries.ts';
import { weekdayOf } from './traffic.ts';
import type { Zone } from './zone.ts';
import { MINUTE_MS } from './conventions.ts';

interface Found extends Cursor {
  readonly records: Records;
  readonly at: number;
}

const TOWNS = ['Nordby', 'Westhaven', 'Millbrook', 'Kirkham', 'Anand', 'Ponsonby'];

/**
 * The body of a raw answer; undefined where the service forces an aggregation in its place
 * (service-interface.md, 8).
 */
export function rawAnswer(
  ledger: Ledger,
  utc: Zone,
  question: DataQuestion,
  nowMs: number,
): string | undefined {
  const { conventions } = ledger;
  const { forced } = conventions;
  const { limit } = question;
  const oversized = limit === undefined ? conventions.oversizedRaw : conventions.oversizedPage;
  const found = find(ledger, question, nowMs);
  const write = recordWriter(ledger, utc, question);
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
    ...question.echo,
    count: texts.length,
    ...(last !== undefined && texts.length < found.length
      ? { startToken: writeStartToken(question, last) }
      : {}),
    ...(limit === undefined ? {} : { limit }),
  };
  return `{"metadata":${JSON.stringify(metadata)},"result":[${texts.join(',')}]}`;
}

/** In the order of the time that windows mean. */
function find(ledger: Ledger, question: DataQuestion, nowMs: number): readonly Found[] {
  const { stream, after, toMs } = question;
  const found: Found[] = [];
  const fromMs = Math.max(question.fromMs, after?.windowMs ?? -Infinity);
  ledger.scan({ stream, fromMs, toMs, nowMs }, (records, at) => {
    const record = {
      records,
      at,
      windowMs: records.windowMs[at] ?? 0,
      day: records.day,
      number: records.number[at] ?? 0,
    };
    if (after === undefined || compare(record, after) > 0) {
      found.push(record);
    }
  });
  return found.toSorted(compare);
}

function compare(a: Cursor, b: Cursor): number {
  return a.windowMs - b.windowMs || a.day - b.day || a.number - b.number;
}

function recordWriter(
  ledger: Ledger,
  utc: Zone,
  { stream }: DataQuestion,
): (found: Found) => string {
  const { library, conventions, zone } = ledger;
  const timeOf = recordTimes(library, conventions);
  const precision = conventions.resolutionMs === 1 ? 'fraction' : 'second';
  const localForm = conventions.recordTimes;
  const writeLocal = createIsoWriter(zone, localForm, precision);
  const writeUtc = createIsoWriter(utc, localForm === 'offset' ? 'Z' : localForm, precision);
  return ({ records, at, day, number }) => {
    const device = library.devices[records.device[at] ?? 0];
    const amount = records.amount[at] ?? 0;
    const eventMs = records.eventMs[at] ?? 0;
    const event = {
      eventMs,
      deliveredMs: records.deliveredMs[at] ?? 0,
      device: records.device[at] ?? 0,
    };
    const common = {
      name: device?.name ?? '',
      localTime: writeLocal(timeOf('local', event)),
      serverTime: writeUtc(timeOf('server', event)),
      clientTime: writeUtc(timeOf('client', event)),
    };
    const places = {
      customerId: library.customerId,
      branchId: device?.branchId ?? 0,
      clientId: device?.clientId ?? 0,
      deviceId: device?.id ?? 0,
    };
    const { categories } = conventions;
    return JSON.stringify(
      stream === 'people'
        ? {
            id: `p-${day}-${number}`,
            amount: Math.abs(amount),
            ...common,
            category: amount > 0 ? categories.in : categories.out,
            libraryControllerState: controllerState(ledger, eventMs),
            ...places,
          }
        : {
            id: `l-${day}-${number}`,
            ...patron(library.seed, library.customerId, day, number),
            ...common,
            category: categories.login,
            ...places,
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

/** Staffed from nine to five, if open at all. */
function controllerState({ library, zone }: Ledger, eventMs: number): string {
  const wallMinute = Math.floor((eventMs + zone.offsetMsAt(eventMs)) / MINUTE_MS);
  const minute = ((wallMinute % 1_440) + 1_440) % 1_440;
  const spell = openSpell(library.opening, weekdayOf(zone.dayOf(eventMs)), minute);
  if (spell === undefined) {
    return 'Closed';
  }
  return minute >= 9 * 60 && minute < 17 * 60 ? 'Staffed' : 'SelfService';
}
