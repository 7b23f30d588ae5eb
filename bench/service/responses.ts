/**
 * The responses of the bench's service: minutes and days of libraries with some 37 visits an hour from
 * eight in the morning to midnight, so that the building empties and its occupancy is estimated. Eight
 * histories serve all customers: a response is made once a minute and kept, for the service must cost
 * little.
 */
import type { Endpoint } from '../../src/base/model.ts';
import type { Zone } from '../../src/counting/calendar/zone.ts';

/** The minutes of a row. */
const BUCKET_MINUTES = { day: 1_440, quarter: 15, minute: 1 } as const;
type TimeAggregation = keyof typeof BUCKET_MINUTES;

export const HISTORIES = 8;
const MINUTE_MS = 60_000;
const DAY_MINUTES = 1_440;
const OPEN_FROM_MINUTE = 8 * 60;
/** Amounts that are drawn: how many came in a minute, how many left, how many logged in. */
const AMOUNTS = {
  peoplecount: [
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 3],
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 3],
  ],
  login: [[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1]],
} as const satisfies Record<Endpoint, readonly (readonly number[])[]>;
const FIELDS = { peoplecount: ['in', 'out'], login: ['value'] } as const;

export class Responses {
  readonly #zone: Zone;
  readonly #branches: number;
  readonly #kept = new Map<string, Buffer>();
  #keptAtMinute = -1;

  /** Who passes in a minute passes the doors of one of the `branches`. */
  constructor(zone: Zone, branches = 1) {
    this.#zone = zone;
    this.#branches = branches;
  }

  /** Returns the body of a response, of the minutes that are over at `nowMs`. */
  body(history: number, endpoint: Endpoint, query: URLSearchParams, nowMs: number): Buffer {
    const minute = Math.floor(nowMs / MINUTE_MS);
    if (minute !== this.#keptAtMinute) {
      this.#kept.clear();
      this.#keptAtMinute = minute;
    }
    const aggregation = query.get('aggregation') as TimeAggregation | 'branch';
    const fromMs = Date.parse(query.get('from') ?? '');
    const toMs = Date.parse(query.get('to') ?? new Date(nowMs).toISOString());
    const untilMinute = Math.min(minute, Math.floor(toMs / MINUTE_MS));
    const name = `${history} ${endpoint} ${aggregation} ${fromMs} ${untilMinute}`;
    const body =
      this.#kept.get(name) ??
      (aggregation === 'branch'
        ? this.#makeByBranch(history, fromMs, untilMinute)
        : this.#make(history, endpoint, aggregation, fromMs, untilMinute));
    this.#kept.set(name, body);
    return body;
  }

  #makeByBranch(history: number, fromMs: number, untilMinute: number): Buffer {
    const offset = this.#zone.offsetMsAt(untilMinute * MINUTE_MS) / MINUTE_MS;
    const sums = Array.from({ length: this.#branches }, () => [0, 0] as [number, number]);
    for (let at = Math.ceil(fromMs / MINUTE_MS) + offset; at < untilMinute + offset; at += 1) {
      const sum = sums[Math.abs(Math.imul(at, 0x9e3779b1) >>> 8) % this.#branches] ?? [0, 0];
      AMOUNTS.peoplecount.forEach((amounts, kind) => {
        sum[kind] = (sum[kind] ?? 0) + sumOf(amounts, history * 2 + kind, at, at + 1);
      });
    }
    const rows = sums.map(
      ([entered, exited], i) => `{"key":${i + 1},"in":${entered},"out":${exited}}`,
    );
    return bodyOf('branch', fromMs, rows);
  }

  #make(
    history: number,
    endpoint: Endpoint,
    aggregation: TimeAggregation,
    fromMs: number,
    untilMinute: number,
  ): Buffer {
    const offset = this.#zone.offsetMsAt(untilMinute * MINUTE_MS) / MINUTE_MS;
    const size = BUCKET_MINUTES[aggregation];
    const rows: string[] = [];
    for (let at = Math.ceil(fromMs / MINUTE_MS); at < untilMinute;) {
      const bucket = Math.floor((at + offset) / size);
      const next = Math.min((bucket + 1) * size - offset, untilMinute);
      const counts = AMOUNTS[endpoint].map((amounts, kind) =>
        sumOf(amounts, history * 2 + kind, at + offset, next + offset),
      );
      if (counts.some((count) => count > 0)) {
        const key = this.#zone.format((bucket * size - offset) * MINUTE_MS);
        const fields = counts.map((count, kind) => `,"${FIELDS[endpoint][kind]}":${count}`);
        rows.push(`{"key":"${key}"${fields.join('')}}`);
      }
      at = next;
    }
    return bodyOf(aggregation, fromMs, rows);
  }
}

function bodyOf(aggregation: string, fromMs: number, rows: readonly string[]): Buffer {
  const metadata = { from: new Date(fromMs).toISOString(), count: rows.length, aggregation };
  return Buffer.from(`{"metadata":${JSON.stringify(metadata)},"result":[${rows.join(',')}]}`);
}

/** `from` and `to` are minutes of local time. */
function sumOf(amounts: readonly number[], salt: number, from: number, to: number): number {
  let sum = 0;
  for (let minute = from; minute < to; minute += 1) {
    sum += minute % DAY_MINUTES < OPEN_FROM_MINUTE ? 0 : (amounts[chance(minute, salt)] ?? 0);
  }
  return sum;
}

/** A number from 0 to 15, always the same for the same minute. */
function chance(minute: number, salt: number): number {
  const mixed = Math.imul(minute ^ Math.imul(salt + 1, 0x9e3779b1), 0x85ebca6b);
  return Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35) >>> 28;
}
