/** History in a real Prometheus, made by promtool, before a live exporter's samples. */
import { cpSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { DAY_MS, MINUTE_MS } from '../../src/base/duration.ts';
import { seededRandom } from '../../src/base/random.ts';
import { OFFICE_HOURS, openingHoursText } from '../../src/simulator/libraries.ts';
import { MAIN, launch } from '../acceptance/daemon.ts';
import { startEnvironment } from '../cli/simulated-environment.ts';
import { debianProgram, eventually, finished } from './support/processes.ts';
import { startPrometheus } from './support/prometheus.ts';
import type { Prometheus } from './support/prometheus.ts';

/** Between two samples of the history. */
const STEP_MS = 5 * MINUTE_MS;
const CUSTOMER = 'riverside';
const SERIES = `library_people_entered_total{customer="${CUSTOMER}"}`;
/** When Prometheus began to scrape, as docs/backfill.md finds it. */
const BEGINNING = 'min(min_over_time(timestamp(library_exporter_build_info)[1y:1m]))';
const META = z.object({ stats: z.object({ numSamples: z.number() }) });

/** The one value that an expression has. */
async function valueOf({ query }: Prometheus, expression: string, atMs?: number) {
  const samples = await query(expression, atMs);
  expect(samples.length).toBeLessThanOrEqual(1);
  return samples[0]?.value;
}

/** Makes blocks of files, as docs/backfill.md says. Returns how many samples they have. */
async function makeBlocks(history: string, blocks: string): Promise<number> {
  const promtool = debianProgram('promtool');
  const command = ['tsdb', 'create-blocks-from', '--max-block-duration=162h', 'openmetrics'];
  for (const file of readdirSync(history).filter((name) => name.endsWith('.om'))) {
    await finished(promtool, [...command, '--quiet', join(history, file), blocks]);
  }
  return readdirSync(blocks)
    .map((block) => readFileSync(join(blocks, block, 'meta.json'), 'utf8'))
    .reduce((sum, text) => sum + META.parse(JSON.parse(text)).stats.numSamples, 0);
}

test('before a live exporter, increase() over any window across its start is what was counted', async () => {
  // It is about midnight there, and nobody comes.
  const hour = new Date().getUTCHours();
  const timezone = hour < 12 ? `Etc/GMT+${hour}` : `Etc/GMT-${24 - hour}`;
  await using environment = await startEnvironment(
    { [CUSTOMER]: { library: { timezone, visitsPerDay: 300, opening: OFFICE_HOURS } } },
    // Then a minute of the ground truth is a minute of the history to the last millisecond.
    { fromEdge: 'inclusive' },
    { historyMs: 70 * DAY_MS },
  );
  const { workspace } = environment;
  const config = environment.config({
    polling: { interval: '1s', reconcile_interval: '2s', breakdown_interval: '1s' },
    customer: { breakdowns: ['device'], opening_hours: openingHoursText(OFFICE_HOURS) },
  });
  const storage = join(workspace.folder, 'prometheus');
  const history = join(workspace.folder, 'history');
  const blocks = join(workspace.folder, 'blocks');
  const flags = [config, '--web.listen-address=127.0.0.1:0'];
  const exporter = await launch(workspace, flags).listening();
  const target = new URL(exporter.url).host;
  const scraping = await startPrometheus(exporter.url, {}, storage);
  await eventually(() => valueOf(scraping, SERIES));
  const firstLiveMs = 1000 * (await eventually(() => valueOf(scraping, BEGINNING)));
  const to = new Date(firstLiveMs).toISOString().replace(/\.\d+/, '');
  const range = ['--from=-40d', `--to=${to}`, `--instance=${target}`];
  const command = ['backfill', config, `--output=${history}`, ...range];
  const printed = await finished(process.execPath, [MAIN, ...command]);
  expect(await makeBlocks(history, blocks)).toBe(Number(/^(\d+) samples in/m.exec(printed)?.[1]));
  await scraping.stop();
  cpSync(blocks, storage, { recursive: true });
  await using prometheus = await startPrometheus(exporter.url, {}, storage);
  await eventually(() => valueOf(prometheus, SERIES));

  const random = seededRandom(1);
  const lastMs = 1000 * ((await valueOf(prometheus, `timestamp(${SERIES})`)) ?? NaN);
  const logins = `library_logins_total{customer="${CUSTOMER}"}`;
  for (let i = 0; i < 20; i += 1) {
    const agoMs = (i < 10 ? 39 : 2) * DAY_MS * random.next();
    const fromMs = Math.floor((firstLiveMs - agoMs) / STEP_MS) * STEP_MS;
    const served = environment.service.served(CUSTOMER, fromMs);
    const counted = { [SERIES]: served.entered, [logins]: served.logins };
    for (const [series, expected] of Object.entries(counted)) {
      // A millisecond more, for a window does not hold its beginning in every version of Prometheus.
      const increase = `increase(${series}[${lastMs - fromMs + 1}ms])`;
      expect(await valueOf(prometheus, increase, lastMs)).toBeCloseTo(expected, 2);
    }
  }
  // The history ends right before the first live sample.
  const before = await valueOf(prometheus, `timestamp(${SERIES})`, firstLiveMs - 1);
  expect(before).toBeLessThan(firstLiveMs / 1000);
  expect(before).toBeGreaterThan(firstLiveMs / 1000 - 3);
});
