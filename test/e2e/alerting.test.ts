/**
 * A door dies in the simulator, and a notification is sent: through the real exporter, Prometheus and
 * Alertmanager, with the rules and routes that are shipped. Only waiting times are shortened.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { seededRandom } from '../../src/base/random.ts';
import { createFaults } from '../../src/simulator/faults.ts';
import { startSimulator } from '../../src/simulator/http.ts';
import { ALWAYS_OPEN, deadFrom } from '../../src/simulator/libraries.ts';
import { createSimulatedService } from '../../src/simulator/service.ts';
import { createEnvironment, exporterConfigYaml } from '../../src/simulator/environment.ts';
import { Workspace, launch } from '../acceptance/daemon.ts';
import { RULE_FILES, readPrometheusFile, readRuleFile } from '../prometheus/rules.ts';
import { startAlertmanager, startWebhook } from './support/alertmanager.ts';
import type { Webhook } from './support/alertmanager.ts';
import { eventually } from './support/processes.ts';
import { startPrometheus } from './support/prometheus.ts';

const DAY_MS = 86_400_000;

const workspace = new Workspace();
const stopping: (() => Promise<unknown>)[] = [];
let webhook: Webhook;

beforeAll(async () => {
  await twoLibrariesOneOfThemDead();
  const exporter = await startExporter();
  webhook = await startWebhook();
  stopping.push(webhook.stop);
  const alertmanager = await startAlertmanager(shortenedRoutes(webhook.address));
  stopping.push(alertmanager.stop);
  const prometheus = await startPrometheus(
    { library: exporter },
    {
      config: {
        global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
        rule_files: shortenedRules(),
        alerting: { alertmanagers: [{ static_configs: [{ targets: [alertmanager.address] }] }] },
      },
    },
  );
  stopping.push(prometheus.stop);

  async function twoLibrariesOneOfThemDead(): Promise<void> {
    const nowMs = systemClock.nowMs();
    const world = createEnvironment({ seed: 1, customers: 2, clock: systemClock });
    const customers = world.customers.map(({ library, ...customer }, i) => ({
      ...customer,
      library: {
        ...library,
        opening: ALWAYS_OPEN,
        devices: library.devices.map((device) =>
          device.kind === 'door' && i === 1 ? deadFrom(device, nowMs - 1.25 * DAY_MS) : device,
        ),
      },
    }));
    const service = createSimulatedService({ seed: 1, customers, clock: systemClock });
    const started = await startSimulator({
      service,
      faults: createFaults({ random: seededRandom(1) }),
      clock: systemClock,
      listenAddress: '127.0.0.1:0',
    });
    stopping.push(() => started.close());
    workspace.write(
      'config.yaml',
      exporterConfigYaml({ service, customers }, started.url, { polling: { interval: '2s' } }),
    );
  }

  async function startExporter(): Promise<string> {
    const flags = ['--web.listen-address=127.0.0.1:0', '--storage.path='];
    return new URL((await launch(workspace, flags).listening()).url).host;
  }
});

afterAll(async () => {
  for (const stop of stopping.toReversed()) {
    await stop();
  }
  await workspace.close();
});

test('a dead door ends as a notification about its library, and about no other', async () => {
  const received = await eventually('a notification at the webhook', () =>
    webhook.notifications.find(({ path }) => path === '/libraries'),
  );
  expect(received.alerts).toEqual([
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
  const others = webhook.notifications
    .filter(({ path }) => path === '/libraries')
    .flatMap(({ alerts }) => alerts)
    .map(({ labels }) => labels['alertname']);
  expect(new Set(others)).toEqual(new Set(['LibraryZeroTraffic']));
});

/** The shipped rules, evaluated every second, and pending for seconds instead of minutes. */
function shortenedRules(): readonly string[] {
  return RULE_FILES.map((path, i) => {
    const { groups } = readRuleFile(path);
    const shortened = groups.map((group) => ({
      ...group,
      interval: '1s',
      rules: group.rules.map((rule) => ('alert' in rule ? { ...rule, for: '5s' } : rule)),
    }));
    return workspace.write(`rules-${i}.json`, JSON.stringify({ groups: shortened }));
  });
}

/** The shipped routes, without the waiting, to our webhook. */
function shortenedRoutes(address: string): string {
  return readPrometheusFile('alertmanager.yml')
    .replaceAll(/(group_wait|group_interval): \w+/g, '$1: 1s')
    .replaceAll('localhost:9099', address);
}
