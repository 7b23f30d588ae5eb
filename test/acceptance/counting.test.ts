/** The counters are the service's totals: first reading, new, late and taken-back records. */
import { beforeAll, expect, test } from 'vitest';
import { Daemon, eventually, writeConfig } from './daemon.ts';
import type { ServiceCustomer } from './ledger-service.ts';
import { afternoonZone, dayMs, hourMs, minuteMs } from './local-time.ts';
import { stage } from './stage.ts';
import {
  addOld,
  expectCountersExact,
  expectMinutesExact,
  expectNoSecret,
  expectTodayExact,
  fillHistory,
} from './world.ts';

const { service, workspace, monitor } = stage();
const zone = afternoonZone(Date.now());
const steady = service.addCustomer('steady', zone);
const late = service.addCustomer('late', zone);
const corrected = [1, 2, 3].map((number) => service.addCustomer(`corrected-${number}`, zone));
const all = [steady, late, ...corrected];
let daemon: Daemon;

beforeAll(async () => {
  await service.start();
  for (const { ledger } of all) {
    fillHistory(ledger);
  }
  daemon = await Daemon.start(workspace, writeConfig(workspace, service, all));
  monitor.watch(daemon);
});

async function settled({ name, ledger }: ServiceCustomer): Promise<void> {
  await eventually(async () => {
    const exposition = await daemon.scrape();
    expectCountersExact(exposition, name, ledger);
    expectTodayExact(exposition, name, ledger);
    expectMinutesExact(exposition, name, ledger);
  });
}

/** `kind` as the counter, as today's gauge and as held counts. */
async function figuresOf(customer: string, kind: string): Promise<(number | undefined)[]> {
  const exposition = await daemon.scrape();
  return [
    exposition.value(`library_${kind}_total`, { customer }),
    exposition.value(`library_${kind}_today`, { customer }),
    exposition.value('library_counter_excess', { customer, counter: kind }),
  ];
}

test('every figure is the truth after the first reading', async () => {
  for (const customer of all) {
    await expect(settled(customer)).resolves.toBeUndefined();
  }
});

test('new records are in the counters within two polls', async () => {
  const polls = { customer: 'steady', stream: 'people' };
  await settled(steady);
  for (let round = 0; round < 3; round += 1) {
    const before = (await daemon.scrape()).value('library_polls_total', polls) ?? 0;
    steady.ledger.add('people', { in: 2 + round, out: 1 });
    await eventually(async () => {
      expectCountersExact(await daemon.scrape(), 'steady', steady.ledger);
    });
    const after = (await daemon.scrape()).value('library_polls_total', polls) ?? 0;
    // One more for the poll that was under way when the record came, and is not yet counted.
    expect(after - before).toBeLessThanOrEqual(3);
  }
  await settled(steady);
});

test('late records are in the counters after the next reconcile', async () => {
  await settled(late);
  const nowMs = Date.now();
  late.ledger.add('people', { in: 6, out: 2 }, nowMs - 2 * hourMs);
  late.ledger.add('people', { in: 5, out: 3 }, nowMs - 20 * minuteMs);
  late.ledger.add('people', { in: 9, out: 8 }, nowMs - dayMs - hourMs);
  late.ledger.add('logins', { in: 4 }, nowMs - 2 * dayMs);
  await expect(settled(late)).resolves.toBeUndefined();
});

test.concurrent.each([
  ['people_entered', 'people', 0],
  ['logins', 'logins', 0],
  ['people_entered', 'people', 3 * hourMs],
] as const)(
  'what is taken back of %s (%s, %i ms old) is held by the counter and gone from today',
  async (kind, stream, ageMs) => {
    const customer = corrected.pop() ?? steady;
    const record = customer.ledger.add(stream, { in: 5 }, Date.now() - ageMs);
    await settled(customer);
    const [counter = NaN, today = NaN] = await figuresOf(customer.name, kind);
    record.in = 2;
    await eventually(async () => {
      expect(await figuresOf(customer.name, kind)).toEqual([counter, today - 3, 3]);
    });
    customer.ledger.add(stream, { in: 1 });
    await eventually(async () => {
      expect(await figuresOf(customer.name, kind)).toEqual([counter, today - 2, 2]);
    });
    customer.ledger.add(stream, { in: 4 });
    await settled(customer);
    expect(await figuresOf(customer.name, kind)).toEqual([counter + 2, today + 2, 0]);
  },
);

test('a burst of late and new records at every poll ends in the truth', async () => {
  for (let round = 0; round < 20; round += 1) {
    const nowMs = Date.now();
    steady.ledger.add('people', { in: 1, out: round % 2 });
    steady.ledger.add('logins', { in: 1 }, nowMs - round * 9 * minuteMs);
    addOld(steady.ledger, nowMs - 10 * minuteMs - round * 31 * minuteMs, 1, 1);
    await new Promise((resolve) => setTimeout(resolve, 150));
  }
  await expect(settled(steady)).resolves.toBeUndefined();
});

test('no counter fell or began with 0, and nothing said a secret', async () => {
  expect(monitor.scrapes).toBeGreaterThan(10);
  expect(monitor.violations).toEqual([]);
  await expectNoSecret(daemon, service);
});

test('the rules of the interface were kept, and only the history of past days carries to', () => {
  expect(service.violations).toEqual([]);
  const bounded = service.requests.filter(
    ({ query }) => query.has('to') && !query.get('to')?.includes('T04:00:00'),
  );
  expect(bounded.map(({ query }) => query.toString())).toEqual([]);
});
