/** In which branch a device is, and a door of a branch that counts nobody (docs/how-it-counts.md#problems). */
import { expect, test } from 'vitest';
import { eventually } from './daemon.ts';
import type { Daemon } from './daemon.ts';
import { Harness } from './harness.ts';
import { hourMs, minuteMs } from './local-time.ts';
import { updateMarks } from './stored-marks.ts';

const harness = new Harness();

test('a silent door of a branch is a problem of that branch, on /metrics and on the status page', async () => {
  // Without a past, its windows are known at once. It is afternoon.
  const town = harness.service.addCustomer('town', harness.zone);
  const nowMs = Date.now();
  const silentSinceMs = nowMs - 354 * minuteMs;
  for (const [device, hoursAgo, people] of [
    [301, 6, 80],
    [303, 4, 60],
    [303, 2, 60],
    [302, 2, 40],
    [304, 1, 40],
  ] as const) {
    town.ledger.add('people', { in: people, out: people }, nowMs - hoursAgo * hourMs, device);
  }
  town.ledger.add('logins', { in: 1 }, nowMs - 6 * hourMs);
  const config = harness.configure([town], {
    polling: { breakdown_interval: '1s' },
    customers: {
      town: { breakdowns: ['branch', 'device'], branches: { 101: 'Main Library', 102: 'North' } },
    },
  });

  async function placesOf(daemon: Daemon) {
    const infos = (await daemon.scrape()).all('library_device_info');
    return infos.map(({ labels: { device, branch, client } }) => [device, branch, client]);
  }
  const places = [
    ['301', '101', '201'],
    ['302', '102', '202'],
    ['303', '101', '203'],
    ['304', '102', '201'],
  ];
  const first = await harness.start(config);
  await eventually(async () => expect(await placesOf(first)).toEqual(places));
  await harness.stop(first);
  // As if the exporter had run when the device counted last.
  updateMarks(`${harness.workspace.folder}/data`, '301', silentSinceMs);

  const second = await harness.start(config);
  const silent = { customer: 'town', branch: '101', name: 'Main Library', problem: 'door_silent' };
  const exposition = await eventually(async () => {
    const latest = await second.scrape();
    const problems = latest.all('library_problem_start_timestamp_seconds');
    expect(problems.map(({ labels, value }) => [labels, value])).toEqual([
      [silent, silentSinceMs / 1000],
    ]);
    return latest;
  });
  const trusted = exposition.all('library_counts_trusted');
  expect(trusted.map(({ labels, value }) => [labels['branch'], value])).toEqual([
    ['101', 0],
    ['102', 1],
  ]);
  // It has 160 of 400 people of its branch: of the 120 who came in since, 48.
  const missed = { device_people_missed: { device: '301' }, people_missed: { branch: '101' } };
  for (const [metric, of] of Object.entries(missed)) {
    expect(exposition.value(`library_${metric}`, { customer: 'town', ...of })).toBeCloseTo(48, 6);
  }
  expect(await (await second.get('/')).text()).toContain('A door counts nobody');
  expect(await placesOf(second)).toEqual(places);
  const pages = harness.service
    .requestsOf(town, 'peoplecount')
    .filter(({ query }) => query.has('limit'));
  expect(pages).toHaveLength(1);
});
