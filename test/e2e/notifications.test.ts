/**
 * Faults of the demo's libraries, their service and their exporter, up to the notification, with the shipped
 * rules and routes. Every interval, `for` and wait is 60 times shorter, so a second stands for a minute.
 */
import { createServer } from 'node:http';
import { mkdtempSync } from 'node:fs';
import { basename, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { listen } from '../../src/base/listen.ts';
import { BREAKDOWNS } from '../../src/base/model.ts';
import { startSimulation } from '../../src/cli/service.ts';
import { exporterConfigYaml } from '../../src/simulator/demo-service.ts';
import { flagsFor, launch, Workspace } from '../acceptance/daemon.ts';
import type { Daemon } from '../acceptance/daemon.ts';
import { readPrometheusFile, RULE_FILES } from '../prometheus/rules.ts';
import { debianProgram, eventually, finished, startServer } from './support/processes.ts';
import { startPrometheus } from './support/prometheus.ts';
import type { Prometheus } from './support/prometheus.ts';

const STRINGS = z.record(z.string(), z.string());
const NOTIFICATION = z.object({
  alerts: z.array(z.object({ status: z.string(), labels: STRINGS, annotations: STRINGS })),
});

type Alert = z.infer<typeof NOTIFICATION>['alerts'][number];

const workspace = new Workspace();
const received: (Alert & { readonly receiver: string })[] = [];
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

const MINUTES: Readonly<Record<string, number>> = { s: 1 / 60, m: 1, h: 60, d: 1_440 };

/** Writes a file of prometheus/ with every interval and waiting time 60 times shorter. Returns its path. */
function faster(name: string, webhook = ''): string {
  const text = readPrometheusFile(name)
    .replaceAll(
      /^( *(?:for|keep_firing_for|group_wait|\w*interval): )(\d+)([smhd])$/gm,
      (_, setting: string, count: string, unit: string) =>
        `${setting}${Number(count) * (MINUTES[unit] ?? NaN)}s`,
    )
    .replaceAll('http://localhost:9099', webhook);
  return workspace.write(basename(name), text);
}

async function startAlertmanager(webhook: string): Promise<string> {
  const flags = [
    // What was sent before is remembered, and not sent again.
    '--storage.path=data',
    `--config.file=${faster('alertmanager.yml', webhook)}`,
    '--web.listen-address=127.0.0.1:0',
    // Alone: it talks to no other one.
    '--cluster.listen-address=',
  ];
  const program = debianProgram('prometheus-alertmanager');
  const folder = mkdtempSync(join(workspace.folder, 'alerts-'));
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
  prometheus = await startPrometheus(exporter.url, {
    rule_files: RULE_FILES.map((path) => faster(path)),
    alerting: { alertmanagers: [{ static_configs: [{ targets: [alertmanager] }] }] },
  });
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
const DEAD_DOORS = [
  DEAD_DOOR,
  // A branch is known only after half an hour.
  { alertname: 'LibraryZeroTraffic', customer: 'harbour-point', branch: '203' },
  // One of three doors; not at every hour.
  { alertname: 'LibraryDoorSilent', customer: 'riverside' },
];

/** What ends as which notification, one after the other. */
const FAULTS = [
  [
    'the disk of --storage.path is full',
    { alertname: 'LibraryStateNotSaved', job: 'library' },
    'operators',
    () => finished('/usr/bin/prlimit', [`--pid=${exporter.pid}`, '--fsize=0']),
  ],
  [
    "the vendor's service stops",
    { alertname: 'LibraryServiceDown' },
    'pager',
    () => simulation.simulator.close(),
  ],
  [
    'the exporter stops',
    { alertname: 'LibraryExporterAbsent', job: 'library' },
    'pager',
    () => exporter.stop('SIGKILL'),
  ],
] as const;

function hasLabels(alert: Pick<Alert, 'labels'>, labels: Alert['labels']): boolean {
  return Object.entries(labels).every(([name, value]) => alert.labels[name] === value);
}

function isOfDeadDoor(alert: Pick<Alert, 'labels'>): boolean {
  return DEAD_DOORS.some((labels) => hasLabels(alert, labels));
}

test('after a start, the dead doors are notified of, and no other alert fires', async () => {
  const door = await eventually(() => received.find((alert) => hasLabels(alert, DEAD_DOOR)));
  expect(door).toEqual({
    receiver: 'libraries',
    status: 'firing',
    labels: { ...DEAD_DOOR, service: 'library-stats', severity: 'warning' },
    annotations: {
      summary: 'Nobody is counted at old-town.',
      description: expect.stringMatching(
        /^old-town has counted nobody for [^,]+, in which about [1-9]\d* people were missed\. /,
      ) as string,
    },
  });
  const fired = await prometheus.query('count_over_time(ALERTS{alertstate="firing"}[10m])');
  expect(fired).not.toEqual([]);
  expect(fired.filter((alert) => !isOfDeadDoor(alert))).toEqual([]);
});

test.each(FAULTS)('%s: %o to %s', async (_, labels, receiver, cause) => {
  const before = received.length;
  await cause();
  const notification = await eventually(() =>
    received.find((alert) => alert.status === 'firing' && hasLabels(alert, labels)),
  );
  expect(notification.receiver).toBe(receiver);
  const others = received
    .slice(before)
    .filter((alert) => alert.status === 'firing' && alert !== notification);
  expect(others.filter((alert) => !isOfDeadDoor(alert))).toEqual([]);
});
