/** The demo raises what it announces, and its page, its metrics and the shipped rules agree. */
import { Temporal } from 'temporal-polyfill';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PROBLEMS } from '../../src/counting/problems.ts';
import type { ProblemKind } from '../../src/counting/problems.ts';
import { Workspace } from '../acceptance/daemon.ts';
import { readAlerts } from '../prometheus/rules.ts';
import { startDemo } from './support/demo.ts';
import type { Demo } from './support/demo.ts';
import { eventually } from './support/processes.ts';
import { startPrometheus } from './support/prometheus.ts';
import type { Prometheus } from './support/prometheus.ts';
import { QUICK, quickRules } from './support/quick-rules.ts';

let demo: Demo;
let prometheus: Prometheus;
const workspace = new Workspace();

beforeAll(async () => {
  demo = await startDemo();
  const config = { global: QUICK, rule_files: quickRules(workspace) };
  prometheus = await startPrometheus({ library: new URL(demo.url).host }, { config });
});

afterAll(async () => {
  await prometheus?.stop();
  await demo?.stop();
  await workspace.close();
});

test('the demo raises the alerts that it announces', async () => {
  const firing = await eventually('the alerts of the doors', async () => {
    const found = (await prometheus.query('ALERTS{alertstate="firing"}')).map(
      ({ labels: { alertname, customer } }) => `${alertname} ${customer}`,
    );
    return announcedAlerts().every((alert) => found.includes(alert)) ? found : undefined;
  });
  expect(firing).toEqual(expect.arrayContaining([...announcedAlerts()]));
});

test('the page, the metrics and the rules have the same problems', async () => {
  const { onPage, alerts, problems } = await eventually('the same problems', async () => {
    const found = await prometheus.query('library_problem_start_timestamp_seconds');
    const listed = found.map(({ labels }) => ({ ...labels, kind: labels['problem'] }));
    const page = await (await fetch(demo.url)).text();
    const shown = page.matchAll(/class="badge [^"]*">([^<]*)</g);
    const raised = await prometheus.query('ALERTS{alertname=~"Library.*",customer!=""}');
    const all = {
      onPage: Array.from(shown, ([, words = '']) => words).toSorted(),
      alerts: raised.map(({ labels }) => whereIs(labels, labels['alertname'])).toSorted(),
      problems: listed,
    };
    return all.onPage.join() === wordsOf(listed).join() &&
      all.alerts.join() === expectedAlerts(listed).join()
      ? all
      : undefined;
  });
  expect(problems).not.toEqual([]);
  expect(onPage).toEqual(wordsOf(problems));
  expect(alerts).toEqual(expectedAlerts(problems));
});

type Listed = Readonly<Record<string, string | undefined>>;

function wordsOf(problems: readonly Listed[]): readonly string[] {
  return problems.map(({ kind }) => PROBLEMS[kind as ProblemKind].words).toSorted();
}

function expectedAlerts(problems: readonly Listed[]): readonly string[] {
  return problems
    .flatMap((problem) => alertsOf(problem['kind']).map((alert) => whereIs(problem, alert)))
    .toSorted();
}

function whereIs(labels: Listed, alert: string | undefined): string {
  return `${alert} ${labels['customer']} ${labels['branch'] ?? ''}`;
}

/** The alerts whose expression selects a kind of problem. */
function alertsOf(kind = ''): readonly string[] {
  return readAlerts()
    .filter(({ expr }) => {
      const [, pattern] = /problem=~?"([^"]+)"/.exec(expr) ?? [];
      return (
        pattern !== undefined && new RegExp(`^${pattern}$`).test(kind) && !/count\(/.test(expr)
      );
    })
    .map(({ alert }) => alert);
}

/**
 * One of several doors is silent after three hours of opening, from 06:00 on; the library that never closes has its
 * alert at all hours.
 */
function announcedAlerts(): readonly string[] {
  const zoned = Temporal.Now.zonedDateTimeISO('Europe/Copenhagen');
  const { hour } = zoned.subtract({ hours: 4, minutes: 10 });
  return [...(hour < 5 ? [] : ['LibraryDoorSilent riverside']), 'LibraryZeroTraffic old-town'];
}
