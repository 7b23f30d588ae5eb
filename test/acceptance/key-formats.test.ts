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
/** By `service.key_times`. */
let daemons: Readonly<Record<'local' | 'utc', Daemon>>;

const names = Object.keys(keyFormats) as (keyof typeof keyFormats)[];
const formats = names.map((keyFormat) => [`keys: ${keyFormat}`, { keyFormat }] as const);

const table: Readonly<Record<string, Partial<Conventions>>> = {
  ...Object.fromEntries(formats),
  'day and quarter lag': { lagging: ['day', 'quarter'] },
  'above 40 rows, day is forced': { forceAboveRows: 40 },
};

const cases = Object.entries(table).map(([convention, conventions], index) => ({
  convention,
  customer: harness.addCustomer(`case-${index}`, conventions),
}));
/** The setting is that of a service: what keys in UTC need is a daemon of its own. */
const [inUtc, others] = [true, false].map((isUtc) =>
  cases
    .filter(({ convention }) => (convention === 'keys: ISO without zone, UTC') === isUtc)
    .map(({ customer }) => customer),
);
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
  const settings = { file: 'utc.yaml', service: { key_times: 'utc' } };
  const storage = `--storage.path=${harness.workspace.folder}/utc`;
  daemons = {
    local: await harness.start(harness.configure(others ?? [])),
    utc: await harness.start(harness.configure(inUtc ?? [], settings), [storage]),
  };
});

async function allExact(): Promise<void> {
  await eventually(async () => {
    const [local, utc] = [await daemons.local.scrape(), await daemons.utc.scrape()];
    for (const { convention, customer } of cases) {
      const exposition = inUtc?.includes(customer) ? utc : local;
      expectCountsExact(exposition, customer, dayStartsAt, convention);
    }
  });
  const customers = readable.map(({ customer }) => customer);
  await exact(daemons.local, ...customers.filter((one) => !inUtc?.includes(one)));
  await exact(daemons.utc, ...(inUtc ?? []));
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
  const exposition = await daemons.local.scrape();
  expect(dependent.map((name) => exposition.value(name, { customer }))).toEqual(
    dependent.map(() => undefined),
  );
  await eventually(() => {
    const warnings = daemons.local.logLines().filter(({ level }) => level === 'warn');
    const key = expect.stringMatching(/^"k\d+x"$/) as string;
    expect(warnings).toContainEqual(expect.objectContaining({ customer, key }));
  });
});
