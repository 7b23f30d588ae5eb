/** The alerts that the demo announces, in a Prometheus with the shipped rules and shorter waiting times. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Temporal } from 'temporal-polyfill';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Workspace } from '../acceptance/daemon.ts';
import { startDemo } from './support/demo.ts';
import type { Demo } from './support/demo.ts';
import { FIVE_WEEKS_MS, historyOfDemo } from './support/history.ts';
import { eventually } from './support/processes.ts';
import { startPrometheus } from './support/prometheus.ts';
import { QUICK, quickRules } from './support/quick-rules.ts';

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

test.each<readonly [string, () => Promise<{ readonly blocks?: string }>]>([
  ['without history', () => Promise.resolve({})],
  ['with five weeks of history', async () => ({ blocks: await historyOfDemo(folder) })],
])(
  'a Prometheus %s raises them',
  async (_, history) => {
    const config = { global: QUICK, rule_files: quickRules(workspace) };
    const library = new URL(demo.url).host;
    const prometheus = await startPrometheus({ library }, { config, ...(await history()) });
    try {
      const firing = await eventually('the alerts of both doors', async () => {
        const found = (await prometheus.query('ALERTS{alertstate="firing"}')).map(
          ({ labels: { alertname, customer } }) => `${alertname} ${customer}`,
        );
        return announcedAlerts().every((alert) => found.includes(alert)) ? found : undefined;
      });
      expect(firing).toEqual(expect.arrayContaining([...announcedAlerts()]));
    } finally {
      await prometheus.stop();
    }
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
