/** Audits the counters by branch, client and device. */
import type { AuditContext, CustomerScrape } from './auditor.ts';
import { MINUTE_MS } from '../../src/base/duration.ts';

export const SIDES = ['entered', 'exited'] as const;

export function createBreakdownAuditor(context: AuditContext) {
  const { environment, service, clock, report, expectBetween, expectNoDecrease } = context;

  /** No counter decreases; with `isThorough` none is above the service's total, which is slow to compute. */
  function audit(
    { exporter, customer, scrape, periodMs }: CustomerScrape,
    isThorough: boolean,
  ): void {
    auditPlaces(exporter, customer, scrape);
    for (const breakdown of environment.breakdowns) {
      const totals = isThorough
        ? service.breakdownTotals(customer, breakdown, periodMs, clock.nowMs())
        : undefined;
      for (const side of SIDES) {
        for (const [key, value] of scrape.values(totalName(breakdown, side), customer)) {
          const series = `${exporter} ${customer} ${breakdown} ${key} ${side}`;
          expectNoDecrease(series, periodMs, value);
          if (totals !== undefined) {
            expectBetween(series, value, [0, totals.get(idOf(key))?.[side] ?? 0]);
          }
        }
      }
    }
  }

  /** A device is where it is. */
  function auditPlaces(exporter: string, customer: string, scrape: CustomerScrape['scrape']): void {
    const { devices } = service.ledgerOf(customer).library;
    for (const ids of scrape.values('library_device_info', customer).keys()) {
      if (!devices.some(({ id, branchId, clientId }) => ids === `${id} ${branchId} ${clientId}`)) {
        report(`${exporter} ${customer} has a device with the ids ${ids}`);
      }
    }
  }

  /** Every counter minus its excess is the service's total. */
  function expectTotals({ exporter, customer, scrape, periodMs }: CustomerScrape): void {
    if (environment.conventions.forcedGroups === 'always') {
      return;
    }
    const lagMs = environment.breakdownIntervalMs + 10 * environment.maxDelayMs + MINUTE_MS;
    for (const breakdown of environment.breakdowns) {
      const [early, late] = [clock.nowMs() - lagMs, clock.nowMs()].map((nowMs) =>
        service.breakdownTotals(customer, breakdown, periodMs, nowMs),
      );
      for (const [id, totals] of early ?? []) {
        for (const side of SIDES) {
          const values = [...scrape.values(totalName(breakdown, side), customer)];
          const [key = '', value] = values.find(([one]) => idOf(one) === id) ?? [];
          const excessName = `library_${breakdown}_count_excess`;
          const excess = scrape.value(excessName, customer, key, `people_${side}`);
          const what = `${exporter} ${customer} ${breakdown} ${id} ${side} minus excess in the end`;
          const served = [totals[side], late?.get(id)?.[side] ?? 0];
          expectBetween(what, (value ?? NaN) - (excess ?? NaN), served);
        }
      }
    }
  }

  return { audit, expectTotals };
}

function totalName(breakdown: string, side: string): string {
  return `library_${breakdown}_people_${side}_total`;
}

/** The key is an id, or a name that ends with one. */
export function idOf(key: string): number {
  return Number(/\d+$/.exec(key)?.[0]);
}
