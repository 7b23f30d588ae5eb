/** HTTP service discovery with a real Prometheus: two share the customers, a third reads one tenant's. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startDemo } from './support/demo.ts';
import type { Demo } from './support/demo.ts';
import { eventually } from './support/processes.ts';
import { startPrometheus } from './support/prometheus.ts';
import type { Prometheus } from './support/prometheus.ts';

let demo: Demo;
const servers: Prometheus[] = [];

beforeAll(async () => {
  demo = await startDemo();
});

afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  await demo?.stop();
});

/** Starts a Prometheus with one job, which refreshes its targets every second. */
async function scraping(job: object): Promise<Prometheus> {
  const scrape_configs = [{ job_name: 'library', ...job }];
  const server = await startPrometheus({}, { config: { scrape_configs } });
  servers.push(server);
  return server;
}

/** Returns the customers with counters, sorted. */
async function customersOf(prometheus: Prometheus): Promise<readonly string[]> {
  const samples = await prometheus.query('library_people_entered_total');
  return samples.map(({ labels }) => labels['customer'] ?? '').toSorted();
}

/** The scrape configuration of docs/operations.md for one of two servers. */
function half(number: number): object {
  return {
    http_sd_configs: [{ url: `${demo.url}/sd`, refresh_interval: '1s' }],
    relabel_configs: [
      {
        source_labels: ['__param_customer'],
        modulus: 2,
        target_label: '__tmp_half',
        action: 'hashmod',
      },
      { source_labels: ['__tmp_half'], regex: String(number), action: 'keep' },
      { regex: '__meta_library_(.+)', action: 'labelmap', replacement: 'tenant_$1' },
    ],
  };
}

test('two servers share the customers by hashmod: each customer is scraped once', async () => {
  const [first, second] = await Promise.all([scraping(half(0)), scraping(half(1))]);
  const names = await eventually('all customers', async () => {
    const halves = [await customersOf(first), await customersOf(second)];
    return halves.flat().length >= demo.customers.length ? halves : undefined;
  });
  expect(names.flat().toSorted()).toEqual(demo.customers.toSorted());
  expect(names.map(({ length }) => length)).not.toContain(0);
  const { host } = new URL(demo.url);
  const instances = names.flat().map((name) => `${host}/${name}`);
  const ups = [...(await first.query('up == 1')), ...(await second.query('up == 1'))];
  expect(new Set(ups.map(({ labels }) => labels['instance']))).toEqual(new Set(instances));
  // The configured labels are at hand, and the exporter's own metrics are not among these.
  expect(ups.map(({ labels }) => labels['tenant_region'])).not.toContain(undefined);
  expect(await first.query('library_exporter_build_info')).toEqual([]);
});

test('a server with the parameter of a tenant reads the customers of that tenant', async () => {
  const tenant = await scraping({
    static_configs: [{ targets: [new URL(demo.url).host] }],
    params: { customer: ['riverside', 'old-town'] },
  });
  await eventually('two customers', async () =>
    (await customersOf(tenant)).length > 1 ? true : undefined,
  );
  expect(await tenant.labelValues('customer', '{__name__=~".+"}')).toEqual([
    'old-town',
    'riverside',
  ]);
  expect(await tenant.query('{__name__=~"(library_exporter|process|nodejs)_.+"}')).toEqual([]);
});
