/** Every query of the dashboards against a real Prometheus with five weeks of history. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LIBRARIES, inside as insideOf } from '../../grafana/queries.ts';
import { labelValues, readDashboards, withChoices } from '../grafana/dashboard.ts';
import type { Dashboard } from '../grafana/dashboard.ts';
import { startDemo } from './support/demo.ts';
import type { Demo } from './support/demo.ts';
import { FIVE_WEEKS_MS, historyOfDemo } from './support/history.ts';
import { eventually } from './support/processes.ts';
import { startPrometheus } from './support/prometheus.ts';
import type { Prometheus, Sample } from './support/prometheus.ts';

const DASHBOARDS = readDashboards();
/** The selection where All is not possible. */
const CUSTOMERS: Readonly<Record<string, string>> = {
  'library-customer': 'harbour-point',
  'library-patterns': 'riverside|old-town',
  'library-now': 'riverside',
};
/**
 * Empty without a problem, last year's history, recordings of months, shards, a day of estimates, a half hour of
 * devices (they have no history), or while Riverside is closed.
 */
const MAY_BE_EMPTY = [
  'Month to date, against last year',
  'Logins, against last year',
  'Entries per day, five weeks',
  'Months with missing counts',
  'Needs attention',
  'Libraries with failed polls, last hour',
  'Counter excess',
  'Door counters, query A',
  'Exporters, query B',
  'Usually inside today, by hour, query B',
  'Entries counted per exit counted',
  'Suspected door faults',
];
/** Seconds. */
const A_YEAR = 365 * 86_400;
/** A job of another system, which must not appear on any dashboard. */
const FOREIGN_TARGET = '127.0.0.1:9';

let demo: Demo;
let prometheus: Prometheus;

beforeAll(async () => {
  demo = await startDemo();
  // One exporter under two names is what a pair of exporters with one configuration looks like.
  const target = new URL(demo.url).host;
  const targets = { library: target, 'library-twin': target, other: FOREIGN_TARGET };
  const folder = mkdtempSync(join(tmpdir(), 'history-'));
  try {
    prometheus = await startPrometheus(targets, { blocks: await historyOfDemo(folder) });
  } finally {
    rmSync(folder, { recursive: true });
  }
  await eventually('polls of every stream of both exporters', async () => {
    const polls = 'increase(library_exporter_poll_duration_seconds_count[5m]) > 0';
    return (await prometheus.query(polls)).length === 10 || undefined;
  });
}, FIVE_WEEKS_MS);

afterAll(async () => {
  await prometheus?.stop();
  await demo?.stop();
});

describe.each(DASHBOARDS)('%s', (_, dashboard) => {
  const queries = dashboard.panels.flatMap(({ title, targets }) =>
    targets.flatMap(({ refId, expr }) =>
      expr === undefined ? [] : [[title, refId, expr] as const],
    ),
  );

  test.each(queries)('%s, query %s, has data', async (title, refId, expression) => {
    const samples = await prometheus.query(filledIn(dashboard, expression));
    const mayBeEmpty = MAY_BE_EMPTY.some((name) =>
      [title, `${title}, query ${refId}`].includes(name),
    );
    expect(samples.some(({ value }) => Number.isFinite(value)) || mayBeEmpty).toBe(true);
  });

  // Two scrapes are not from the same second: until both have the newest minute, they may differ by
  // it. What is counted twice stays twice as much.
  test.each(queries.filter(([, , expression]) => expression.includes('$customer')))(
    '%s, query %s, says the same of two exporters as of one',
    async (_title, _refId, expression) => {
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
    const variables = dashboard.templating.list.filter(({ name }) => name !== 'value');
    const chosen = await Promise.all(
      variables
        .flatMap(({ query }) => labelValues(query) ?? [])
        .map(({ series, label }) => prometheus.labelValues(label, filledIn(dashboard, series))),
    );
    const whom = dashboard.uid === 'library-exporter' ? [new URL(demo.url).host] : demo.customers;
    expect(chosen).toEqual([['library', 'library-twin'], [...whom].toSorted()]);
  });
});

test('people inside are estimates where they are possible, else entries minus exits, and 0 while closed', async () => {
  const [inside, estimates, entered, suspects, open] = await eventually(
    'an estimate of riverside',
    async () => {
      // Samples of the last seconds may still arrive between the queries.
      const at = Date.now() - 5_000;
      const responses = await Promise.all([
        prometheus.query(filledIn(overview(), insideOf(LIBRARIES)), at),
        prometheus.query('max by (customer, branch) (library_occupancy_estimate_people)', at),
        prometheus.query('max by (customer, branch) (library_occupancy_people)', at),
        prometheus.query('max by (customer, branch) (library_door_suspect{kind="silent"})', at),
        prometheus.query('max by (customer, branch) (library_open)', at),
      ]);
      return valueOf(responses[1], 'riverside') === undefined ? undefined : responses;
    },
  );
  const shown = Object.fromEntries(inside.map((sample) => [siteOf(sample), sample.value]));
  const expected = entered.flatMap((sample) => {
    const [estimate, withheld, isOpen] = [estimates, suspects, open].map((samples) =>
      samples.find((one) => siteOf(one) === siteOf(sample)),
    );
    const people = estimate?.value ?? (withheld === undefined ? sample.value : undefined);
    const value = isOpen?.value === 0 ? 0 : people;
    return value === undefined ? [] : [[siteOf(sample), value] as const];
  });
  expect(shown).toEqual(Object.fromEntries(expected));
  // Old Town never closes, so it has no estimate.
  expect(valueOf(estimates, 'old-town')).toBeUndefined();
  expect(shown['old-town ']).toBeGreaterThanOrEqual(0);
});

describe('the hours of the week', () => {
  // Both are open from 6 to midnight, eighteen and a half and five and a half hours from Greenwich.
  test.each(['southern-cross', 'lotus-garden'])("are those of %s's own clock", async (customer) => {
    const query = queryOf('library-patterns', 'Entries by hour and weekday', customer);
    const samples = await prometheus.query(query);
    expect(samples).toHaveLength(7 * 18);
    for (let hour = 6; hour < 24; hour += 1) {
      const ofHour = samples.filter(({ labels }) => Number(labels['hour']) === hour);
      const entries = ofHour.reduce((sum, { value }) => sum + value, 0) / 7;
      expect([hour, entries > 5]).toEqual([hour, true]);
    }
  });

  test('are empty while a library is closed, and begin on Monday', async () => {
    const query = queryOf('library-patterns', 'Entries by hour and weekday', 'harbour-point');
    const entries = await prometheus.query(query);
    // Harbour Point closes at midnight from Monday to Friday, at 22:00 on Saturday and Sunday.
    const evenings = [1, 2, 3, 4, 5, 6, 7].map(
      (day) =>
        entries.find(({ labels: { weekday, hour } }) => weekday === `${day}` && hour === '22')
          ?.value ?? 0,
    );
    expect(evenings.map((value) => Number(value > 5))).toEqual([1, 1, 1, 1, 1, 0, 0]);
  });
});

function overview(): Dashboard {
  const [, dashboard] = DASHBOARDS.find(([, { uid }]) => uid === 'library-overview') ?? [];
  if (dashboard === undefined) {
    throw new Error('there is no overview');
  }
  return dashboard;
}

function siteOf({ labels: { customer = '', branch = '' } }: Sample): string {
  return `${customer} ${branch}`;
}

/** The first query of the panel, as Grafana sends it. */
function queryOf(uid: string, title: string, customer?: string): string {
  const [, dashboard] = DASHBOARDS.find(([, one]) => one.uid === uid) ?? [];
  const expression = dashboard?.panels.find((panel) => panel.title === title)?.targets[0]?.expr;
  if (dashboard === undefined || expression === undefined) {
    throw new Error(`there is no panel ${title} in ${uid}`);
  }
  return filledIn(dashboard, expression, customer);
}

/** Fills in the dashboard's own time range, and All where that is possible. */
function filledIn({ uid, time }: Dashboard, expression: string, customer?: string): string {
  return withChoices(expression)
    .replaceAll('$__range', /^now-(\d+\w)/.exec(time.from)?.[1] ?? '24h')
    .replaceAll('${__from:date:seconds}', String(Math.floor(Date.now() / 1_000) - A_YEAR))
    .replaceAll(/\$__(rate_interval|interval)\b/g, '1h')
    .replaceAll(/\$(job|instance)\b/g, '.+')
    .replaceAll(/\$(value|branch)\b/g, '.*')
    .replaceAll('$customer', customer ?? CUSTOMERS[uid] ?? '.+');
}

function valueOf(samples: readonly Sample[], customer: string): number | undefined {
  return samples.find(({ labels }) => labels['customer'] === customer)?.value;
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
