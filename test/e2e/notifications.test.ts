/**
 * Faults of the demo's libraries, their service and their exporter, up to the notification, with the shipped
 * rules and routes. Every interval, `for` and wait
 * is 60 times shorter, so a second stands for a minute.
 */
import { createServer } from 'node:http';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { listen } from '../../src/base/listen.ts';
import { BREAKDOWNS } from '../../src/base/model.ts';
import { startSimulation } from '../../src/cli/service.ts';
import { exporterConfigYaml } from '../../src/simulator/demo-service.ts';
import { flagsFor, launch, Workspace } from '../acceptance/daemon.ts';
import type { Daemon } from '../acceptance/daemon.ts';
import { readAlerts, readPrometheusFile } from '../prometheus/rules.ts';
import { debianProgram, eventually, finished, startServer } from './support/processes.ts';
import { startPrometheus } from './support/prometheus.ts';
import type { Prometheus } from './support/prometheus.ts';
import { faster, fasterRules, minutesOf, QUICK } from './support/quick-rules.ts';

const STRINGS = z.record(z.string(), z.string());
const NOTIFICATION = z.object({
  alerts: z.array(
    z.object({ status: z.string(), labels: STRINGS, annotations: STRINGS, startsAt: z.string() }),
  ),
});

type Alert = z.infer<typeof NOTIFICATION>['alerts'][number];

interface Received extends Alert {
  readonly receiver: string;
}

const workspace = new Workspace();
const received: Received[] = [];
/** What ends at the end, the last one first. */
const running: (() => Promise<unknown>)[] = [];
let simulation: Awaited<ReturnType<typeof startSimulation>>;
let exporter: Daemon;
let prometheus: Prometheus;

/** Receives the notifications of all receivers. Returns its URL. */
async function startWebhook(): Promise<string> {
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { alerts } = NOTIFICATION.parse(JSON.parse(body));
      const receiver = (request.url ?? '').slice(1);
      received.push(...alerts.map((alert) => ({ ...alert, receiver })));
      response.end();
    });
  });
  running.push(() => new Promise((resolve) => server.close(resolve).closeAllConnections()));
  return `http://${await listen(server, { host: '127.0.0.1', port: 0 })}`;
}

async function startAlertmanager(webhook: string): Promise<string> {
  const routes = readPrometheusFile('alertmanager.yml')
    .replaceAll(
      /(group_wait|group_interval|repeat_interval): (\w+)/g,
      (_, setting: string, duration: string) => `${setting}: ${faster(duration)}`,
    )
    .replaceAll('http://localhost:9099', webhook);
  const folder = mkdtempSync(join(tmpdir(), 'alerts-'));
  const flags = [
    // What was sent before is remembered, and not sent again.
    `--storage.path=${join(folder, 'data')}`,
    `--config.file=${workspace.write('alertmanager.yml', routes)}`,
    '--web.listen-address=127.0.0.1:0',
    // Alone: it talks to no other one.
    '--cluster.listen-address=',
  ];
  const program = debianProgram('/usr/bin/prometheus-alertmanager');
  const { address, stop } = await startServer(program, flags, folder);
  running.push(stop);
  return address;
}

beforeAll(async () => {
  const alertmanager = await startAlertmanager(await startWebhook());
  simulation = await startSimulation({ customers: 5, seed: 1 }, '127.0.0.1:0');
  running.push(() => simulation.simulator.close());
  // As the demo's, but with a state file. Without `capacity`: at some hours the libraries are full.
  const config = exporterConfigYaml(simulation.service, simulation.simulator.url, {
    service: { max_requests_per_second: 1_000 },
    polling: { interval: '2s', reconcile_interval: '15s', breakdown_interval: '15s' },
    breakdowns: BREAKDOWNS,
  }).replaceAll(/^ *capacity: \d+\n/gm, '');
  const configFile = workspace.write('config.yaml', config);
  exporter = launch(workspace, flagsFor(workspace, configFile));
  await exporter.listening();
  // From the first scrape on: nothing may fire because of a start.
  prometheus = await startPrometheus(
    { library: new URL(exporter.url).host },
    {
      config: {
        global: QUICK,
        rule_files: fasterRules(workspace),
        alerting: { alertmanagers: [{ static_configs: [{ targets: [alertmanager] }] }] },
      },
    },
  );
  running.push(prometheus.stop);
});

afterAll(async () => {
  for (const stop of running.toReversed()) {
    await stop();
  }
  await workspace.close();
});

/** Alerts of the demo's doors that are dead from the beginning. */
const DEAD_DOOR = { alertname: 'LibraryZeroTraffic', customer: 'old-town' };
const DEAD_BRANCH = { alertname: 'LibraryZeroTraffic', customer: 'harbour-point', branch: '203' };
/** One of three doors; not at every hour. */
const DEAD_DEVICE = { alertname: 'LibraryDoorSilent', customer: 'riverside' };

interface Fault {
  readonly what: string;
  readonly cause: () => Promise<unknown>;
  readonly labels: Readonly<Record<'alertname', string>> & Readonly<Record<string, string>>;
  readonly receiver: string;
}

/** What ends as which notification. A branch is known only after half an hour; its alert is that of a door. */
const FAULTS: readonly Fault[] = [
  {
    what: 'a door is dead',
    cause: () => Promise.resolve(),
    labels: DEAD_DOOR,
    receiver: 'libraries',
  },
  {
    what: 'the disk of --storage.path is full',
    cause: () => finished('/usr/bin/prlimit', [`--pid=${exporter.pid}`, '--fsize=0']),
    labels: { alertname: 'LibraryStateNotSaved', job: 'library' },
    receiver: 'operators',
  },
  {
    what: "the vendor's service stops",
    cause: () => simulation.simulator.close(),
    labels: { alertname: 'LibraryServiceDown' },
    receiver: 'pager',
  },
  {
    what: 'the exporter stops',
    cause: () => exporter.stop('SIGKILL'),
    labels: { alertname: 'LibraryExporterAbsent', job: 'library' },
    receiver: 'pager',
  },
];

function hasLabels(alert: Pick<Alert, 'labels'>, labels: Readonly<Record<string, string>>) {
  return Object.entries(labels).every(([name, value]) => alert.labels[name] === value);
}

test('after a start, only the dead doors are notified of, and nothing else is even pending', async () => {
  const door = await eventually('a notification', () =>
    received.find((alert) => hasLabels(alert, DEAD_DOOR)),
  );
  expect(door).toEqual({
    receiver: 'libraries',
    status: 'firing',
    startsAt: expect.any(String) as string,
    labels: { ...DEAD_DOOR, service: 'library-stats', severity: 'warning' },
    annotations: {
      summary: 'Nobody is counted at old-town.',
      description: expect.stringMatching(
        /^old-town has counted nobody for [^,]+, in which about [1-9]\d* people were missed\. /,
      ) as string,
    },
  });
  const [scraped] = await prometheus.samples('library_exporter_build_info[10m]');
  // Before the first scrape, the exporter is absent; then it reads the first totals, for which its polls wait.
  const fromSeconds = (scraped?.atSeconds[0] ?? NaN) + 15;
  const alerts = await prometheus.samples('ALERTS[10m]');
  const others = alerts.filter(
    (alert) =>
      (alert.atSeconds.at(-1) ?? NaN) > fromSeconds &&
      ![DEAD_DOOR, DEAD_BRANCH, DEAD_DEVICE].some((one) => hasLabels(alert, one)),
  );
  expect(fromSeconds).not.toBeNaN();
  expect(others).toEqual([]);
});

test.each(FAULTS)('$what: $labels.alertname to $receiver', async ({ cause, labels, receiver }) => {
  const before = received.length;
  await cause();
  const notification = await eventually(`a notification of ${labels.alertname}`, () =>
    received.find((alert) => alert.status === 'firing' && hasLabels(alert, labels)),
  );
  expect(notification.receiver).toBe(receiver);
  // Nothing else was sent by this fault, but for what the demo's doors end as.
  const others = received
    .slice(before)
    .filter((alert) => alert.status === 'firing' && alert !== notification)
    .filter((alert) => ![DEAD_DOOR, DEAD_BRANCH, DEAD_DEVICE].some((one) => hasLabels(alert, one)));
  expect(others).toEqual([]);
  await expectPendingFor(labels);
});

/** Expects an alert to be pending until its `for` is over, and then to fire. */
async function expectPendingFor(labels: Readonly<Record<string, string>>): Promise<void> {
  const matchers = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  const [pending, firing] = await Promise.all(
    ['pending', 'firing'].map(async (state) => {
      const [series] = await prometheus.samples(
        `ALERTS{${[...matchers, `alertstate="${state}"`].join()}}[10m]`,
      );
      return series?.atSeconds ?? [];
    }),
  );
  const rule = readAlerts().find(({ alert }) => alert === labels['alertname']);
  const forSeconds = minutesOf(rule?.for ?? '0s');
  const start = pending?.[0] ?? NaN;
  expect(firing?.[0] ?? NaN).toBeGreaterThanOrEqual(start + forSeconds);
  expect(pending?.at(-1) ?? NaN).toBeLessThan(start + forSeconds);
}
