/** Two weeks of records for a customer, and the values that the exporter must show for them. */
import { expect } from 'vitest';
import { eventually } from './daemon.ts';
import type { Daemon } from './daemon.ts';
import type { Exposition } from './exposition.ts';
import type { ServiceCustomer } from './ledger-service.ts';
import type { Ledger } from './ledger.ts';
import { dayMs, dayStart, periodStart, hourMs, minuteMs } from './local-time.ts';

export const dayStartsAt = '04:00';

/**
 * Adds people and logins on every day of two weeks. This morning more people leave than enter, so that
 * clamping the occupancy at 0 matters. No record is near the edge of a window that the exporter requests.
 */
export function fillHistory(ledger: Ledger, nowMs = Date.now()): void {
  const today = dayStart(nowMs, ledger.zone, dayStartsAt);
  for (let day = 14; day >= 1; day -= 1) {
    const start = today - day * dayMs;
    addOld(ledger, start + 5 * hourMs + 7 * minuteMs, 20 + day, 12);
    addOld(ledger, start + 11 * hourMs + 31 * minuteMs, 9, 14 + day);
  }
  addOld(ledger, today + 13 * minuteMs, 0, 5);
  addOld(ledger, today + 61 * minuteMs, 10, 0);
  addOld(ledger, today + 200 * minuteMs, 7, 4);
  addOld(ledger, nowMs - 40 * minuteMs, 3, 6);
  addOld(ledger, nowMs - 8 * minuteMs, 2, 0);
  addOld(ledger, nowMs - 3 * minuteMs, 4, 1);
}

/** Adds people and logins. */
export function addOld(ledger: Ledger, eventMs: number, entered: number, exited: number): void {
  ledger.add('people', { in: entered, out: exited }, eventMs + 4321);
  ledger.add('logins', { in: 1 + entered }, eventMs + 5432);
}

const kinds = [
  ['people_entered', 'people', 'in'],
  ['people_exited', 'people', 'out'],
  ['logins', 'logins', 'in'],
] as const;

/** Expects counters and today's values to be the service's totals, without an excess. */
export function expectCountsExact(
  exposition: Exposition,
  { name: customer, ledger }: ServiceCustomer,
  startsAt = dayStartsAt,
): void {
  const periodMs = periodStart(Date.now(), ledger.zone, startsAt);
  const todayMs = dayStart(Date.now(), ledger.zone, startsAt);
  for (const [counter, stream, side] of kinds) {
    // Of a customer that is polled by branch, today's figure is the sum of its buildings.
    const today = exposition
      .all(`library_${counter}_today`)
      .filter(({ labels }) => labels['customer'] === customer);
    const shown = [
      exposition.value(`library_${counter}_total`, { customer }),
      today.length > 0 && today.reduce((sum, { value }) => sum + value, 0),
      exposition.value('library_count_excess', { customer, counter }),
    ];
    const totals = [ledger.total(stream, side, periodMs), ledger.total(stream, side, todayMs), 0];
    expect(shown, `total, today and excess of ${counter} of ${customer}`).toEqual(totals);
  }
}

/** Expects all values of the customer to be exact; where it is not polled by branch, people inside and last seen, too. */
export function expectAllExact(exposition: Exposition, customer: ServiceCustomer): void {
  const { name, ledger } = customer;
  expectCountsExact(exposition, customer);
  if (exposition.value('library_people_entered_today', { customer: name }) === undefined) {
    return;
  }
  const todayMs = dayStart(Date.now(), ledger.zone, dayStartsAt);
  const inside = exposition.value('library_occupancy_people', { customer: name });
  expect(inside, `occupancy of ${name}`).toBe(ledger.occupancy(todayMs));
  for (const stream of ['people', 'logins'] as const) {
    const metric = `library_${stream}_last_seen_timestamp_seconds`;
    const seen = exposition.value(metric, { customer: name });
    expect(seen, `${metric} of ${name}`).toBe(ledger.lastSeenMs(stream) / 1000);
  }
}

/** Waits until all values of the customers are exact; returns that scrape. */
export function exact(
  daemon: Daemon,
  ...customers: readonly ServiceCustomer[]
): Promise<Exposition> {
  return eventually(async () => {
    const exposition = await daemon.scrape();
    customers.forEach((customer) => expectAllExact(exposition, customer));
    return exposition;
  });
}
