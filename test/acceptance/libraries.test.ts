/** Each customer by its own zone, start of the day and settings; shards. */
import { beforeAll, expect, test } from 'vitest';
import { eventually } from './daemon.ts';
import type { Daemon } from './daemon.ts';
import { addOld, exact, expectCountsExact } from './expected.ts';
import { Harness } from './harness.ts';
import type { ServiceCustomer } from './ledger-service.ts';
import { clockFromNow, dayMs, dayStart, minuteMs, offsetMs, periodStart } from './local-time.ts';

const harness = new Harness();
const { service, workspace } = harness;
let configFile: string;
let daemon: Daemon;

const cases = [
  { name: 'copenhagen', zone: 'Europe/Copenhagen', open: 1, startsAt: '04:00' },
  { name: 'york', zone: 'America/New_York', open: 0, startsAt: '00:00' },
  { name: 'kathmandu', zone: 'Asia/Kathmandu', open: 1, startsAt: '06:30' },
  { name: 'auckland', zone: 'Pacific/Auckland', open: 0, startsAt: '22:15' },
  { name: 'greenwich', zone: 'UTC', open: undefined, startsAt: '04:00' },
].map((row) => ({ ...row, customer: service.addCustomer(row.name, row.zone) }));
const [estimated, raw] = [harness.addCustomer('estimated'), harness.addCustomer('raw')];

/** Records on both sides of the starts of the period and of the day, none at the edge. */
function addAroundEdges({ ledger }: ServiceCustomer, startsAt: string): void {
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
  const settings = cases.map(({ name, zone, startsAt, open, customer }) => {
    addAroundEdges(customer, startsAt);
    const others = {
      york: { capacity: 250, labels: { region: 'north' } },
      greenwich: { labels: { floor: 'two' } },
    }[name];
    // From two hours ago until in two hours, or for an hour that starts in five.
    const [from, to] = (open === 1 ? [-120, 120] : [300, 360]).map((min) =>
      clockFromNow(zone, min),
    );
    const opening_hours = open === undefined ? undefined : `Mo-Su ${from}-${to}`;
    return [name, { day_starts_at: startsAt, opening_hours, ...others }] as const;
  });
  configFile = harness.configure([...cases.map(({ customer }) => customer), estimated, raw], {
    customers: { ...Object.fromEntries(settings), raw: { estimate: false } },
  });
  // No value depends on the zone of the machine.
  daemon = await harness.start(configFile, [], { TZ: 'Pacific/Chatham' });
});

test.each(cases)('in $zone, month and day start at $startsAt, local time', async (library) => {
  const { name, zone, startsAt, customer, open } = library;
  const labels = { customer: name };
  await eventually(async () => {
    const exposition = await daemon.scrape();
    expectCountsExact(exposition, customer, startsAt);
    expect(exposition.value('library_period_start_timestamp_seconds', labels)).toBe(
      periodStart(Date.now(), zone, startsAt) / 1_000,
    );
    const offset = offsetMs(Date.now(), zone) / 1_000;
    expect(exposition.value('library_utc_offset_seconds', labels)).toBe(offset);
    expect(exposition.value('library_open', labels)).toBe(open);
  });
});

test('capacity and info are as configured; every customer has the same labels', async () => {
  const exposition = await daemon.scrape();
  const capacities = exposition.all('library_capacity_people');
  expect(capacities).toMatchObject([{ labels: { customer: 'york' }, value: 250 }]);
  expect(exposition.all('library_site_info').map(({ labels }) => labels)).toEqual(
    [...cases, estimated, raw].map((one) => ({
      customer: one.name,
      name: '',
      timezone: 'zone' in one ? one.zone : harness.zone,
      region: one.name === 'york' ? 'north' : '',
      floor: one.name === 'greenwich' ? 'two' : '',
    })),
  );
});

test('estimate: false removes its metrics, but not what is usual', async () => {
  await exact(daemon, estimated, raw);
  const exposition = await eventually(async () => {
    const latest = await daemon.scrape();
    const learned = latest.value('library_door_count_ratio', { customer: 'estimated' });
    const usual = latest.value('library_people_entered_usual_today', { customer: 'raw' });
    expect([learned, usual]).not.toContain(undefined);
    return latest;
  });
  const families = ['estimate_people', 'estimate_lower_people', 'estimate_upper_people'];
  const shown = [...families.map((name) => `occupancy_${name}`), 'door_count_ratio'].flatMap(
    (name) => exposition.all(`library_${name}`).map(({ labels }) => labels['customer']),
  );
  expect(shown).toContain('estimated');
  expect(shown).not.toContain('raw');
});

test('a shard has its own customers alone', async () => {
  const flags = ['--shard=0/2', `--storage.path=${workspace.folder}/shard`];
  const exposition = await (await harness.start(configFile, flags)).scrape();
  const infos = exposition.all('library_site_info').map(({ labels }) => labels['customer']);
  expect(infos).toEqual(['kathmandu']);
  expect(exposition.value('library_exporter_shard_info', { shard: '0', shards: '2' })).toBe(1);
  expect(exposition.value('library_exporter_customers')).toBe(1);
});
