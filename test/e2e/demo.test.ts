/** The demo in a real Prometheus: its metrics, and the queries of the dashboards. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readDashboards } from '../grafana/dashboard.ts';
import { startDemo } from './support/demo.ts';
import { filledIn } from './support/panel-query.ts';
import { debianProgram, eventually, outcomeOf } from './support/processes.ts';
import { startPrometheus } from './support/prometheus.ts';
import type { Prometheus } from './support/prometheus.ts';

const DAY_MS = 86_400_000;
/** The selection where All is not possible: the doors of this library work, and its past is read first. */
const CUSTOMER = 'southern-cross';
/** What a reader has chosen, where it is not All. */
const CHOSEN: Readonly<Record<string, { customer: string; branch?: string }>> = {
  'library-customer': { customer: CUSTOMER },
  'library-now': { customer: CUSTOMER, branch: '' },
};
/** These need weeks of history, shards, failed polls, a state that is saved, or an hour of the day. */
const MAY_BE_EMPTY = [
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

let demo: Awaited<ReturnType<typeof startDemo>>;
let prometheus: Prometheus;

beforeAll(async () => {
  demo = await startDemo();
  prometheus = await startPrometheus(demo.url);
  const polls = 'increase(library_exporter_poll_duration_seconds_count[5m]) > 0';
  await eventually(async () => (await prometheus.query(polls)).length === 5);
  const usual = `library_occupancy_usual_people{customer="${CUSTOMER}"}`;
  await eventually(async () => (await prometheus.query(usual)).length === 1);
}, 600_000);

afterAll(async () => {
  await prometheus?.stop();
  await demo?.stop();
});

test('promtool check metrics has nothing to say', async () => {
  const input = await (await fetch(`${demo.url}/metrics`)).text();
  const promtool = debianProgram('promtool');
  const { output } = await outcomeOf(promtool, ['check', 'metrics'], {}, input);
  expect(output).toBe('');
});

// Those of months need recordings.
const QUERIES = readDashboards()
  .filter(([, { uid }]) => uid !== 'library-statistics')
  .flatMap(([, { uid, panels }]) =>
    panels.flatMap(({ title, targets }) =>
      targets.map(({ legendFormat, expr }) => [uid, title, legendFormat, expr] as const),
    ),
  );

test.each(QUERIES)('%s, %s, %s, has data', async (uid, title, name, expression) => {
  const atMs = Date.now();
  const lastDay = { fromMs: atMs - DAY_MS, atMs, ...CHOSEN[uid] };
  const samples = await prometheus.query(filledIn(expression, lastDay));
  const mayBeEmpty = [title, `${title}, ${name}`].some((one) => MAY_BE_EMPTY.includes(one));
  expect(samples.some(({ value }) => Number.isFinite(value)) || mayBeEmpty).toBe(true);
});
