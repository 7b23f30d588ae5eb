/** The endpoints, every family with its type and labels (docs/reference/metrics.md), and the values of breakdowns. */
import { beforeAll, expect, test, vi } from 'vitest';
import { CONTRACT_METRICS, labelsOf } from '../grafana/contract-metrics.ts';
import { eventually, flagsFor, launch } from './daemon.ts';
import type { Daemon } from './daemon.ts';
import { dayStartsAt, exact } from './expected.ts';
import { Exposition } from './exposition.ts';
import { Harness } from './harness.ts';
import { dayMs, dayStart, hourMs, periodStart } from './local-time.ts';

const harness = new Harness();
const { service, workspace } = harness;
const riverside = harness.addCustomer('riverside');
const hillside = harness.addCustomer('hillside');
let daemon: Daemon;

const openMetrics = { accept: 'application/openmetrics-text; version=1.0.0' };

/** Every family but those that need days of history, or a problem. */
const families = Object.entries(CONTRACT_METRICS).filter(
  ([name]) =>
    !/^library_(occupancy_esti|door|problem)|_usual_|_last_seen|_missed|occupancy_/.test(name),
);

const breakdowns = ['branch', 'client', 'device'] as const;
type Breakdown = (typeof breakdowns)[number];

async function untilUp(expected: 0 | 1, ...streams: readonly string[]): Promise<void> {
  await eventually(async () => {
    const exposition = await daemon.scrape();
    for (const stream of streams) {
      expect(exposition.value('library_up', { customer: 'riverside', stream })).toBe(expected);
    }
  });
}

beforeAll(async () => {
  // Without logins in between, consecutive records are of different branches.
  for (const hours of [2, 3, 30, 300]) {
    riverside.ledger.add('people', { in: hours, out: 2 }, Date.now() - hours * hourMs);
  }
  const configFile = harness.configure([riverside, hillside], {
    polling: { breakdown_interval: '1s' },
    customers: {
      riverside: { breakdowns, branches: { 101: 'Main Library', 7: 'Old Town' } },
      hillside: { capacity: 250, opening_hours: '24/7', staffed_hours: 'Mo-Fr 10:00-18:00' },
    },
  });
  // Some families have series only after a failure.
  riverside.faults.data = 500;
  daemon = await harness.start(configFile);
  await untilUp(0, 'people');
  riverside.faults = {};
  await untilUp(1, ...breakdowns);
  await exact(daemon, riverside, hillside);
  await vi.waitUntil(async () => (await daemon.scrape()).all('library_device_info').length > 0, {
    timeout: 60_000,
  });
});

test.each([
  ['text', {}, 'text/plain; version=0.0.4', 'gzip'],
  ['text', { 'accept-encoding': 'identity' }, 'text/plain; version=0.0.4', null],
  ['OpenMetrics', openMetrics, openMetrics.accept, 'gzip'],
])('%s, as for %j, has every family', async (format, headers, contentType, encoding) => {
  // fetch accepts gzip.
  const response = await daemon.get('/metrics', headers);
  expect(response.headers.get('content-type')).toContain(contentType);
  expect(response.headers.get('content-encoding')).toBe(encoding);
  const text = await response.text();
  const isOpen = format === 'OpenMetrics';
  expect(text.endsWith('\n# EOF\n')).toBe(isOpen);
  const exposition = new Exposition(text);
  for (const [name, labels] of families) {
    const type = typeOf(name);
    const family = isOpen ? name.replace(/_total$/, '') : name;
    expect([name, exposition.type.get(family)]).toEqual([name, type]);
    // Gauges of a building have `branch` where it is a branch.
    const isOfBuilding = labels.includes('branch') && !name.startsWith('library_branch_');
    const series = exposition
      .all(type === 'histogram' ? `${name}_count` : name)
      .map((one) => Object.keys({ ...(isOfBuilding && { branch: '' }), ...one.labels }));
    const shown = new Set(series.map((names) => names.toSorted().join()));
    expect([name, ...shown]).toEqual([name, [...labels].toSorted().join()]);
  }
  const withoutHelp = [...exposition.type.keys()].filter((name) => !exposition.help.get(name));
  expect(withoutHelp).toEqual([]);
  const odd = exposition.samples.filter(
    ({ name, labels, value }) =>
      'customer' in labels && (!Number.isFinite(value) || labelsOf(name) === undefined),
  );
  expect(odd).toEqual([]);
  expect(exposition.value('process_resident_memory_bytes')).toBeGreaterThan(0);
  expect(exposition.samples.some(({ name }) => name.startsWith('nodejs_'))).toBe(true);
});

function typeOf(name: string): string {
  const isHistogram = name.endsWith('_duration_seconds');
  return isHistogram ? 'histogram' : name.endsWith('_total') ? 'counter' : 'gauge';
}

/** The service's sums of the period or of today, of each branch, client or device of the period. */
function sumsOf(breakdown: Breakdown, side: 'in' | 'out', startOf: typeof dayStart) {
  function rowsSince(start: typeof dayStart) {
    const startMs = start(Date.now(), harness.zone, dayStartsAt);
    return riverside.ledger.respond('people', breakdown, startMs, Infinity).rows;
  }
  const zeros = rowsSince(periodStart).map(({ key }) => [key, 0] as const);
  const sums = rowsSince(startOf).map((row) => [row.key, row[side]] as const);
  return Object.fromEntries([...zeros, ...sums]);
}

/** The values of a breakdown by key. */
function shown(exposition: Exposition, breakdown: Breakdown, metric: string) {
  // Gauges of buildings have one name, with the label of the branch or without it.
  const isOfBuilding = breakdown === 'branch' && !metric.endsWith('_total');
  const samples = exposition
    .all(`library_${isOfBuilding ? '' : `${breakdown}_`}${metric}`)
    .filter(({ labels }) => labels['customer'] === 'riverside');
  return Object.fromEntries(samples.map(({ labels, value }) => [labels[breakdown], value]));
}

test('every breakdown is exact, with late records, and branches have names and an occupancy', async () => {
  riverside.ledger.add('people', { in: 3, out: 1 }, Date.now() - 3 * dayMs);
  riverside.ledger.add('people', { in: 2, out: 5 });
  await exact(daemon, riverside);
  const sides = { people_entered: 'in', people_exited: 'out' } as const;
  const exposition = await eventually(async () => {
    const latest = await daemon.scrape();
    for (const breakdown of breakdowns) {
      for (const [counter, side] of Object.entries(sides)) {
        const totals = sumsOf(breakdown, side, periodStart);
        expect(shown(latest, breakdown, `${counter}_total`)).toEqual(totals);
        // A configured building that counted nobody has 0 today, and no total.
        const others = breakdown === 'branch' ? { 7: 0 } : {};
        const today = { ...others, ...sumsOf(breakdown, side, dayStart) };
        expect(shown(latest, breakdown, `${counter}_today`)).toEqual(today);
      }
    }
    const exited = sumsOf('branch', 'out', dayStart);
    const inside = shown(latest, 'branch', 'occupancy_people');
    for (const [branch, entered] of Object.entries(sumsOf('branch', 'in', dayStart))) {
      expect(inside[branch]).toBeGreaterThanOrEqual(entered - (exited[branch] ?? NaN));
    }
    return latest;
  });
  const infos = exposition.all('library_site_info').map(({ labels }) => labels);
  const named = infos.filter(({ branch }) => branch !== undefined);
  expect(named.map(({ branch, name }) => [branch, name])).toEqual([
    ['7', 'Old Town'],
    ['101', 'Main Library'],
    ['102', '102'],
  ]);
});

test('a target of /sd has the series of its customer alone', async () => {
  const response = await daemon.get('/sd');
  expect(response.headers.get('content-type')).toMatch(/^application\/json/);
  const { host } = new URL(daemon.url);
  const targets = ['riverside', 'hillside'].map((name) => {
    const own = { __param_customer: name, instance: `${host}/${name}` };
    return { targets: [host], labels: { __metrics_path__: '/metrics', ...own } };
  });
  expect(await response.json()).toEqual(targets);
  const text = await (await daemon.get('/metrics?customer=riverside')).text();
  const { samples } = new Exposition(text);
  expect(new Set(samples.map(({ labels }) => labels['customer']))).toEqual(new Set(['riverside']));
  expect(samples.map(({ name }) => name)).toContain('library_people_entered_total');
  expect((await daemon.get('/metrics?customer=riverside&customer=other')).status).toBe(404);
});

test('behind a proxy, paths and targets are those of the flags', async () => {
  const config = harness.configure([hillside], { file: 'proxied.yaml' });
  const paths = ['--web.external-url=https://example.org/library', '--web.route-prefix=/own'];
  const more = [...paths, '--web.telemetry-path=/stats', '--storage.path='];
  const proxied = await launch(workspace, flagsFor(workspace, config, ...more)).listening();
  await eventually(async () => expect((await proxied.get('/own/stats')).status).toBe(200));
  expect((await proxied.get('/stats')).status).toBe(404);
  expect(await (await proxied.get('/own/sd')).json()).toMatchObject([
    { targets: ['example.org:443'], labels: { __metrics_path__: '/library/stats' } },
  ]);
});

test('healthy, ready and the status page respond; the log is JSON on standard error', async () => {
  await eventually(async () => {
    expect((await daemon.get('/-/healthy')).status).toBe(200);
    expect((await daemon.get('/-/ready')).status).toBe(200);
  });
  const page = await daemon.get('/');
  expect(page.status).toBe(200);
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(await page.text()).toContain('riverside');
  const config = await (await daemon.get('/config')).text();
  expect(config).toMatch(/^service:\n {2}base_url: http:.*\n/);
  expect(config).toContain('"name":"riverside"');
  expect((await daemon.get('/no-such-page')).status).toBe(404);
  expect(daemon.logged('listening')).toHaveLength(1);
  expect(daemon.stdout).toBe('');
});

test('no HTTP request makes the exporter request anything from the service', async () => {
  const idle = harness.addCustomer('idle');
  const polling = { interval: '1d', reconcile_interval: '1d' };
  const file = harness.configure([idle], { polling });
  const other = await harness.start(file, [`--storage.path=${workspace.folder}/idle`]);
  await exact(other, idle);
  function requests() {
    return service.requests.filter(({ customer }) => customer === idle);
  }
  // The past is read after the first polls: it alone has an end.
  await eventually(() => {
    const read = requests().filter(({ query }) => query.has('to'));
    const kinds = read.map(({ endpoint, query }) => `${endpoint} ${query.get('aggregation')}`);
    expect(new Set(kinds).size).toBe(6);
  });
  const { length } = requests();
  const query = 'customer=idle&from=2026-01-01&target=http://127.0.0.1:1&reload=1';
  for (const path of ['/metrics', '/', '/-/healthy', '/-/ready', '/probe', '/v1/peoplecount']) {
    await (await other.get(`${path}?${query}`)).text();
  }
  expect(requests()).toHaveLength(length);
  await harness.stop(other);
});
