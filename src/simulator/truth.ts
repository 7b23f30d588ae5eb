/** What an honest reader would know of a customer: sums of the ledger itself, not of any answer. */
import type { Breakdown } from '../base/model.ts';
import { MINUTE_MS } from './conventions.ts';
import type { Ledger } from './ledger.ts';
import { windowSpread } from './records.ts';
import type { RecordStream } from './records.ts';
import { addAmount, addCounts } from './summary.ts';
import type { Counts } from './summary.ts';

export interface Totals {
  readonly entered: number;
  readonly exited: number;
  readonly logins: number;
}

/**
 * The totals themselves are those of all records that the service knows (arrived, not expired,
 * corrections included) whose event took place at or after the instant. `served` are those of the
 * records that an open window from the instant means to the service: by the record's time that its
 * windows go by, at its resolution, with its edge.
 */
export interface Truth extends Totals {
  readonly served: Totals;
}

export interface OccupancyAt {
  readonly minuteMs: number;
  readonly entered: number;
  readonly exited: number;
  /** How many are inside at the end of the minute. */
  readonly people: number;
}

export function truthOf(ledger: Ledger, fromMs: number, nowMs: number): Truth {
  return {
    ...totalsOf((stream) => knownSince(ledger, stream, fromMs, nowMs)),
    served: servedOf(ledger, fromMs, nowMs),
  };
}

/** {@link Truth.served} alone. */
export function servedOf(ledger: Ledger, fromMs: number, nowMs: number): Totals {
  const { fromEdge } = ledger.conventions;
  const edgeMs = fromEdge === 'exclusive' ? fromMs + 1 : fromMs;
  return totalsOf((stream) => servedFrom(ledger, stream, edgeMs, nowMs));
}

/**
 * The people of {@link Truth.served} by branch, client or device, under the service's numbers of
 * them; those of whom there is no record are not there.
 */
export function brokenDownTruthOf(
  ledger: Ledger,
  breakdown: Breakdown,
  fromMs: number,
  nowMs: number,
): ReadonlyMap<number, Omit<Totals, 'logins'>> {
  const ids = ledger.library.devices.map(
    ({ id, branchId, clientId }) => ({ branch: branchId, client: clientId, device: id })[breakdown],
  );
  const groups = new Map<number, Counts>();
  const edgeMs = ledger.conventions.fromEdge === 'exclusive' ? fromMs + 1 : fromMs;
  ledger.scan({ stream: 'people', fromMs: edgeMs, toMs: Infinity, nowMs }, (records, at) => {
    const id = ids[records.device[at] ?? 0] ?? 0;
    const counts = groups.get(id) ?? { first: 0, second: 0 };
    groups.set(id, counts);
    addAmount(counts, records.amount[at] ?? 0);
  });
  return new Map(
    [...groups].map(([id, { first, second }]) => [id, { entered: first, exited: second }]),
  );
}

/**
 * The running in minus out over the minutes of the records that an open window from `dayStartMs`
 * shows, floored at 0 at every minute; only minutes with records.
 */
export function occupancyPathOf(
  ledger: Ledger,
  dayStartMs: number,
  nowMs: number,
): readonly OccupancyAt[] {
  const minutes = new Map<number, Counts>();
  const fromMs = ledger.conventions.fromEdge === 'exclusive' ? dayStartMs + 1 : dayStartMs;
  ledger.scan({ stream: 'people', fromMs, toMs: Infinity, nowMs }, (records, at) => {
    const minuteMs = Math.floor((records.keyMs[at] ?? 0) / MINUTE_MS) * MINUTE_MS;
    const counts = minutes.get(minuteMs) ?? { first: 0, second: 0 };
    minutes.set(minuteMs, counts);
    addAmount(counts, records.amount[at] ?? 0);
  });
  let people = 0;
  return [...minutes]
    .toSorted(([a], [b]) => a - b)
    .map(([minuteMs, { first, second }]) => {
      people = Math.max(0, people + first - second);
      return { minuteMs, entered: first, exited: second, people };
    });
}

function totalsOf(count: (stream: RecordStream) => Counts): Totals {
  const people = count('people');
  return { entered: people.first, exited: people.second, logins: count('logins').first };
}

function servedFrom(ledger: Ledger, stream: RecordStream, fromMs: number, nowMs: number): Counts {
  const counts = { first: 0, second: 0 };
  ledger.scan(
    { stream, fromMs, toMs: Infinity, nowMs },
    (records, at) => addAmount(counts, records.amount[at] ?? 0),
    (summary) => {
      addCounts(counts, summary.total);
      return true;
    },
  );
  return counts;
}

function knownSince(ledger: Ledger, stream: RecordStream, fromMs: number, nowMs: number): Counts {
  const counts = { first: 0, second: 0 };
  const { earlierMs } = windowSpread(ledger.conventions);
  ledger.scan(
    { stream, fromMs: fromMs - earlierMs, toMs: Infinity, nowMs },
    (records, at) => {
      if ((records.eventMs[at] ?? 0) >= fromMs) {
        addAmount(counts, records.amount[at] ?? 0);
      }
    },
    (summary) => {
      if (summary.firstEventMs >= fromMs) {
        addCounts(counts, summary.total);
        return true;
      }
      return summary.lastEventMs < fromMs;
    },
  );
  return counts;
}
