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
  await eventually('the alerts of the doors', async () => {
    const firing = (await prometheus.query('ALERTS{alertstate="firing"}')).map(
      ({ labels: { alertname, customer } }) => `${alertname} ${customer}`,
    );
    return announcedAlerts().every((alert) => firing.includes(alert)) || undefined;
  });
});

test('the page, the metrics and the rules have the same problems', async () => {
  await eventually('the same problems', async () => {
    const problems = await prometheus.query('library_problem_start_timestamp_seconds');
    const kinds = problems.map(({ labels }) => labels['problem'] as ProblemKind);
    const page = await (await fetch(demo.url)).text();
    const alerts = await prometheus.query('ALERTS{alertname=~"Library.*",customer!=""}');
    const found = {
      page: Array.from(
        page.matchAll(/class="problem">\s*<span[^>]*>([^<]*)</g),
        ([, words]) => words,
      ),
      alerts: alerts.map(({ labels }) => whereIs(labels, labels['alertname'])),
    };
    const announced = {
      page: kinds.map((kind) => PROBLEMS[kind].words),
      alerts: problems.flatMap(({ labels }, i) =>
        alertsOf(kinds[i]).map((alert) => whereIs(labels, alert)),
      ),
    };
    expect(kinds.length).toBeGreaterThan(0);
    return sorted(found) === sorted(announced) || undefined;
  });
});

function sorted({ page, alerts }: { page: readonly unknown[]; alerts: readonly string[] }): string {
  return JSON.stringify([page.toSorted(), alerts.toSorted()]);
}

function whereIs(labels: Readonly<Record<string, string>>, alert: string | undefined): string {
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

/** At the hours and on the days that the demo names, there is only the one of the library that never closes. */
function announcedAlerts(): readonly string[] {
  const { hour } = Temporal.Now.zonedDateTimeISO('Europe/Copenhagen').subtract({ hours: 4 });
  return [...(hour < 3 ? [] : ['LibraryDoorSilent riverside']), 'LibraryZeroTraffic old-town'];
}
