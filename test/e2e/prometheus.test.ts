import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CUSTOMER_METRICS, EXPORTER_METRICS, labelsOf } from '../grafana/contract-metrics.ts';
import { startDemo } from './support/demo.ts';
import type { Demo } from './support/demo.ts';
import { debianProgram, eventually, run } from './support/processes.ts';
import { startPrometheus } from './support/prometheus.ts';
import type { Prometheus } from './support/prometheus.ts';
import { startScrapeProxy } from './support/scrape-proxy.ts';
import type { ScrapeProxy } from './support/scrape-proxy.ts';

let demo: Demo;
let asIs: ScrapeProxy;
let asText: ScrapeProxy;
let prometheus: Prometheus;

beforeAll(async () => {
  demo = await startDemo();
  asIs = await startScrapeProxy(demo.url);
  asText = await startScrapeProxy(demo.url, 'text/plain;version=0.0.4');
  prometheus = await startPrometheus({ library: asIs.address, 'library-text': asText.address });
  // A counter has grown by a number, if it be 0, as soon as it was scraped twice.
  await eventually('two scrapes of five customers in each format', async () => {
    const grown = await prometheus.query('increase(library_people_entered_total[1h])');
    return grown.length === 10 || undefined;
  });
});

afterAll(async () => {
  await prometheus?.stop();
  await asText?.stop();
  await asIs?.stop();
  await demo?.stop();
});

describe('/metrics', () => {
  test('passes promtool but for the word counter in names of the contract', async () => {
    const answer = await fetch(`${demo.url}/metrics`);
    const text = await answer.text();
    expect(text).toContain('library_people_entered_total');
    const promtool = debianProgram('/usr/bin/promtool');
    const { output } = run(promtool, ['check', 'metrics'], text);
    const unexpected = output
      .split('\n')
      .filter((line) => !/^(library_\w*counter_\w+ .* include type 'counter')?$/.test(line));
    expect(unexpected).toEqual([]);
  });

  test('is scraped by Prometheus as OpenMetrics and as text', async () => {
    expect(await prometheus.query('up == 1')).toHaveLength(2);
    expect(asIs.contentTypes()).toEqual([
      expect.stringMatching(/^application\/openmetrics-text; ?version=1\.0\.0/),
    ]);
    expect(asText.contentTypes()).toEqual([
      expect.stringMatching(/^text\/plain; ?version=0\.0\.4/),
    ]);
  });

  test('has the same series in both formats', async () => {
    const difference = await prometheus.query(
      'count by (__name__) ({job="library"}) unless count by (__name__) ({job="library-text"})' +
        ' or count by (__name__) ({job="library-text"}) unless count by (__name__) ({job="library"})',
    );
    expect(difference).toEqual([]);
    const [families] = await prometheus.query('count(count by (__name__) ({job="library"}))');
    expect(families?.value).toBeGreaterThan(40);
  });

  test.each(Object.entries(CUSTOMER_METRICS))(
    'shows %s for each customer, with the labels %j',
    async (metric, labels) => {
      const series = await prometheus.query(`{__name__="${metric}",job="library"}`);
      const customers = new Set(series.map((one) => one.labels['customer']));
      expect(customers).toEqual(new Set(demo.customers));
      for (const one of series) {
        expect(Object.keys(one.labels)).toEqual(expect.arrayContaining([...labels]));
      }
    },
  );

  // A failure that has not happened need not be counted yet.
  test.each(
    Object.keys(EXPORTER_METRICS).filter((name) => name !== 'library_exporter_poll_failures_total'),
  )('shows %s of the exporter itself', async (metric) => {
    const found = await prometheus.query(
      `{__name__=~"${metric}(_bucket|_count|_sum)?",job="library"}`,
    );
    expect(found).not.toEqual([]);
  });

  test('shows nothing of ours that is not promised', async () => {
    const names = await prometheus.labelValues('__name__', '{__name__=~"library_.+"}');
    expect(names.filter((name) => labelsOf(name) === undefined)).toEqual([]);
    expect(names.length).toBeGreaterThan(Object.keys(CUSTOMER_METRICS).length);
  });
});
