/** Every query of the dashboards against a real Prometheus that scrapes the demo. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { labelValues, readDashboards } from '../grafana/dashboard.ts';
import type { Dashboard } from '../grafana/dashboard.ts';
import { startDemo } from './support/demo.ts';
import type { Demo } from './support/demo.ts';
import { panelQuery } from './support/panel-query.ts';
import { eventually } from './support/processes.ts';
import { startPrometheus } from './support/prometheus.ts';
import type { Prometheus, Sample } from './support/prometheus.ts';

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
/** A job of another system, which must not appear on any dashboard. */
const FOREIGN_TARGET = '127.0.0.1:9';
const START_MS = 600_000;

let demo: Demo;
let prometheus: Prometheus;

beforeAll(async () => {
  demo = await startDemo();
  // One exporter under two names is what a pair of exporters with one configuration looks like.
  const target = new URL(demo.url).host;
  prometheus = await startPrometheus({
    library: target,
    'library-twin': target,
    other: FOREIGN_TARGET,
  });
  await eventually('polls of every stream', async () => {
    const polls = 'increase(library_exporter_poll_duration_seconds_count[5m]) > 0';
    return (await prometheus.query(polls)).length === 10 || undefined;
  });
  await eventually('what is usual for the library', async () => {
    const usual = `library_occupancy_usual_people{customer="${CUSTOMER}"}`;
    return (await prometheus.query(usual)).length === 2 || undefined;
  });
}, START_MS);

afterAll(async () => {
  await prometheus?.stop();
  await demo?.stop();
});

describe.each(readDashboards())('%s', (_, dashboard) => {
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

test('a job of another system that is down is no exporter', async () => {
  const reader = { fromMs: Date.now(), atMs: Date.now() };
  const query = panelQuery(['overview', 'Exporters down'], reader);
  expect(await prometheus.query('up{job="other"}')).toMatchObject([{ value: 0 }]);
  expect(await prometheus.query(query)).toEqual([{ labels: {}, value: 0 }]);
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
