/** The configuration is read again, and only what changed is affected (docs/operations.md#reload). */
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { eventually } from './daemon.ts';
import type { Daemon } from './daemon.ts';
import { exact, expectAllExact } from './expected.ts';
import type { Exposition } from './exposition.ts';
import { Harness } from './harness.ts';
import type { ServiceCustomer } from './ledger-service.ts';
import { clockFromNow, dayStart, offsetMs } from './local-time.ts';

const harness = new Harness();
const { service, workspace } = harness;
const [steady, changing, leaving, added] = ['steady', 'changing', 'leaving', 'added'].map((name) =>
  harness.addCustomer(name),
) as [ServiceCustomer, ServiceCustomer, ServiceCustomer, ServiceCustomer];
const everybody = [steady, changing, leaving];
let daemon: Daemon;

beforeAll(async () => {
  daemon = await harness.start(harness.configure(everybody), ['--web.enable-lifecycle']);
});

beforeEach(async () => {
  harness.configure(everybody);
  await daemon.reload();
  await exact(daemon, ...everybody);
});

/** Reads the configuration again by a signal, and waits for the result. */
async function hangUp(message = 'config reloaded'): Promise<void> {
  const before = daemon.logged(message).length;
  daemon.signal('SIGHUP');
  await daemon.until(() => daemon.logged(message).length > before);
}

function customersOf({ samples }: Exposition): readonly string[] {
  const names = samples.flatMap(({ labels }) => labels['customer'] ?? []);
  return [...new Set(names)].toSorted();
}

function pollsOf(exposition: Exposition): number {
  return exposition.value('library_polls_total', { customer: 'steady', stream: 'people' }) ?? NaN;
}

const SUCCESSFUL = 'library_exporter_config_last_reload_successful';
const SUCCESS_TIME = 'library_exporter_config_last_reload_success_timestamp_seconds';
const FAILED = 'config reload failed, keeping previous config';

test('customers are added and removed at SIGHUP, with no effect on the others', async () => {
  // Removed during a poll, the customer must not come back.
  leaving.faults.data = 'hang';
  const requests = service.requestsOf(leaving, 'peoplecount').length;
  await eventually(() => {
    expect(service.requestsOf(leaving, 'peoplecount').length).toBeGreaterThan(requests);
  });
  const before = await daemon.scrape();
  harness.configure([steady, changing, added]);
  await hangUp();
  expect(daemon.logged('config reloaded').at(-1)).toMatchObject({
    added: 'added',
    removed: 'leaving',
  });
  leaving.faults = {};
  const after = await daemon.scrape();
  expect(customersOf(after)).toEqual(['added', 'changing', 'steady']);
  expectAllExact(after, steady);
  expect(await (await daemon.get('/config')).text()).toContain('"name":"added"');
  expect(pollsOf(after)).toBeGreaterThanOrEqual(pollsOf(before));
  await exact(daemon, steady, changing, added);
  const asked = service.requestsOf(leaving, 'peoplecount').length;
  await eventually(async () => {
    const exposition = await daemon.scrape();
    expect(customersOf(exposition)).toEqual(['added', 'changing', 'steady']);
    expect(pollsOf(exposition)).toBeGreaterThan(pollsOf(after) + 2);
  });
  expect(service.requestsOf(leaving, 'peoplecount')).toHaveLength(asked);
});

test('settings of one customer change at PUT, with no effect on the others', async () => {
  const before = await daemon.scrape();
  harness.configure(everybody, { customers: { changing: { capacity: 77, streams: ['people'] } } });
  expect((await daemon.reload('PUT')).status).toBe(200);
  const after = await daemon.scrape();
  expect(after.value('library_capacity_people', { customer: 'changing' })).toBe(77);
  expect(after.value('library_logins_total', { customer: 'changing' })).toBeUndefined();
  expectAllExact(after, steady);
  expect(pollsOf(after)).toBeGreaterThanOrEqual(pollsOf(before));
  expect(service.requestsOf(steady, 'token')).toHaveLength(1);
});

test('a new zone and start of the day change today at once and the counters next month', async () => {
  const labels = { customer: 'changing' };
  const kept = ['people_entered_total', 'logins_total', 'period_start_timestamp_seconds'];
  const before = await daemon.scrape();
  const timezone = 'Pacific/Honolulu';
  const startsAt = clockFromNow(timezone, -90);
  harness.configure(everybody, { customers: { changing: { timezone, day_starts_at: startsAt } } });
  await hangUp();
  const startMs = dayStart(Date.now(), timezone, startsAt);
  await eventually(async () => {
    const after = await daemon.scrape();
    expect(kept.map((name) => after.value(`library_${name}`, labels))).toEqual(
      kept.map((name) => before.value(`library_${name}`, labels)),
    );
    expect(after.value('library_people_entered_today', labels)).toBe(
      changing.ledger.total('people', 'in', startMs),
    );
    const offset = offsetMs(Date.now(), timezone) / 1_000;
    expect(after.value('library_utc_offset_seconds', labels)).toBe(offset);
  });
  expect(service.requestsOf(changing, 'token')).toHaveLength(1);
});

test('times are written and keys are read in another way from a reload on, and the counters stay', async () => {
  const { ledger } = steady;
  const { conventions } = ledger;
  harness.configure(everybody, { service: { request_times: 'utc', key_times: 'utc' } });
  await hangUp();
  ledger.conventions = { ...conventions, keyFormat: 'ISO without zone, UTC' };
  const before = service.requestsOf(steady, 'peoplecount').length;
  await eventually(() => {
    expect(service.requestsOf(steady, 'peoplecount').length).toBeGreaterThan(before + 5);
  });
  await exact(daemon, ...everybody);
  for (const { query } of service.requestsOf(steady, 'peoplecount').slice(before)) {
    expect(query.get('from')).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  }
  ledger.conventions = conventions;
});

test('a bad configuration changes nothing, and its problems are returned or logged', async () => {
  const before = await daemon.scrape();
  workspace.write('config.yaml', 'service: {}\ncustomers: []\n');
  const response = await daemon.reload('POST');
  expect(response.status).toBe(400);
  const problems = await response.text();
  expect(problems).toMatch(/config\.yaml:1:\d+: service\.base_url: /);
  expect(problems).toMatch(/config\.yaml:1:\d+: service\.auth_url: /);
  await hangUp(FAILED);
  expect(daemon.logged(FAILED).at(-1)?.['problems']).toBe(problems.trimEnd());
  const after = await daemon.scrape();
  expect(after.value(SUCCESSFUL)).toBe(0);
  expect(after.value(SUCCESS_TIME)).toBe(before.value(SUCCESS_TIME));
  expect(customersOf(after)).toEqual(['changing', 'leaving', 'steady']);
  expect((await daemon.get('/-/ready')).status).toBe(200);
  const FAILURE = /role="alert">[^]*reload failed[^]*\(problems: \d\)/;
  expect(await (await daemon.get('/')).text()).toMatch(FAILURE);
  expect(await (await daemon.get('/config')).text()).toContain('"name":"leaving"');
  harness.configure(everybody);
  expect((await daemon.reload()).status).toBe(200);
  expect(await (await daemon.get('/')).text()).not.toMatch(FAILURE);
  const again = await daemon.scrape();
  expect(again.value(SUCCESSFUL)).toBe(1);
  expect(again.value(SUCCESS_TIME)).toBeGreaterThan(before.value(SUCCESS_TIME) ?? NaN);
});

test('--config.auto-reload-interval reloads changed files, and without the flag HTTP does not', async () => {
  expect((await daemon.reload('GET')).status).toBe(405);
  const file = 'watched.yaml';
  const flags = ['--config.auto-reload-interval=1s', `--storage.path=${workspace.folder}/watched`];
  const watching = await harness.start(harness.configure([steady], { file }), flags);
  expect((await watching.reload('PUT')).status).toBe(403);
  harness.configure([steady, added], { file });
  await eventually(async () => {
    expect(await watching.value('library_exporter_customers')).toBe(2);
  });
  harness.configure([steady, added], { file, polling: { interval: 'soon' } });
  await eventually(async () => expect(await watching.value(SUCCESSFUL)).toBe(0));
  harness.configure([steady, added], { file });
  await eventually(async () => expect(await watching.value(SUCCESSFUL)).toBe(1));
});
