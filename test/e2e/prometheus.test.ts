/** /metrics of the demo, read by promtool and by a real Prometheus. */
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Exposition } from '../acceptance/exposition.ts';
import { labelsOf } from '../grafana/contract-metrics.ts';
import { startDemo } from './support/demo.ts';
import type { Demo } from './support/demo.ts';
import { debianProgram, eventually, run } from './support/processes.ts';
import { startPrometheus } from './support/prometheus.ts';
import type { Prometheus } from './support/prometheus.ts';

let demo: Demo;
let prometheus: Prometheus;

beforeAll(async () => {
  demo = await startDemo();
  prometheus = await startPrometheus({ library: new URL(demo.url).host });
  await eventually('five customers', async () => {
    const counters = await prometheus.query('library_people_entered_total');
    return counters.length === 5 || undefined;
  });
});

afterAll(async () => {
  await prometheus?.stop();
  await demo?.stop();
});

async function text(): Promise<string> {
  return (await fetch(`${demo.url}/metrics`)).text();
}

test('promtool check metrics has nothing to say', async () => {
  const { output } = run(debianProgram('/usr/bin/promtool'), ['check', 'metrics'], await text());
  expect(output).toBe('');
});

test('Prometheus reads from OpenMetrics what the text format has, and nothing else of ours', async () => {
  // More than once: a poll may add families between the scrape of Prometheus and ours.
  const names = await eventually('a scrape with the same families', async () => {
    const found = await prometheus.labelValues('__name__', '{__name__=~"library_.+"}');
    const { samples } = new Exposition(await text());
    const inText = samples.map(({ name }) => name).filter((name) => name.startsWith('library_'));
    return isDeepStrictEqual(found, [...new Set(inText)].toSorted()) ? found : undefined;
  });
  expect(names.length).toBeGreaterThan(40);
  expect(names.filter((name) => labelsOf(name) === undefined)).toEqual([]);
});
