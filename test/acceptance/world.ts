/** What the checks have in common: a plausible past for a customer, and what its figures must be. */
import { expect } from 'vitest';
import type { Daemon } from './daemon.ts';
import type { Exposition } from './exposition.ts';
import type { LedgerService } from './ledger-service.ts';
import type { Ledger } from './ledger.ts';
import { dayMs, dayStart, periodStart, hourMs, minuteMs } from './local-time.ts';

export const dayStartsAt = '04:00';

/**
 * Fills two weeks: people and logins on every day, more going out than in on the morning of today
 * (so that the floor of the occupancy matters), the newest records minutes old. All lie well
 * inside their days, none at the edge of a window that the daemon might ask for.
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

/** The same record for people and logins, known to the service two seconds after the event. */
export function addOld(ledger: Ledger, eventMs: number, entered: number, exited: number): void {
  ledger.add('people', { in: entered, out: exited }, eventMs + 4321, eventMs + 6321);
  ledger.add('logins', { in: 1 + entered }, eventMs + 5432, eventMs + 7432);
}

const kinds = [
  ['people_entered', 'people', 'in'],
  ['people_exited', 'people', 'out'],
  ['logins', 'logins', 'in'],
] as const;

/** Expects that every counter is the service's total since the epoch, and that none is held. */
export function expectCountersExact(
  exposition: Exposition,
  customer: string,
  ledger: Ledger,
  startsAt = dayStartsAt,
): void {
  const periodMs = periodStart(Date.now(), ledger.zone, startsAt);
  const shown = kinds.map(([kind]) => exposition.value(`library_${kind}_total`, { customer }));
  const truth = kinds.map(([, stream, side]) => ledger.total(stream, side, periodMs));
  expect(shown, `entered, exited, logins of ${customer}`).toEqual(truth);
  const held = kinds.map(([kind]) =>
    exposition.value('library_counter_excess', { customer, counter: kind }),
  );
  expect(held, `held counts of ${customer}`).toEqual([0, 0, 0]);
}

/** Expects that today's figures are the service's since the day started. */
export function expectTodayExact(
  exposition: Exposition,
  customer: string,
  ledger: Ledger,
  startsAt = dayStartsAt,
): void {
  const startMs = dayStart(Date.now(), ledger.zone, startsAt);
  const shown = kinds.map(([kind]) => exposition.value(`library_${kind}_today`, { customer }));
  const truth = kinds.map(([, stream, side]) => ledger.total(stream, side, startMs));
  expect(shown, `today's figures of ${customer}`).toEqual(truth);
}

/** Expects what depends on the minutes: people inside, and when anybody was last counted. */
export function expectMinutesExact(exposition: Exposition, customer: string, ledger: Ledger): void {
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

/** Expects that nothing that the daemon ever said or shows holds a secret or a token. */
export async function expectNoSecret(daemon: Daemon, service: LedgerService): Promise<void> {
  const pages = await Promise.all(
    ['/metrics', '/', '/-/ready', '/-/healthy'].map(async (path) =>
      (await daemon.get(path)).text(),
    ),
  );
  const said = [daemon.stdout, daemon.stderr, ...pages].join('\n');
  expect(service.secrets().filter((secret) => said.includes(secret))).toEqual([]);
}
