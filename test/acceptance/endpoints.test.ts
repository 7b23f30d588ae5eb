/** What Prometheus and people get from the daemon's own address (CONTRACT, sections 3 and 4). */
import { beforeAll, expect, test, vi } from 'vitest';
import { Daemon, eventually, Workspace, writeConfig } from './daemon.ts';
import { Exposition } from './exposition.ts';
import { afternoonZone } from './local-time.ts';
import { stage } from './stage.ts';
import { expectCountersExact, expectNoSecret, fillHistory } from './world.ts';

const { service, workspace } = stage();
const riverside = service.addCustomer('riverside', afternoonZone(Date.now()));
let daemon: Daemon;

const openMetrics = { accept: 'application/openmetrics-text; version=1.0.0' };

/** The families of CONTRACT 4 with their types and labels, but for the breakdowns. */
const families: readonly [name: string, type: string, labels: string][] = [
  ['library_people_entered_total', 'counter', 'customer'],
  ['library_people_exited_total', 'counter', 'customer'],
  ['library_logins_total', 'counter', 'customer'],
  ['library_people_entered_today', 'gauge', 'customer'],
  ['library_people_exited_today', 'gauge', 'customer'],
  ['library_logins_today', 'gauge', 'customer'],
  ['library_occupancy_people', 'gauge', 'customer'],
  ['library_capacity_people', 'gauge', 'customer'],
  ['library_open', 'gauge', 'customer'],
  ['library_people_last_seen_timestamp_seconds', 'gauge', 'customer'],
  ['library_logins_last_seen_timestamp_seconds', 'gauge', 'customer'],
  ['library_up', 'gauge', 'customer,stream'],
  ['library_poll_last_success_timestamp_seconds', 'gauge', 'customer,stream'],
  ['library_polls_total', 'counter', 'customer,stream'],
  ['library_poll_failures_total', 'counter', 'customer,stream'],
  ['library_polls_skipped_total', 'counter', 'customer,stream'],
  ['library_credentials_valid', 'gauge', 'customer'],
  ['library_counter_start_timestamp_seconds', 'gauge', 'customer'],
  ['library_counter_excess', 'gauge', 'counter,customer'],
  ['library_utc_offset_seconds', 'gauge', 'customer'],
  ['library_customer_info', 'gauge', 'customer,region,timezone'],
  ['library_exporter_build_info', 'gauge', 'nodeversion,revision,version'],
  ['library_exporter_customers', 'gauge', ''],
  ['library_exporter_shard_info', 'gauge', 'shard,shards'],
  ['library_exporter_poll_failures_total', 'counter', 'reason,stream'],
  ['library_exporter_poll_duration_seconds', 'histogram', 'stream'],
  ['library_exporter_service_requests_total', 'counter', 'code,endpoint'],
  ['library_exporter_service_request_duration_seconds', 'histogram', 'endpoint'],
  ['library_exporter_config_last_reload_successful', 'gauge', ''],
  ['library_exporter_config_last_reload_success_timestamp_seconds', 'gauge', ''],
];

beforeAll(async () => {
  await service.start();
  fillHistory(riverside.ledger);
  const keys = { capacity: 250, opening_hours: '24/7', labels: { region: 'north' } };
  const configFile = writeConfig(workspace, service, [riverside], {
    customers: { riverside: keys },
  });
  daemon = await Daemon.start(workspace, configFile, undefined, {}, ['--web.openmetrics-created']);
  // Some families have series only after a failure.
  service.fail(riverside, 500);
  const labels = { customer: 'riverside', stream: 'people' };
  await vi.waitUntil(async () => (await daemon.scrape()).value('library_up', labels) === 0, {
    timeout: 15_000,
  });
  service.heal(riverside);
  await eventually(async () => {
    expectCountersExact(await daemon.scrape(), 'riverside', riverside.ledger);
  });
});

test.each(families)(
  '%s is a %s with the labels "%s", and has a help text',
  async (name, type, labels) => {
    const exposition = await daemon.scrape();
    expect(exposition.type.get(name)).toBe(type);
    expect(exposition.help.get(name)?.length).toBeGreaterThan(10);
    const series = exposition.all(type === 'histogram' ? `${name}_count` : name);
    expect(series.length).toBeGreaterThan(0);
    for (const sample of series) {
      expect(Object.keys(sample.labels).toSorted().join(',')).toBe(labels);
    }
  },
);

test.each(families)('%s, a %s, is in OpenMetrics under its name there', async (name, type) => {
  const answer = await daemon.get('/metrics', openMetrics);
  const exposition = new Exposition(await answer.text());
  expect(exposition.type.get(type === 'counter' ? name.replace(/_total$/, '') : name)).toBe(type);
  expect(exposition.all(type === 'histogram' ? `${name}_count` : name)).not.toEqual([]);
});

test('counters of the counting period have its start as _created, in OpenMetrics only', async () => {
  const openmetrics = new Exposition(await (await daemon.get('/metrics', openMetrics)).text());
  const labels = { customer: 'riverside' };
  const startSeconds = openmetrics.value('library_counter_start_timestamp_seconds', labels);
  for (const counter of ['people_entered', 'people_exited', 'logins']) {
    expect(openmetrics.value(`library_${counter}_created`, labels)).toBe(startSeconds);
  }
  expect(openmetrics.all('library_polls_created')).toEqual([]);
  expect((await daemon.scrape()).all('library_logins_created')).toEqual([]);
});

test('every family has HELP and TYPE, and a known customer has nothing but finite numbers', async () => {
  const exposition = await daemon.scrape();
  expect([...exposition.type.keys()].filter((name) => !exposition.help.has(name))).toEqual([]);
  const odd = exposition.samples.filter(({ name, labels, value }) => {
    const family = name.replace(/_(bucket|sum|count)$/, '');
    const isTyped = exposition.type.has(name) || exposition.type.has(family);
    return !isTyped || ('customer' in labels && !Number.isFinite(value));
  });
  expect(odd).toEqual([]);
});

test('the process and the runtime are there too', async () => {
  const exposition = await daemon.scrape();
  expect(exposition.value('process_resident_memory_bytes')).toBeGreaterThan(0);
  expect(exposition.samples.some(({ name }) => name.startsWith('nodejs_'))).toBe(true);
});

test('the formats follow Accept, and one leaves the other alone', async () => {
  for (let round = 0; round < 2; round += 1) {
    const text = await daemon.get('/metrics');
    expect(text.headers.get('content-type')).toMatch(/^text\/plain; ?version=0\.0\.4/);
    const body = await text.text();
    expect(body).toContain('# TYPE library_people_entered_total counter\n');
    expect(body).toContain('# TYPE library_exporter_service_requests_total counter\n');
    expect(body).not.toContain('# EOF');

    const open = await daemon.get('/metrics', openMetrics);
    const type = open.headers.get('content-type');
    expect(type).toMatch(/^application\/openmetrics-text; ?version=1\.0\.0/);
    const openBody = await open.text();
    expect(openBody).toContain('# TYPE library_people_entered counter\n');
    expect(openBody.endsWith('\n# EOF\n')).toBe(true);
    const labels = { customer: 'riverside' };
    expect(new Exposition(openBody).value('library_people_entered_total', labels)).toBe(
      new Exposition(body).value('library_people_entered_total', labels),
    );
  }
});

test('what a Prometheus sends as Accept gets OpenMetrics or text as it prefers', async () => {
  const prometheus =
    'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1';
  const preferred = await daemon.get('/metrics', { accept: prometheus });
  expect(preferred.headers.get('content-type')).toContain('application/openmetrics-text');
  const textOnly = await daemon.get('/metrics', { accept: 'text/plain' });
  expect(textOnly.headers.get('content-type')).toContain('text/plain');
});

test('the answer is compressed when the scraper takes gzip, and only then', async () => {
  const packed = await daemon.get('/metrics', { 'accept-encoding': 'gzip' });
  expect(packed.headers.get('content-encoding')).toBe('gzip');
  const plain = await daemon.get('/metrics', { 'accept-encoding': 'identity' });
  expect(plain.headers.get('content-encoding')).toBeNull();
  const [packedTypes, plainTypes] = [await packed.text(), await plain.text()].map(
    (text) => new Exposition(text).type,
  );
  expect(packedTypes).toEqual(plainTypes);
});

test('the daemon is healthy and ready', async () => {
  await eventually(async () => {
    expect((await daemon.get('/-/healthy')).status).toBe(200);
    expect((await daemon.get('/-/ready')).status).toBe(200);
  });
});

test('reload is forbidden without the lifecycle flag', async () => {
  const answer = await fetch(`${daemon.url}/-/reload`, { method: 'POST' });
  expect(answer.status).toBe(403);
});

test('the status page names the customer, and an unknown path is not found', async () => {
  const page = await daemon.get('/');
  expect(page.status).toBe(200);
  expect(await page.text()).toContain('riverside');
  expect((await daemon.get('/no-such-page')).status).toBe(404);
});

test('logs are lines of JSON on standard error, standard output is empty, no secret anywhere', async () => {
  expect(daemon.logLines().length).toBeGreaterThan(0);
  expect(daemon.stdout).toBe('');
  await expectNoSecret(daemon, service);
});

test('no request makes the exporter ask the service, whatever its parameters', async () => {
  const own = new Workspace();
  const polling = { interval: '1d', reconcile_interval: '1d' };
  const seldom = await Daemon.start(own, writeConfig(own, service, [riverside], { polling }));
  await eventually(async () => {
    expectCountersExact(await seldom.scrape(), 'riverside', riverside.ledger);
  });
  // That of the file's daemon goes on asking.
  await daemon.stop();
  const asked = service.requests.length;
  const question = 'customer=riverside&from=2026-01-01&target=http://127.0.0.1:1&reload=1';
  for (const path of ['/metrics', '/', '/-/healthy', '/-/ready', '/probe', '/v1/peoplecount']) {
    await (await seldom.get(`${path}?${question}`)).text();
  }
  expect(service.requests).toHaveLength(asked);
  await own.close();
});
