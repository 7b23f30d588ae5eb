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

/** Adds people and logins that the service received two seconds after the event. */
export function addOld(ledger: Ledger, eventMs: number, entered: number, exited: number): void {
  ledger.add('people', { in: entered, out: exited }, eventMs + 4321, eventMs + 6321);
  ledger.add('logins', { in: 1 + entered }, eventMs + 5432, eventMs + 7432);
}

const kinds = [
  ['people_entered', 'people', 'in'],
  ['people_exited', 'people', 'out'],
  ['logins', 'logins', 'in'],
] as const;

/** Expects every counter to be the service's total of the counting period, and every excess to be 0. */
export function expectCountersExact(
  exposition: Exposition,
  customer: string,
  ledger: Ledger,
  startsAt = dayStartsAt,
  about = customer,
): void {
  const periodMs = periodStart(Date.now(), ledger.zone, startsAt);
  const shown = kinds.map(([kind]) => exposition.value(`library_${kind}_total`, { customer }));
  const truth = kinds.map(([, stream, side]) => ledger.total(stream, side, periodMs));
  expect(shown, `entered, exited, logins of ${about}`).toEqual(truth);
  const excess = kinds.map(([kind]) =>
    exposition.value('library_counter_excess', { customer, counter: kind }),
  );
  expect(excess, `excess of ${about}`).toEqual([0, 0, 0]);
}

/** Expects today's values to be the service's totals since the day started. */
export function expectTodayExact(
  exposition: Exposition,
  customer: string,
  ledger: Ledger,
  startsAt = dayStartsAt,
  about = customer,
): void {
  const startMs = dayStart(Date.now(), ledger.zone, startsAt);
  const shown = kinds.map(([kind]) => exposition.value(`library_${kind}_today`, { customer }));
  const truth = kinds.map(([, stream, side]) => ledger.total(stream, side, startMs));
  expect(shown, `today's values of ${about}`).toEqual(truth);
}

/** Expects what depends on the keys of minutes: people inside, and when somebody was last counted. */
function expectMinutesExact(exposition: Exposition, customer: string, ledger: Ledger): void {
  const startMs = dayStart(Date.now(), ledger.zone, dayStartsAt);
  const seen = ['people', 'logins'].map((stream) =>
    exposition.value(`library_${stream}_last_seen_timestamp_seconds`, { customer }),
  );
  expect(
    [exposition.value('library_occupancy_people', { customer }), ...seen],
    `occupancy, last seen people, last seen login of ${customer}`,
  ).toEqual([
    ledger.occupancy(startMs),
    ledger.lastSeenMs('people') / 1000,
    ledger.lastSeenMs('logins') / 1000,
  ]);
}

/** Expects all of the customer's values to be exact. */
export function expectAllExact(exposition: Exposition, { name, ledger }: ServiceCustomer): void {
  expectCountersExact(exposition, name, ledger);
  expectTodayExact(exposition, name, ledger);
  expectMinutesExact(exposition, name, ledger);
}

/** Waits until all values of the customers are exact; returns that scrape. */
export async function exact(
  daemon: Daemon,
  ...customers: readonly ServiceCustomer[]
): Promise<Exposition> {
  let exposition = await daemon.scrape();
  await eventually(async () => {
    exposition = await daemon.scrape();
    for (const customer of customers) {
      expectAllExact(exposition, customer);
    }
  });
  return exposition;
}
