/** CONTRACT.md, section 2: the configuration is read again, and only what changed is affected. */
import { mkdirSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { eventually, Workspace, writeConfig } from './daemon.ts';
import type { Daemon, Settings } from './daemon.ts';
import { exact, expectAllExact, fillHistory } from './expected.ts';
import type { Exposition } from './exposition.ts';
import { Harness } from './harness.ts';
import type { ServiceCustomer } from './ledger-service.ts';
import { afternoonZone, clockFromNow, dayStart, offsetMs } from './local-time.ts';

const harness = new Harness();
const { service, workspace } = harness;
const zone = afternoonZone(Date.now());
const [steady, changing, leaving, added] = ['steady', 'changing', 'leaving', 'added'].map((name) =>
  service.addCustomer(name, zone),
) as [ServiceCustomer, ServiceCustomer, ServiceCustomer, ServiceCustomer];
const everybody = [steady, changing, leaving];
let daemon: Daemon;

function write(customers: readonly ServiceCustomer[], settings: Settings = {}): string {
  return writeConfig(workspace, service, customers, settings);
}

beforeAll(async () => {
  for (const { ledger } of [...everybody, added]) {
    fillHistory(ledger);
  }
  daemon = await harness.start(write(everybody), ['--web.enable-lifecycle']);
});

beforeEach(async () => {
  write(everybody);
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

function pollsOf(exposition: Exposition, customer: string): number {
  return exposition.value('library_polls_total', { customer, stream: 'people' }) ?? NaN;
}

const SUCCESSFUL = 'library_exporter_config_last_reload_successful';
const SUCCESS_TIME = 'library_exporter_config_last_reload_success_timestamp_seconds';

test('customers are added and removed at SIGHUP, with no effect on the others', async () => {
  const before = await daemon.scrape();
  write([steady, changing, added]);
  await hangUp();
  const after = await daemon.scrape();
  expect(customersOf(after)).toEqual(['added', 'changing', 'steady']);
  expect(after.value('library_exporter_customers')).toBe(3);
  expectAllExact(after, steady);
  expect(pollsOf(after, 'steady')).toBeGreaterThanOrEqual(pollsOf(before, 'steady'));
  await exact(daemon, steady, changing, added);
  const requests = service.requestsOf(leaving, 'peoplecount').length;
  const polls = pollsOf(await daemon.scrape(), 'steady');
  await eventually(async () => {
    expect(pollsOf(await daemon.scrape(), 'steady')).toBeGreaterThan(polls + 2);
  });
  expect(service.requestsOf(leaving, 'peoplecount')).toHaveLength(requests);
});

test('a customer that is removed during a poll stays removed', async () => {
  service.fail(leaving, 'hang');
  const requests = service.requestsOf(leaving, 'peoplecount').length;
  await eventually(() => {
    expect(service.requestsOf(leaving, 'peoplecount').length).toBeGreaterThan(requests);
  });
  write([steady, changing]);
  await hangUp();
  service.heal(leaving);
  const polls = pollsOf(await daemon.scrape(), 'steady');
  await eventually(async () => {
    const exposition = await daemon.scrape();
    expect(customersOf(exposition)).toEqual(['changing', 'steady']);
    expect(pollsOf(exposition, 'steady')).toBeGreaterThan(polls + 1);
  });
});

test('settings of one customer change at PUT, with no effect on the others', async () => {
  const before = await daemon.scrape();
  write(everybody, {
    customers: { changing: { capacity: 77, labels: { region: 'north' }, streams: ['people'] } },
  });
  expect((await daemon.reload('PUT')).status).toBe(200);
  const after = await daemon.scrape();
  expect(after.value('library_capacity_people', { customer: 'changing' })).toBe(77);
  expect(after.all('library_customer_info').map(({ labels }) => labels['region'])).toEqual([
    '',
    'north',
    '',
  ]);
  expect(after.value('library_up', { customer: 'changing', stream: 'logins' })).toBeUndefined();
  expect(after.value('library_logins_total', { customer: 'changing' })).toBeUndefined();
  expectAllExact(after, steady);
  expectAllExact(after, leaving);
  expect(pollsOf(after, 'steady')).toBeGreaterThanOrEqual(pollsOf(before, 'steady'));
  expect(service.requestsOf(steady, 'token')).toHaveLength(1);
});

test('a changed secret is used after a reload', async () => {
  const valid = { customer: 'changing' };
  const { secret } = changing;
  changing.secret = `changed-${secret}`;
  service.revokeTokens(changing);
  await eventually(async () => {
    expect((await daemon.scrape()).value('library_credentials_valid', valid)).toBe(0);
  });
  const inline = { client_secret: changing.secret, client_secret_file: undefined };
  write(everybody, { customers: { changing: inline } });
  expect((await daemon.reload()).status).toBe(200);
  changing.ledger.add('people', { in: 5 });
  const after = await exact(daemon, changing, steady);
  expect(after.value('library_credentials_valid', valid)).toBe(1);
  changing.secret = secret;
  service.revokeTokens(changing);
});

test('a new zone and start of the day change today at once and the counters next month', async () => {
  const labels = { customer: 'changing' };
  const kept = [
    'library_people_entered_total',
    'library_logins_total',
    'library_counter_start_timestamp_seconds',
  ];
  const before = await daemon.scrape();
  const startsAt = clockFromNow('Pacific/Honolulu', -90);
  write(everybody, {
    customers: { changing: { timezone: 'Pacific/Honolulu', day_starts_at: startsAt } },
  });
  await hangUp();
  const startMs = dayStart(Date.now(), 'Pacific/Honolulu', startsAt);
  await eventually(async () => {
    const after = await daemon.scrape();
    expect(kept.map((name) => after.value(name, labels))).toEqual(
      kept.map((name) => before.value(name, labels)),
    );
    expect(after.value('library_people_entered_today', labels)).toBe(
      changing.ledger.total('people', 'in', startMs),
    );
    expect(after.value('library_utc_offset_seconds', labels)).toBe(
      offsetMs(Date.now(), 'Pacific/Honolulu') / 1_000,
    );
  });
});

test('sections polling and service change, and no counter falls', async () => {
  write(everybody, { polling: { interval: '1h', reconcile_interval: '2h' } });
  await hangUp();
  expect(pollsOf(await daemon.scrape(), 'steady')).toBeGreaterThan(0);
  service.fail(changing, 'hang');
  write(everybody, { service: { timeout: '300ms' } });
  await hangUp();
  const timeouts = { stream: 'people', reason: 'timeout' };
  await eventually(async () => {
    const failures = (await daemon.scrape()).value(
      'library_exporter_poll_failures_total',
      timeouts,
    );
    expect(failures).toBeGreaterThan(0);
  });
  service.heal(changing);
  steady.ledger.add('logins', { in: 2 });
  await exact(daemon, ...everybody);
});

const FAILED = 'config reload failed, keeping previous config';

/** Reloads a bad configuration; returns the problems. */
async function reloadFailing(way: 'SIGHUP' | 'POST' | 'PUT'): Promise<string> {
  if (way === 'SIGHUP') {
    await hangUp(FAILED);
    return String(daemon.logged(FAILED).at(-1)?.['problems']);
  }
  const answer = await daemon.reload(way);
  expect(answer.status).toBe(400);
  return answer.text();
}

test.each(['SIGHUP', 'POST', 'PUT'] as const)(
  'a bad configuration at %s changes nothing, and all problems are reported without a secret',
  async (way) => {
    const before = await daemon.scrape();
    workspace.write(
      'config.yaml',
      `service:
  base_url: https://statistics.example.org
customers:
  - name: steady
    client_id: steady-api
    client_secret: [mellow-otter-biscuit]
    timezone: Europe/Copenhaguen
    colour: red
`,
    );
    const problems = await reloadFailing(way);
    expect(problems).toMatch(/config\.yaml:2:\d+: service\.auth_url: /);
    expect(problems).toMatch(/config\.yaml:6:\d+: customers\[0\]\.client_secret: /);
    expect(problems).toMatch(/config\.yaml:7:\d+: customers\[0\]\.timezone: /);
    expect(problems).toMatch(/config\.yaml:8:\d+: customers\[0\]\.colour: /);
    expect(problems + daemon.stderr).not.toMatch(/mellow|otter|biscuit/);
    const after = await daemon.scrape();
    expect(after.value(SUCCESSFUL)).toBe(0);
    expect(after.value(SUCCESS_TIME)).toBe(before.value(SUCCESS_TIME));
    expect(customersOf(after)).toEqual(['changing', 'leaving', 'steady']);
    expect((await daemon.get('/-/ready')).status).toBe(200);
    write(everybody);
    expect((await daemon.reload()).status).toBe(200);
    const again = await daemon.scrape();
    expect(again.value(SUCCESSFUL)).toBe(1);
    expect(again.value(SUCCESS_TIME)).toBeGreaterThan(before.value(SUCCESS_TIME) ?? NaN);
  },
);

test('a reload over HTTP needs the flag and POST or PUT; SIGHUP needs neither', async () => {
  expect((await daemon.reload('GET')).status).toBe(405);
  const own = new Workspace();
  afterAll(() => own.close());
  const flag = `--storage.path=${own.folder}/data`;
  const without = await harness.start(writeConfig(own, service, [steady]), [flag]);
  expect((await without.reload('POST')).status).toBe(403);
  expect((await without.reload('PUT')).status).toBe(403);
  writeConfig(own, service, [steady, added]);
  without.signal('SIGHUP');
  await eventually(async () => {
    expect((await without.scrape()).value('library_exporter_customers')).toBe(2);
  });
});

test('changed and new files are read with --config.auto-reload-interval', async () => {
  const own = new Workspace();
  afterAll(() => own.close());
  mkdirSync(`${own.folder}/customers`);
  const [first, second] = [steady, added].map(({ name, clientId, secret, ledger }) =>
    JSON.stringify([{ name, client_id: clientId, client_secret: secret, timezone: ledger.zone }]),
  ) as [string, string];
  own.write('customers/first.yaml', first);
  const config = JSON.stringify({
    service: { base_url: service.url, auth_url: service.url, max_requests_per_second: 500 },
    polling: { interval: '1s' },
    customer_files: ['customers/*.yaml'],
  });
  const watching = await harness.start(own.write('config.yaml', config), [
    '--config.auto-reload-interval=1s',
    `--storage.path=${own.folder}/data`,
  ]);
  own.write('customers/second.yaml', second);
  await eventually(async () => {
    expect(customersOf(await watching.scrape())).toEqual(['added', 'steady']);
  });
  own.write('config.yaml', config.replace('"1s"', '"soon"'));
  await eventually(async () => expect((await watching.scrape()).value(SUCCESSFUL)).toBe(0));
  expect(customersOf(await watching.scrape())).toEqual(['added', 'steady']);
  own.write('config.yaml', config);
  await eventually(async () => expect((await watching.scrape()).value(SUCCESSFUL)).toBe(1));
  expect(watching.logged(FAILED)).toHaveLength(1);
});
