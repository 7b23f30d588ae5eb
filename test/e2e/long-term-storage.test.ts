/**
 * VictoriaMetrics as the long-term storage of two shards, which a Prometheus and a vmagent scrape as
 * replicas: queries of the dashboards and rules, written for Prometheus, give the same there.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../bench/free-port.ts';
import { launch } from '../acceptance/daemon.ts';
import { queriesOf, readDashboards } from '../grafana/dashboard.ts';
import { readAlerts, readRecordings } from '../prometheus/rules.ts';
import { startExporters } from './support/exporters.ts';
import type { Exporters } from './support/exporters.ts';
import { debianProgram, eventually } from './support/processes.ts';
import { querying, startPrometheus } from './support/prometheus.ts';
import type { Prometheus, Sample } from './support/prometheus.ts';
import { QUICK, quickRules } from './support/quick-rules.ts';

let exporters: Exporters;
let prometheus: Prometheus;
let agentUrl: string;
let storage: ReturnType<typeof querying>;

beforeAll(async () => {
  exporters = await startExporters(['--shard=0/2'], ['--shard=1/2']);
  const { workspace, daemons } = exporters;
  const address = `127.0.0.1:${await freePort()}`;
  storage = querying(`http://${address}`);
  const flags = [
    `-storageDataPath=${workspace.folder}/long-term`,
    '-dedup.minScrapeInterval=1s',
    // Otherwise queries show what was there half a minute ago.
    '-search.latencyOffset=0s',
  ];
  const program = debianProgram('/usr/bin/victoria-metrics');
  launch(workspace, flags, {}, [program, `-httpListenAddr=${address}`]);
  await eventually('VictoriaMetrics', () => storage.query('1').catch(() => undefined));
  const job = {
    job_name: 'library',
    static_configs: [{ targets: daemons.map(({ url }) => new URL(url).host) }],
  };
  const write = `http://${address}/api/v1/write`;
  prometheus = await startPrometheus(
    {},
    {
      config: {
        global: { ...QUICK, external_labels: { replica: 'a' } },
        scrape_configs: [job],
        rule_files: quickRules(workspace),
        remote_write: [
          { url: write, write_relabel_configs: [{ regex: 'replica', action: 'labeldrop' }] },
        ],
      },
    },
  );
  const { scrape_interval, scrape_timeout } = QUICK;
  const agentConfig = { global: { scrape_interval, scrape_timeout }, scrape_configs: [job] };
  const agentAddress = `127.0.0.1:${await freePort()}`;
  const agentFlags = [
    `-promscrape.config=${workspace.write('vmagent.json', JSON.stringify(agentConfig))}`,
    `-remoteWrite.tmpDataPath=${workspace.folder}/vmagent`,
    `-remoteWrite.url=${write}`,
  ];
  agentUrl = `http://${agentAddress}`;
  launch(workspace, agentFlags, {}, [
    debianProgram('/usr/bin/vmagent'),
    `-httpListenAddr=${agentAddress}`,
  ]);
  await eventually('the values of all customers', async () => {
    const samples = await storage.query('library_values_accepted_timestamp_seconds');
    return samples.length === 2 * exporters.customers.length ? true : undefined;
  });
});

afterAll(async () => {
  await prometheus?.stop();
  await exporters?.stop();
});

test('both replicas write, and each customer of both shards is there once', async () => {
  await eventually('rows of both replicas', async () => {
    const agentMetrics = await (await fetch(`${agentUrl}/metrics`)).text();
    const sent = /^vmagent_remotewrite_requests_total\{.*status_code="2XX"\} ([1-9])/m;
    const written = await prometheus.query('up');
    return sent.test(agentMetrics) && written.length === 2 ? true : undefined;
  });
  const samples = await storage.query('library_people_entered_total');
  const names = samples.map(({ labels }) => labels['customer'] ?? '');
  expect(names.toSorted()).toEqual(exporters.customers.toSorted());
  expect(samples.flatMap(({ labels }) => labels['replica'] ?? [])).toEqual([]);
});

/** Their values are of a window longer than the test, where the beginning is not read the same. */
const OF_A_RANGE =
  /\b(rate|increase|changes|resets|delta|histogram_quantile)\(|(?<!last)_over_time\(/;
/** These differ from scrape to scrape. */
const OF_THE_PROCESS = /\b(process_(resident|cpu)|nodejs)_/;

test('the queries of dashboards and rules give the same as in Prometheus', async () => {
  const expressions = [
    ...readDashboards().flatMap(([, { panels }]) => panels.flatMap(queriesOf)),
    ...readRecordings().map(({ expr }) => expr),
    ...readAlerts().map(({ expr }) => expr),
  ].map((expression) =>
    expression
      .replaceAll('$__range', '24h')
      .replaceAll(/\$__(rate_interval|interval)\b/g, '1h')
      // One library.
      .replaceAll('customer="$customer"', 'customer=~".+"')
      .replaceAll('branch="$branch"', 'branch=~".*"')
      .replaceAll('$branch', '.*')
      .replaceAll(/\$(job|instance|customer)\b/g, '.+'),
  );
  // Some seconds ago: what was scraped until then is written.
  const atMs = await eventually('a time when both had all customers', async () => {
    const candidateMs = Date.now() - 5_000;
    const accepted = 'library_values_accepted_timestamp_seconds';
    const responses = await Promise.all(
      [prometheus, storage].map(({ query }) => query(accepted, candidateMs)),
    );
    const isThere = responses.every(({ length }) => length === 2 * exporters.customers.length);
    return isThere ? candidateMs : undefined;
  });
  const different: unknown[] = [];
  let withData = 0;
  for (const expression of expressions) {
    const here = await prometheus.query(expression, atMs);
    const there = await storage.query(expression, atMs);
    if (OF_A_RANGE.test(expression) || OF_THE_PROCESS.test(expression)) {
      continue;
    }
    withData += here.length > 0 ? 1 : 0;
    if (!areAlike(here, there)) {
      different.push({ expression, here, there });
    }
  }
  expect(different).toEqual([]);
  expect(withData).toBeGreaterThan(30);
});

/**
 * Tells whether both have the same series with the same values. VictoriaMetrics stores at most
 * 12 digits, so values may differ by one part in 10^10.
 */
function areAlike(here: readonly Sample[], there: readonly Sample[]): boolean {
  const others = byLabels(there);
  return (
    here.length === there.length &&
    [...byLabels(here)].every(([labels, value]) => {
      const other = others.get(labels);
      return (
        Object.is(value, other) ||
        (other !== undefined && Math.abs(value - other) <= 1e-10 * Math.abs(value))
      );
    })
  );
}

function byLabels(samples: readonly Sample[]): Map<string, number> {
  return new Map(
    samples.map(({ labels, value }) => {
      const sorted = Object.entries(labels).toSorted(([a], [b]) => a.localeCompare(b));
      return [JSON.stringify(sorted), value];
    }),
  );
}
