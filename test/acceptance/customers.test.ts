/** Each customer by its own clock, configuration and service: one that hangs delays no other. */
import { beforeAll, describe, expect, test } from 'vitest';
import { Daemon, eventually, writeConfig } from './daemon.ts';
import type { Exposition } from './exposition.ts';
import type { ServiceCustomer } from './ledger-service.ts';
import { stage } from './stage.ts';
import { addOld, expectCountersExact, expectTodayExact } from './world.ts';
import { clockFromNow, dayMs, dayStart, periodStart, minuteMs, offsetMs } from './local-time.ts';

const { service, workspace } = stage();
let daemon: Daemon;

// Open from two hours ago until in two hours, and open an hour that begins in five.
function nowOpen(zone: string): string {
  return `Mo-Su ${clockFromNow(zone, -120)}-${clockFromNow(zone, 120)}`;
}
function laterOpen(zone: string): string {
  return `Mo-Su ${clockFromNow(zone, 300)}-${clockFromNow(zone, 360)}`;
}

const zones = [
  { name: 'copenhagen', zone: 'Europe/Copenhagen', hours: nowOpen, open: 1 },
  { name: 'york', zone: 'America/New_York', hours: laterOpen, open: 0, startsAt: '00:00' },
  { name: 'kathmandu', zone: 'Asia/Kathmandu', hours: nowOpen, open: 1, startsAt: '06:30' },
  { name: 'auckland', zone: 'Pacific/Auckland', hours: laterOpen, open: 0, startsAt: '22:15' },
  { name: 'honolulu', zone: 'Pacific/Honolulu', hours: () => '24/7', open: 1 },
  { name: 'greenwich', zone: 'UTC', open: undefined },
];

const cases = zones.map((row) => ({
  ...row,
  startsAt: row.startsAt ?? '04:00',
  customer: service.addCustomer(row.name, row.zone),
}));
const hanging = service.addCustomer('hanging', 'Europe/London');

/** Records on every side of the start of the epoch and of the day, none at the edge. */
function fillAroundEdges({ ledger }: ServiceCustomer, startsAt: string): void {
  const nowMs = Date.now();
  const edges = [
    periodStart(nowMs, ledger.zone, startsAt),
    dayStart(nowMs, ledger.zone, startsAt),
    dayStart(nowMs - 3 * dayMs, ledger.zone, startsAt),
  ];
  for (const [index, edge] of edges.entries()) {
    for (const minutes of [-61, -2, 2, 61]) {
      if (edge + minutes * minuteMs < nowMs - minuteMs) {
        addOld(ledger, edge + minutes * minuteMs, 3 + index, 2);
      }
    }
  }
  addOld(ledger, nowMs - 5 * minuteMs, 6, 1);
}

beforeAll(async () => {
  await service.start();
  for (const { customer, startsAt } of cases) {
    fillAroundEdges(customer, startsAt);
  }
  fillAroundEdges(hanging, '04:00');
  service.fail(hanging, 'hang');
  const keys = cases.map(({ name, zone, startsAt, hours }) => [
    name,
    { day_starts_at: startsAt, ...(hours && { opening_hours: hours(zone) }) },
  ]);
  const extra = Object.fromEntries(keys) as Record<string, object>;
  const configFile = writeConfig(
    workspace,
    service,
    [...cases.map((row) => row.customer), hanging],
    {
      customers: {
        ...extra,
        york: { ...extra['york'], capacity: 250, labels: { region: 'north' } },
        greenwich: { ...extra['greenwich'], labels: { floor: 'two' } },
      },
    },
  );
  // A machine with a zone of its own: none of the customers' figures may depend on it.
  daemon = await Daemon.start(workspace, configFile, undefined, { TZ: 'Pacific/Chatham' });
});

describe.each(cases)('a customer in $zone whose day starts at $startsAt', (row) => {
  const { name, zone, startsAt, customer, open } = row;
  const labels = { customer: name };

  test('counts from the first start of a day of the month on, and today from the last', async () => {
    await eventually(async () => {
      const exposition = await daemon.scrape();
      expect(exposition.value('library_counter_start_timestamp_seconds', labels)).toBe(
        periodStart(Date.now(), zone, startsAt) / 1000,
      );
      expectCountersExact(exposition, name, customer.ledger, startsAt);
      expectTodayExact(exposition, name, customer.ledger, startsAt);
    });
  });

  test('shows its offset from UTC, and whether it is open', async () => {
    const exposition = await daemon.scrape();
    const offset = offsetMs(Date.now(), zone) / 1000;
    expect(exposition.value('library_utc_offset_seconds', labels)).toBe(offset);
    expect(exposition.value('library_open', labels)).toBe(open);
  });
});

test('capacity is shown where it is configured, and nowhere else', async () => {
  const exposition = await daemon.scrape();
  expect(exposition.all('library_capacity_people')).toEqual([
    { name: 'library_capacity_people', labels: { customer: 'york' }, value: 250 },
  ]);
});

test('every customer has one info with the same label names, empty where not given', async () => {
  const infos = (await daemon.scrape()).all('library_customer_info');
  const expected = [...cases.map(({ name, zone }) => [name, zone]), ['hanging', 'Europe/London']];
  expect(infos.map(({ labels }) => labels)).toHaveLength(expected.length);
  for (const [customer, timezone] of expected) {
    expect(infos).toContainEqual({
      name: 'library_customer_info',
      labels: {
        customer,
        timezone,
        region: customer === 'york' ? 'north' : '',
        floor: customer === 'greenwich' ? 'two' : '',
      },
      value: 1,
    });
  }
});

test('the exporter says how many customers it has', async () => {
  expect((await daemon.scrape()).value('library_exporter_customers')).toBe(cases.length + 1);
});

function pollsOf(exposition: Exposition, customer: string): number {
  return exposition.value('library_polls_total', { customer, stream: 'people' }) ?? NaN;
}

test('a customer whose service hangs has no counter, and delays no other', async () => {
  const before = await daemon.scrape();
  for (const { customer } of cases) {
    customer.ledger.add('people', { in: 2, out: 1 });
  }
  await eventually(async () => {
    const exposition = await daemon.scrape();
    for (const { name, startsAt, customer } of cases) {
      expectCountersExact(exposition, name, customer.ledger, startsAt);
      expect(pollsOf(exposition, name) - pollsOf(before, name)).toBeGreaterThanOrEqual(4);
    }
  });
  const exposition = await daemon.scrape();
  for (const stream of ['people', 'logins']) {
    const labels = { customer: 'hanging', stream };
    expect(
      exposition.value('library_people_entered_total', { customer: 'hanging' }),
    ).toBeUndefined();
    expect(exposition.value('library_poll_last_success_timestamp_seconds', labels)).toBeUndefined();
    expect(exposition.value('library_polls_total', labels)).toBeGreaterThanOrEqual(0);
  }
  expect(service.violations).toEqual([]);
});

test('the hanging one is read as soon as its service answers', async () => {
  service.heal(hanging);
  await eventually(async () => {
    const exposition = await daemon.scrape();
    expectCountersExact(exposition, 'hanging', hanging.ledger);
    expect(exposition.value('library_up', { customer: 'hanging', stream: 'people' })).toBe(1);
  });
});
