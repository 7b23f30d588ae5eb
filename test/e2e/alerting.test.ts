/**
 * A door dies in the simulator, and a notification is sent: through the real exporter, Prometheus and
 * Alertmanager, with the rules and routes that are shipped. Only waiting times are shortened.
 */
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { ALWAYS_OPEN, deadFrom, drawLibrary } from '../../src/simulator/libraries.ts';
import { launch } from '../acceptance/daemon.ts';
import { startEnvironment } from '../cli/simulated-environment.ts';
import { readPrometheusFile } from '../prometheus/rules.ts';
import { debianProgram, eventually, startServer } from './support/processes.ts';
import { startPrometheus } from './support/prometheus.ts';
import { QUICK, quickRules } from './support/quick-rules.ts';

const DAY_MS = 86_400_000;

const STRINGS = z.record(z.string(), z.string());
const NOTIFICATION = z.object({
  alerts: z.array(z.object({ status: z.string(), labels: STRINGS, annotations: STRINGS })),
});

/** What Alertmanager sent to the receiver `libraries`. */
const received: z.infer<typeof NOTIFICATION>[] = [];
const webhook = createServer((incoming, outgoing) => {
  void text(incoming).then((body) => {
    if (incoming.url === '/libraries') {
      received.push(NOTIFICATION.parse(JSON.parse(body)));
    }
    outgoing.end();
  });
});
const stopping: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  const library = { visitsPerDay: 400, opening: ALWAYS_OPEN };
  const devices = drawLibrary(1, 2, library).devices.map((device) =>
    device.kind === 'door' ? deadFrom(device, Date.now() - 1.25 * DAY_MS) : device,
  );
  const environment = await startEnvironment({
    riverside: { library },
    'harbour-point': { library: { ...library, devices } },
  });
  stopping.push(() => environment[Symbol.asyncDispose]());
  const settings = { polling: { interval: '2s' }, customer: { opening_hours: '24/7' } };
  const flags = [environment.config(settings), '--web.listen-address=127.0.0.1:0'];
  const exporter = await launch(environment.workspace, flags).listening();
  await once(webhook.listen(0, '127.0.0.1'), 'listening');
  stopping.push(() => once(webhook.close(), 'close'));
  const folder = mkdtempSync(join(tmpdir(), 'alertmanager-'));
  const { port } = webhook.address() as AddressInfo;
  writeFileSync(join(folder, 'alertmanager.yml'), shortenedRoutes(`127.0.0.1:${port}`));
  const program = debianProgram('/usr/bin/prometheus-alertmanager');
  const alertmanager = await startServer(
    program,
    [
      `--config.file=${join(folder, 'alertmanager.yml')}`,
      `--storage.path=${join(folder, 'data')}`,
      '--web.listen-address=127.0.0.1:0',
      // Alone: it talks to no other one.
      '--cluster.listen-address=',
    ],
    folder,
  );
  stopping.push(alertmanager.stop);
  const prometheus = await startPrometheus(
    { library: new URL(exporter.url).host },
    {
      config: {
        global: QUICK,
        rule_files: quickRules(environment.workspace),
        alerting: { alertmanagers: [{ static_configs: [{ targets: [alertmanager.address] }] }] },
      },
    },
  );
  stopping.push(prometheus.stop);
});

afterAll(async () => {
  for (const stop of stopping.toReversed()) {
    await stop();
  }
});

test('a dead door ends as a notification about its library, and about no other', async () => {
  const first = await eventually('a notification at the webhook', () => received[0]);
  expect(first.alerts).toEqual([
    {
      status: 'firing',
      labels: {
        alertname: 'LibraryZeroTraffic',
        customer: 'harbour-point',
        service: 'library-stats',
        severity: 'warning',
      },
      annotations: {
        summary: 'Nobody is being counted where people usually come.',
        dashboard_url: expect.stringMatching(/var-customer=harbour-point$/) as string,
        description: expect.stringMatching(
          /^harbour-point has counted nobody for at least 1d \dh \d+m \d+s, while its polls succeed\./,
        ) as string,
        runbook_url: expect.stringMatching(/#libraryzerotraffic$/) as string,
      },
    },
  ]);
  // Notifications about the exporter go elsewhere and depend on how busy the machine is: a scrape has a second here.
  const names = received.flatMap(({ alerts }) => alerts.map(({ labels }) => labels['alertname']));
  expect(new Set(names)).toEqual(new Set(['LibraryZeroTraffic']));
});

/** The shipped routes, without the waiting, to our webhook. */
function shortenedRoutes(address: string): string {
  return readPrometheusFile('alertmanager.yml')
    .replaceAll(/(group_wait|group_interval): \w+/g, '$1: 1s')
    .replaceAll('localhost:9099', address);
}
