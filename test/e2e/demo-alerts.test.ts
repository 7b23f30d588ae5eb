/** The alerts that the demo announces, with the shipped rules and shorter waiting times. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Temporal } from 'temporal-polyfill';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { Workspace } from '../acceptance/daemon.ts';
import { startDemo } from './support/demo.ts';
import type { Demo } from './support/demo.ts';
import { FIVE_WEEKS_MS, historyOfDemo } from './support/history.ts';
import { eventually } from './support/processes.ts';
import { startPrometheus } from './support/prometheus.ts';
import type { Prometheus } from './support/prometheus.ts';
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

/** Starts a Prometheus that scrapes the demo. It ends with the test. */
async function startWithRules(blocks?: string): Promise<Prometheus> {
  const config = { global: QUICK, rule_files: quickRules(workspace) };
  const targets = { library: new URL(demo.url).host };
  const prometheus = await startPrometheus(targets, { config, ...(blocks && { blocks }) });
  onTestFinished(prometheus.stop);
  return prometheus;
}

test.each<readonly [string, () => Promise<string | undefined>]>([
  ['without history', () => Promise.resolve(undefined)],
  ['with five weeks of history of riverside', () => historyOfDemo(folder, 1)],
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
  const { hour } = Temporal.Now.zonedDateTimeISO('Europe/Copenhagen').subtract({ hours: 4 });
  return [...(hour < 3 ? [] : ['LibraryDoorSilent riverside']), 'LibraryZeroTraffic old-town'];
}
