/** What a perfect reader would know of a customer: sums of records. */
import type { Breakdown, MinuteStream } from '../base/model.ts';
import type { Ledger, Span } from './ledger.ts';
import type { Grouping } from './record-list.ts';
import type { ServiceRecord } from './records.ts';

export interface Totals {
  readonly entered: number;
  readonly exited: number;
  readonly logins: number;
}

/**
 * Returns sums as they were known at `nowMs`, by default the clock's now. They throw for an unknown
 * customer.
 */
export function createGroundTruth(ledgerOf: (customer: string) => Ledger, clockMs: () => number) {
  /**
   * Totals of the records that a window from `fromMs` has at the service: by the time that its windows
   * use, at its resolution and with its edge.
   */
  function served(customer: string, fromMs: number, nowMs = clockMs()): Totals {
    const ledger = ledgerOf(customer);
    const people = ledger.totals(openWindow(ledger, 'people', fromMs, nowMs));
    const logins = ledger.totals(openWindow(ledger, 'logins', fromMs, nowMs));
    return { entered: people.in, exited: people.out, logins: logins.in };
  }
  return {
    served,
    /** Totals of all records that the service knows whose event took place at or after `fromMs`. */
    groundTruth(customer: string, fromMs: number, nowMs = clockMs()): Totals & { served: Totals } {
      const ledger = ledgerOf(customer);
      const recorded = totals((stream) =>
        ledger
          .records({ stream, fromMs: fromMs - ledger.earlierMs, toMs: Infinity, nowMs })
          .filter(({ eventMs }) => eventMs >= fromMs),
      );
      return { ...recorded, served: served(customer, fromMs, nowMs) };
    },
    /** People of `served` by the id of branch, client or device; ids without records are absent. */
    breakdownTotals(
      customer: string,
      breakdown: Breakdown,
      fromMs: number,
      nowMs = clockMs(),
    ): ReadonlyMap<number, Omit<Totals, 'logins'>> {
      const ledger = ledgerOf(customer);
      const groups = ledger.sumsBy(
        openWindow(ledger, 'people', fromMs, nowMs),
        groupsBy(ledger, breakdown),
      );
      return new Map(
        Array.from(groups, ([id, { in: entered, out: exited }]) => [id, { entered, exited }]),
      );
    },
  };
}

/** Returns the grouping of records by branch, client or device. */
export function groupsBy(ledger: Ledger, breakdown: Breakdown): Grouping {
  return { name: breakdown, numberOf: ({ device }) => groupId(ledger, breakdown, device) };
}

/** Returns the id of the branch, client or device that a device belongs to. */
export function groupId({ library }: Ledger, breakdown: Breakdown, index: number): number {
  const { id = 0, branchId = 0, clientId = 0 } = library.devices[index] ?? {};
  return { branch: branchId, client: clientId, device: id }[breakdown];
}

/** Returns the span of a window without an end, by the edge that the service's windows have. */
export function openWindow(
  ledger: Ledger,
  stream: MinuteStream,
  fromMs: number,
  nowMs: number,
): Span {
  const isExclusive = ledger.conventions.fromEdge === 'exclusive';
  return { stream, fromMs: isExclusive ? fromMs + 1 : fromMs, toMs: Infinity, nowMs };
}

function totals(recordsOf: (stream: MinuteStream) => readonly ServiceRecord[]): Totals {
  const people = recordsOf('people');
  return {
    entered: people.reduce((sum, record) => sum + record.in, 0),
    exited: people.reduce((sum, record) => sum + record.out, 0),
    logins: recordsOf('logins').reduce((sum, record) => sum + record.in, 0),
  };
}
