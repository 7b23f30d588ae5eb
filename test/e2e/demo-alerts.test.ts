/**
 * The alerts that the demo announces, with the shipped rules and routes and shorter waiting times: in
 * Prometheus, and as notifications of Alertmanager.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Temporal } from 'temporal-polyfill';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { Workspace } from '../acceptance/daemon.ts';
import { readPrometheusFile } from '../prometheus/rules.ts';
import { startScriptedServer, status } from '../support/scripted-server.ts';
import { startDemo } from './support/demo.ts';
import type { Demo } from './support/demo.ts';
import { FIVE_WEEKS_MS, historyOfDemo } from './support/history.ts';
import { debianProgram, eventually, startServer } from './support/processes.ts';
import { startPrometheus } from './support/prometheus.ts';
import type { Prometheus } from './support/prometheus.ts';
import { QUICK, quickRules } from './support/quick-rules.ts';

const STRINGS = z.record(z.string(), z.string());
const NOTIFICATION = z.object({
  alerts: z.array(z.object({ status: z.string(), labels: STRINGS, annotations: STRINGS })),
});

let demo: Demo;
const workspace = new Workspace();
const folder = mkdtempSync(join(tmpdir(), 'history-'));

beforeAll(async () => {
  demo = await startDemo();
});

afterAll(async () => {
  await demo?.stop();
  await workspace.close();
  rmSync(folder, { recursive: true });
});

/** Starts a Prometheus that scrapes the demo. It ends with the test. */
async function startWithRules(blocks?: string, sections = {}): Promise<Prometheus> {
  const config = { global: QUICK, rule_files: quickRules(workspace), ...sections };
  const targets = { library: new URL(demo.url).host };
  const prometheus = await startPrometheus(targets, { config, ...(blocks && { blocks }) });
  onTestFinished(prometheus.stop);
  return prometheus;
}

test.each<readonly [string, () => Promise<string | undefined>]>([
  ['without history', () => Promise.resolve(undefined)],
  ['with five weeks of history', () => historyOfDemo(folder)],
])(
  'a Prometheus %s raises them',
  async (_, history) => {
    const prometheus = await startWithRules(await history());
    const firing = await eventually('the alerts of both doors', async () => {
      const found = (await prometheus.query('ALERTS{alertstate="firing"}')).map(
        ({ labels: { alertname, customer } }) => `${alertname} ${customer}`,
      );
      return announcedAlerts().every((alert) => found.includes(alert)) ? found : undefined;
    });
    expect(firing).toEqual(expect.arrayContaining([...announcedAlerts()]));
  },
  FIVE_WEEKS_MS,
);

/** At the hours and on the days that the demo names, there is only the one of the library that never closes. */
function announcedAlerts(): readonly string[] {
  const { day, hour } = Temporal.Now.zonedDateTimeISO('Europe/Copenhagen').subtract({ hours: 4 });
  return [
    ...(hour < 3 || day <= 2 ? [] : ['LibraryDeviceSilent riverside']),
    'LibraryZeroTraffic old-town',
  ];
}

const ZERO_TRAFFIC = { alertname: 'LibraryZeroTraffic', customer: 'old-town' };

test('a dead door ends as a notification about its library, and about no other', async () => {
  const webhook = await startScriptedServer();
  webhook.data = status(200);
  const routes = readPrometheusFile('alertmanager.yml')
    .replaceAll(/(group_wait|group_interval): \w+/g, '$1: 1s')
    .replaceAll('http://localhost:9099', webhook.url);
  const alertsFolder = mkdtempSync(join(tmpdir(), 'alerts-'));
  const flags = [
    // What was sent before is remembered, and not sent again.
    `--storage.path=${join(alertsFolder, 'data')}`,
    `--config.file=${workspace.write('alertmanager.yml', routes)}`,
    '--web.listen-address=127.0.0.1:0',
    // Alone: it talks to no other one.
    '--cluster.listen-address=',
  ];
  const program = debianProgram('/usr/bin/prometheus-alertmanager');
  const alertmanager = await startServer(program, flags, alertsFolder);
  onTestFinished(alertmanager.stop);
  const alertmanagers = [{ static_configs: [{ targets: [alertmanager.address] }] }];
  await startWithRules(undefined, { alerting: { alertmanagers } });
  const alerts = await eventually('a notification at the webhook', () => {
    const received = webhook.received
      .filter(({ url }) => url === '/libraries')
      .flatMap(({ body }) => NOTIFICATION.parse(JSON.parse(body)).alerts);
    const silent = received.filter(({ labels }) => labels['alertname'] === 'LibraryZeroTraffic');
    return silent.length > 0 ? silent : undefined;
  });
  expect(alerts).toEqual([
    {
      status: 'firing',
      labels: { ...ZERO_TRAFFIC, service: 'library-stats', severity: 'warning' },
      annotations: {
        summary: 'Nobody is being counted where people usually come.',
        dashboard_url: expect.stringMatching(/var-customer=old-town$/) as string,
        description: expect.stringMatching(
          /^old-town has counted nobody, where [1-9]\d* entries and exits were usual since/,
        ) as string,
        runbook_url: expect.stringMatching(/#libraryzerotraffic$/) as string,
      },
    },
  ]);
});
