/**
 * Counters are the service's totals and never decrease, whatever the interface leaves open
 * (docs/how-it-counts.md#guarantees, 1, 2 and 5). All customers are of one daemon, so that an assumption about one
 * would show at another.
 */
import { beforeAll, expect, test } from 'vitest';
import { eventually } from './daemon.ts';
import type { Daemon } from './daemon.ts';
import { addOld, dayStartsAt, exact, expectCountsExact } from './expected.ts';
import { Harness } from './harness.ts';
import type { Conventions, Ledger } from './ledger.ts';
import { dayMs, dayStart, hourMs, minuteMs, periodStart } from './local-time.ts';

const harness = new Harness();
const { zone } = harness;
const late = harness.addCustomer('late');
const doubled = harness.addCustomer('doubled');
const corrected = harness.addCustomer('corrected');
const opaque = harness.addCustomer('opaque', { keyFormat: 'opaque' });
const forced = harness.addCustomer('forced', { forceAboveRows: 40 });
const readable = (
  [
    { keyFormat: 'ISO with offset' },
    { keyFormat: 'ISO without zone, local' },
    { keyFormat: 'seconds since 1970' },
    { lagging: ['day', 'quarter'] },
  ] satisfies readonly Partial<Conventions>[]
).map((conventions, i) => harness.addCustomer(`convention-${i}`, conventions));
const conventional = [opaque, forced, ...readable];
let daemon: Daemon;

/** More minutes than rows are allowed before an aggregation is forced, and counts at night. */
function addMany(ledger: Ledger): void {
  const today = dayStart(Date.now(), zone, dayStartsAt);
  for (let minute = 0; minute < 60; minute += 1) {
    addOld(ledger, today + 4 * hourMs + minute * minuteMs, 1, minute % 3 === 0 ? 2 : 0);
  }
  addOld(ledger, today - 90 * minuteMs, 3, 3);
  addOld(ledger, periodStart(Date.now(), zone, dayStartsAt) - 90 * minuteMs, 7, 7);
}

beforeAll(async () => {
  doubled.ledger.add('people', { in: 30, out: 30 });
  doubled.ledger.add('logins', { in: 30 });
  conventional.forEach(({ ledger }) => addMany(ledger));
  const customers = [late, doubled, corrected, ...conventional];
  // A poll must end within its interval, and one process responds to all of them.
  const polling = { interval: '2s', reconcile_interval: '4s' };
  daemon = await harness.start(harness.configure(customers, { polling }));
  await exact(daemon, late, doubled, corrected);
});

test.concurrent('late records are in the counters after the next reconcile', async () => {
  const nowMs = Date.now();
  late.ledger.add('people', { in: 6, out: 2 }, nowMs - 2 * hourMs);
  late.ledger.add('people', { in: 5, out: 3 }, nowMs - 20 * minuteMs);
  late.ledger.add('people', { in: 9, out: 8 }, nowMs - dayMs - hourMs);
  late.ledger.add('logins', { in: 4 }, nowMs - 2 * dayMs);
  await expect(exact(daemon, late)).resolves.toBeDefined();
});

test.concurrent('a counter is kept when a total falls, and its excess is shown', async () => {
  const { name, ledger } = corrected;
  const labels = { customer: name };
  async function values() {
    const exposition = await daemon.scrape();
    return [
      exposition.value('library_people_entered_total', labels),
      exposition.value('library_people_entered_today', labels),
      exposition.value('library_count_excess', { ...labels, counter: 'people_entered' }),
    ];
  }
  const record = ledger.add('people', { in: 5 });
  await exact(daemon, corrected);
  const [total = NaN, today = NaN] = await values();
  record.in = 2;
  await eventually(async () => expect(await values()).toEqual([total, today - 3, 3]));
  ledger.add('people', { in: 5 });
  await exact(daemon, corrected);
  expect(await values()).toEqual([total + 2, today + 2, 0]);
});

test.concurrent('values that wait for confirmation are not accepted', async () => {
  const polls = { customer: 'doubled', stream: 'people' };
  /** How much longer ago values were accepted than a poll succeeded. */
  async function waitingSeconds(): Promise<number> {
    const exposition = await daemon.scrape();
    expect(exposition.value('library_up', polls)).toBe(1);
    const succeeded = exposition.value('library_poll_last_success_timestamp_seconds', polls) ?? NaN;
    const accepted = exposition.value('library_values_accepted_timestamp_seconds', polls) ?? NaN;
    return succeeded - accepted;
  }
  await eventually(async () => expect(await waitingSeconds()).toBe(0));
  const { conventions } = doubled.ledger;
  doubled.ledger.conventions = { ...conventions, minutesTwice: true };
  await eventually(async () => expect(await waitingSeconds()).toBeGreaterThan(2));
  doubled.ledger.conventions = conventions;
  await exact(daemon, doubled);
  await eventually(async () => expect(await waitingSeconds()).toBe(0));
});

test.concurrent('conventions change no value that does not depend on them', async () => {
  async function allExact(): Promise<void> {
    await eventually(async () => {
      const exposition = await daemon.scrape();
      for (const customer of [opaque, forced]) {
        expectCountsExact(exposition, customer);
      }
    });
    await exact(daemon, ...readable);
  }
  await allExact();
  for (const { ledger } of conventional) {
    ledger.add('people', { in: 4, out: 1 });
    ledger.add('logins', { in: 2 });
    ledger.add('people', { in: 2, out: 3 }, Date.now() - 70 * minuteMs);
  }
  await allExact();
  const { samples } = await daemon.scrape();
  const ofOpaque = samples.filter(({ labels }) => labels['customer'] === 'opaque');
  const dependent =
    /^library_(occupancy_people|people_last_seen_timestamp_seconds|occupancy_estimate_people)$/;
  expect(ofOpaque.filter(({ name }) => dependent.test(name))).toEqual([]);
  const key = expect.stringMatching(/^"k\d+x"$/) as string;
  expect(daemon.logLines()).toContainEqual(
    expect.objectContaining({ level: 'warn', customer: 'opaque', key }),
  );
});
