/**
 * What the interface leaves open never changes a counter (docs/how-it-counts.md#guarantees, 5). Each case
 * is a customer of one daemon, so that an assumption about one would show at another.
 */
import { beforeAll, expect, test } from 'vitest';
import { eventually } from './daemon.ts';
import type { Daemon } from './daemon.ts';
import { addOld, dayStartsAt, exact, expectCountsExact } from './expected.ts';
import { Harness } from './harness.ts';
import type { Conventions, Ledger } from './ledger.ts';
import { keyFormats } from './ledger.ts';
import { dayStart, hourMs, minuteMs, periodStart } from './local-time.ts';

const harness = new Harness();
const { zone } = harness;
let daemon: Daemon;

const table: Readonly<Record<string, Partial<Conventions>>> = {
  ...Object.fromEntries(
    Object.keys(keyFormats).map((name) => [
      `keys: ${name}`,
      { keyFormat: name as keyof typeof keyFormats },
    ]),
  ),
  'day and quarter lag': { lagging: ['day', 'quarter'] },
  'above 40 rows, day is forced': { forceAboveRows: 40 },
};

const cases = Object.entries(table).map(([convention, conventions], index) => ({
  convention,
  customer: harness.addCustomer(`case-${index}`, conventions),
}));
const opaque = cases.find(({ convention }) => convention === 'keys: opaque')?.customer;
// What depends on minutes is compared where they can be read and are complete.
const readable = cases.filter(
  ({ customer }) => customer !== opaque && customer.ledger.conventions.forceAboveRows === Infinity,
);

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
  cases.forEach(({ customer }) => addMany(customer.ledger));
  daemon = await harness.start(harness.configure(cases.map(({ customer }) => customer)));
});

async function allExact(): Promise<void> {
  await eventually(async () => {
    const exposition = await daemon.scrape();
    for (const { convention, customer } of cases) {
      expectCountsExact(exposition, customer, dayStartsAt, convention);
    }
  });
  await exact(daemon, ...readable.map(({ customer }) => customer));
}

test('all values are exact after the first readings, and after new and late records', async () => {
  await allExact();
  for (const { customer } of cases) {
    customer.ledger.add('people', { in: 4, out: 1 });
    customer.ledger.add('logins', { in: 2 });
    customer.ledger.add('people', { in: 2, out: 3 }, Date.now() - 70 * minuteMs);
  }
  await expect(allExact()).resolves.toBeUndefined();
});

test('keys that cannot be parsed mean no occupancy, no last seen, and a warning', async () => {
  const customer = opaque?.name ?? '';
  const dependent = [
    'library_occupancy_people',
    'library_people_last_seen_timestamp_seconds',
    'library_occupancy_estimate_people',
  ];
  const exposition = await daemon.scrape();
  expect(dependent.map((name) => exposition.value(name, { customer }))).toEqual(
    dependent.map(() => undefined),
  );
  await eventually(() => {
    const warnings = daemon.logLines().filter(({ level }) => level === 'warn');
    const key = expect.stringMatching(/^"k\d+x"$/) as string;
    expect(warnings).toContainEqual(expect.objectContaining({ customer, key }));
  });
});
