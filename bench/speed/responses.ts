/**
 * The responses of the bench's service: minutes and days of libraries with some 37 visits an hour from
 * eight in the morning to midnight, so that the building empties and its occupancy is estimated. A response
 * is made once a minute for all customers, and kept: the service must cost little.
 */
import { MINUTE_MS } from '../../src/base/duration.ts';
import type { Endpoint } from '../../src/base/model.ts';
import type { Zone } from '../../src/counting/calendar/zone.ts';

/** The minutes of a row. */
const BUCKET_MINUTES: Readonly<Record<string, number>> = { day: 1_440, quarter: 15, minute: 1 };
const OPEN_FROM_MINUTE = 8 * 60;
/** Amounts that are drawn: how many came in a minute, how many left, how many logged in. */
const AMOUNTS: Readonly<Record<Endpoint, Readonly<Record<string, readonly number[]>>>> = {
  peoplecount: {
    in: [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 3],
    out: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 3],
  },
  login: { value: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1] },
};

/**
 * Returns what makes the body of a response, of the minutes that are over at `nowMs`. Who passes in a minute passes the
 * doors of one of the `branches`.
 */
export function createResponses(zone: Zone, branches: number) {
  const kept = new Map<string, Buffer>();
  let keptAtMinute = -1;
  return (endpoint: Endpoint, query: URLSearchParams, nowMs: number): Buffer => {
    const minute = Math.floor(nowMs / MINUTE_MS);
    if (minute !== keptAtMinute) {
      kept.clear();
      keptAtMinute = minute;
    }
    const aggregation = query.get('aggregation') ?? '';
    const fromMs = Date.parse(query.get('from') ?? '');
    const toMs = Date.parse(query.get('to') ?? new Date(nowMs).toISOString());
    const untilMinute = Math.min(minute, Math.floor(toMs / MINUTE_MS));
    const name = `${endpoint} ${aggregation} ${fromMs} ${untilMinute}`;
    const made = kept.get(name) ?? Buffer.from(JSON.stringify(make()));
    kept.set(name, made);
    return made;

    function make(): object {
      // Minutes of local time.
      const offset = zone.offsetMsAt(untilMinute * MINUTE_MS) / MINUTE_MS;
      const [from, until] = [Math.ceil(fromMs / MINUTE_MS) + offset, untilMinute + offset];
      const size = BUCKET_MINUTES[aggregation] ?? 1;
      const result =
        aggregation === 'branch'
          ? sumsBy((at) => 1 + (at % branches), endpoint, from, until)
          : sumsBy((at) => Math.floor(at / size) * size, endpoint, from, until).map(
              ({ key, ...sums }) => ({ key: zone.format((key - offset) * MINUTE_MS), ...sums }),
            );
      const metadata = { from: new Date(fromMs).toISOString(), count: result.length, aggregation };
      return { metadata, result };
    }
  };
}

interface Row {
  readonly key: number;
  [field: string]: number;
}

/** Returns a row for each key of the minutes of local time that have counts. */
function sumsBy(
  keyOf: (minute: number) => number,
  endpoint: Endpoint,
  from: number,
  until: number,
): readonly Row[] {
  const fields = Object.entries(AMOUNTS[endpoint]);
  const rows = new Map<number, Row>();
  for (let at = from; at < until; at += 1) {
    const isOpen = at % 1_440 >= OPEN_FROM_MINUTE;
    const counts = fields.map(([, amounts], i) => (isOpen ? (amounts[draw(at, i)] ?? 0) : 0));
    if (counts.some((count) => count > 0)) {
      const key = keyOf(at);
      const row = rows.get(key) ?? {
        key,
        ...Object.fromEntries(fields.map(([name]) => [name, 0])),
      };
      rows.set(key, row);
      fields.forEach(([name], i) => (row[name] = (row[name] ?? 0) + (counts[i] ?? 0)));
    }
  }
  return [...rows.values()];
}

/** Returns a number from 0 to 15, always the same for the same minute. */
function draw(minute: number, salt: number): number {
  const mixed = Math.imul(minute ^ Math.imul(salt + 1, 0x9e3779b1), 0x85ebca6b);
  return Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35) >>> 28;
}
