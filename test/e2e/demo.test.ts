/** The demo in a real Prometheus: its metrics, service discovery, and every query of the dashboards. */
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Exposition } from '../acceptance/exposition.ts';
import { labelsOf } from '../grafana/contract-metrics.ts';
import { labelValues, readDashboards } from '../grafana/dashboard.ts';
import type { Dashboard } from '../grafana/dashboard.ts';
import { startDemo } from './support/demo.ts';
import type { Demo } from './support/demo.ts';
import { debianProgram, eventually, run } from './support/processes.ts';
import { startPrometheus } from './support/prometheus.ts';
import type { Prometheus, Sample } from './support/prometheus.ts';
import { QUICK } from './support/quick-rules.ts';

/** The selection where All is not possible: the doors of this library work, and its past is read first. */
const CUSTOMER = 'southern-cross';
const WITH_ONE_LIBRARY = ['library-customer', 'library-now'];
/** These need weeks of history, recordings, shards, failed polls, a state that is saved, or an hour of the day. */
const MAY_BE_EMPTY = [
  'Entries, month to date',
  'Logins, month to date',
  'Entries by month',
  'Logins by month',
  'Months of branches',
  'Months with missing counts',
  'Logins today, a week ago',
  'Usually inside, in an hour',
  'Usually inside, in two hours',
  'Usually inside, in three hours',
  'How busy is it? $customer ${branch:text}',
  'Exporters, ',
  'Exporters, Last answer',
  'Needs attention',
  'Reload and state, state saved',
  'Libraries with failed polls',
  'Counter excess',
];
const START_MS = 600_000;

let demo: Demo;
/** It has one exporter under two names, as a pair of exporters with one configuration looks. */
let prometheus: Prometheus;
const servers: Prometheus[] = [];

beforeAll(async () => {
  demo = await startDemo();
  const { host } = new URL(demo.url);
  const targets = { library: host, 'library-twin': host };
  const scrape_configs = Object.entries(targets).map(([job_name, target]) => ({
    job_name,
    static_configs: [{ targets: [target] }],
  }));
  prometheus = await started({ global: QUICK, scrape_configs });
}, START_MS);

afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  await demo?.stop();
});

/** Starts a Prometheus that ends with the tests. */
async function started(config: object): Promise<Prometheus> {
  const server = await startPrometheus({}, { config });
  servers.push(server);
  return server;
}

async function metrics(): Promise<string> {
  return (await fetch(`${demo.url}/metrics`)).text();
}

test('promtool check metrics has nothing to say', async () => {
  const { output } = run(debianProgram('/usr/bin/promtool'), ['check', 'metrics'], await metrics());
  expect(output).toBe('');
});

test('Prometheus reads from OpenMetrics what the text format has, and nothing else of ours', async () => {
  // More than once: a poll may add families between the scrape of Prometheus and ours.
  const names = await eventually('a scrape with the same families', async () => {
    const found = await prometheus.labelValues('__name__', '{__name__=~"library_.+"}');
    const { samples } = new Exposition(await metrics());
    const inText = samples.map(({ name }) => name).filter((name) => name.startsWith('library_'));
    return isDeepStrictEqual(found, [...new Set(inText)].toSorted()) ? found : undefined;
  });
  expect(names.length).toBeGreaterThan(40);
  expect(names.filter((name) => labelsOf(name) === undefined)).toEqual([]);
});

/** Starts a Prometheus with one job. */
function scraping(job: object): Promise<Prometheus> {
  return started({ global: QUICK, scrape_configs: [{ job_name: 'library', ...job }] });
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

describe.each(readDashboards())('%s', (_, dashboard) => {
  beforeAll(async () => {
    await eventually('polls of every stream', async () => {
      const polls = 'increase(library_exporter_poll_duration_seconds_count[5m]) > 0';
      return (await prometheus.query(polls)).length === 10 || undefined;
    });
    await eventually('what is usual for the library', async () => {
      const usual = `library_occupancy_usual_people{customer="${CUSTOMER}"}`;
      return (await prometheus.query(usual)).length === 2 || undefined;
    });
  });

  const queries = dashboard.panels.flatMap(({ title, targets }) =>
    targets.map(({ legendFormat, expr }) => [title, legendFormat, expr] as const),
  );

  test.each(queries)('%s, %s, has data', async (title, name, expression) => {
    const samples = await prometheus.query(filledIn(dashboard, expression));
    const mayBeEmpty = [title, `${title}, ${name}`].some((one) => MAY_BE_EMPTY.includes(one));
    expect(samples.some(({ value }) => Number.isFinite(value)) || mayBeEmpty).toBe(true);
  });

  // Two scrapes are not from the same second: until both have the newest minute, they may differ by
  // it. What is counted twice stays twice as much.
  test.each(queries.filter(([, , expression]) => expression.includes('$customer')))(
    '%s, %s, says the same of two exporters as of one',
    async (_title, _name, expression) => {
      const query = filledIn(dashboard, expression);
      const isSame = await eventually('the same of two exporters as of one', async () => {
        const now = Date.now();
        const ofOne = await prometheus.query(query.replaceAll('job=~".+"', 'job="library"'), now);
        const ofBoth = await prometheus.query(query, now);
        return areAlike(ofOne, ofBoth) || undefined;
      });
      expect(isSame).toBe(true);
    },
  );

  test('lets its reader choose among the jobs and whom there is', async () => {
    const known: Readonly<Record<string, readonly string[]>> = {
      job: ['library', 'library-twin'],
      region: ['east', 'north', 'south', 'west'],
      customer: demo.customers.toSorted(),
      instance: [new URL(demo.url).host],
    };
    const choices = dashboard.templating.list.flatMap(({ name, query }) => {
      const choice = labelValues(query);
      return choice === undefined ? [] : [{ name, ...choice }];
    });
    for (const { name, label, series } of choices) {
      const values = await prometheus.labelValues(label, filledIn(dashboard, series));
      expect(values).toEqual(known[name]);
    }
  });
});

/** Fills in All where that is possible. */
function filledIn({ uid }: Dashboard, expression: string): string {
  return expression
    .replaceAll('$__range', '1d')
    .replaceAll(/\$__(rate_interval|interval)\b/g, '1h')
    .replaceAll(/\$(job|instance)\b/g, '.+')
    .replaceAll(/\$(region|branch)\b/g, uid === 'library-now' ? '' : '.*')
    .replaceAll('$customer', WITH_ONE_LIBRARY.includes(uid) ? CUSTOMER : '.+');
}

function named({ labels }: Sample): string {
  return JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => a.localeCompare(b)));
}

/** Whether both have the same series, with values within a fifth of each other. */
function areAlike(a: readonly Sample[], b: readonly Sample[]): boolean {
  const values = new Map(a.map((sample) => [named(sample), sample.value]));
  return (
    a.length === b.length &&
    b.every((sample) => {
      const difference = Math.abs(sample.value - (values.get(named(sample)) ?? NaN));
      return difference <= Math.max(20, Math.abs(sample.value) * 0.2);
    })
  );
}
