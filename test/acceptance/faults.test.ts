/** A poll that fails changes no figure, is counted under its reason, and is over when it is over. */
import { beforeAll, expect, test } from 'vitest';
import { Daemon, eventually, writeConfig } from './daemon.ts';
import type { Exposition } from './exposition.ts';
import type { Fault } from './faults.ts';
import { afternoonZone } from './local-time.ts';
import { stage } from './stage.ts';
import {
  expectCountersExact,
  expectMinutesExact,
  expectNoSecret,
  expectTodayExact,
  fillHistory,
} from './world.ts';

const { service, workspace, monitor } = stage();
const customer = 'riverside';
const riverside = service.addCustomer(customer, afternoonZone(Date.now()));
let daemon: Daemon;

beforeAll(async () => {
  await service.start();
  fillHistory(riverside.ledger);
  const configFile = writeConfig(workspace, service, [riverside], { service: { timeout: '1s' } });
  daemon = await Daemon.start(workspace, configFile);
  monitor.watch(daemon);
});

const figures = [
  'library_people_entered_total',
  'library_people_exited_total',
  'library_logins_total',
  'library_people_entered_today',
  'library_people_exited_today',
  'library_logins_today',
  'library_occupancy_people',
  'library_people_last_seen_timestamp_seconds',
  'library_logins_last_seen_timestamp_seconds',
];

function figuresOf(exposition: Exposition): (number | undefined)[] {
  return figures.map((name) => exposition.value(name, { customer }));
}

function upOf(exposition: Exposition): (number | undefined)[] {
  return ['people', 'logins'].map((stream) => exposition.value('library_up', { customer, stream }));
}

function failuresByReason(exposition: Exposition): Map<string, number> {
  const samples = exposition
    .all('library_exporter_poll_failures_total')
    .filter(({ labels }) => labels['stream'] === 'people');
  return new Map(samples.map(({ labels, value }) => [labels['reason'] ?? '', value]));
}

async function well(): Promise<Exposition> {
  let exposition: Exposition | undefined;
  await eventually(async () => {
    exposition = await daemon.scrape();
    expect(upOf(exposition)).toEqual([1, 1]);
    expectCountersExact(exposition, customer, riverside.ledger);
    expectTodayExact(exposition, customer, riverside.ledger);
    expectMinutesExact(exposition, customer, riverside.ledger);
  });
  return exposition ?? (await daemon.scrape());
}

test.each<[Fault, readonly string[]]>([
  [500, ['server']],
  // The contract has a reason for either view of it.
  ['busy, retry after a second', ['server', 'rate_limited']],
  [429, ['rate_limited']],
  [400, ['rejected']],
  [401, ['auth']],
  ['html', ['malformed']],
  ['truncated', ['malformed']],
  ['one bad row', ['malformed']],
  ['reset', ['unreachable']],
  ['hang', ['timeout']],
])(
  '%s: nothing changes, the failure is counted as %s, and the next good poll ends it',
  async (fault, reasons) => {
    const before = await well();
    service.fail(riverside, fault);
    riverside.ledger.add('people', { in: 3, out: 1 });
    riverside.ledger.add('logins', { in: 2 });
    const polls = { customer, stream: 'people' };
    const failedBefore = before.value('library_poll_failures_total', polls) ?? NaN;
    await eventually(async () => {
      const during = await daemon.scrape();
      expect(upOf(during)).toEqual([0, 0]);
      expect(during.value('library_poll_failures_total', polls)).toBeGreaterThan(failedBefore);
      expect(figuresOf(during)).toEqual(figuresOf(before));
    });
    service.heal(riverside);
    const after = await well();
    const known = failuresByReason(before);
    const grown = [...failuresByReason(after)]
      .filter(([reason, value]) => value > (known.get(reason) ?? 0))
      .map(([reason]) => reason);
    expect(grown).toHaveLength(1);
    expect(reasons).toContain(grown[0]);
  },
);

test('answers without rows take nothing away', async () => {
  const before = await well();
  service.fail(riverside, 'empty');
  const polls = { customer, stream: 'people' };
  const polled = before.value('library_polls_total', polls) ?? NaN;
  await eventually(async () => {
    const during = await daemon.scrape();
    expect(during.value('library_polls_total', polls)).toBeGreaterThan(polled + 4);
    expect(figuresOf(during).slice(0, 3)).toEqual(figuresOf(before).slice(0, 3));
  });
  service.heal(riverside);
  riverside.ledger.add('people', { in: 2, out: 2 });
  await well();
});

test('a single bad answer within a poll is made good by asking again, or by the next poll', async () => {
  await well();
  for (const fault of [503, 'reset', 'truncated'] as const) {
    service.fail(riverside, fault, 1);
    riverside.ledger.add('people', { in: 1, out: 1 });
    await well();
  }
  expect(riverside.faultsLeft).toBe(0);
});

test('the requests are counted by endpoint and status', async () => {
  const exposition = await daemon.scrape();
  for (const [endpoint, code] of [
    ['token', '200'],
    ['peoplecount', '200'],
    ['peoplecount', '500'],
    ['peoplecount', '429'],
    ['peoplecount', 'none'],
    ['login', '200'],
  ] as const) {
    const labels = { endpoint, code };
    const counted = exposition.value('library_exporter_service_requests_total', labels);
    expect(counted, `${endpoint} ${code}`).toBeGreaterThan(0);
  }
});

test('no counter fell in all of it, and nothing said a secret', async () => {
  expect(monitor.violations).toEqual([]);
  expect(service.violations).toEqual([]);
  await expectNoSecret(daemon, service);
});
