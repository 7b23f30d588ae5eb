/** History in a real Prometheus, made by promtool: alone, and before a live exporter's samples. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../src/base/clock.ts';
import type { Clock } from '../../src/base/clock.ts';
import { seededRandom } from '../../src/base/random.ts';
import { Calendar } from '../../src/counting/calendar/calendar.ts';
import { Zone } from '../../src/counting/calendar/zone.ts';
import { OFFICE_HOURS, openingHoursText } from '../../src/simulator/libraries.ts';
import { MAIN, launch } from '../acceptance/daemon.ts';
import { startEnvironment } from '../cli/simulated-environment.ts';
import { panelQuery } from './support/panel-query.ts';
import { eventually, finished } from './support/processes.ts';
import { startPrometheus } from './support/prometheus.ts';
import type { Prometheus } from './support/prometheus.ts';
import { blocksFromFiles, recordMonths } from './support/promtool.ts';

const HOUR_MS = 3_600_000;
/** Between two samples of the history. */
const STEP_MS = 300_000;
const DAY_MS = 24 * HOUR_MS;
const CUSTOMER = 'riverside';
const SERIES = `library_people_entered_total{customer="${CUSTOMER}"}`;
const META = z.object({ stats: z.object({ numSamples: z.number() }) });

const REPORT = z.array(
  z.object({ period_start: z.string(), entered: z.number(), logins: z.number() }),
);

/** One simulated library with seventy days of history; the clock is the service's. */
async function startHistory(timezone: string, clock: Pick<Clock, 'nowMs'> = systemClock) {
  const environment = await startEnvironment(
    { [CUSTOMER]: { library: { timezone, visitsPerDay: 300, opening: OFFICE_HOURS } } },
    // Then a minute of the ground truth is a minute of the history to the last millisecond.
    { fromEdge: 'inclusive' },
    { clock, historyMs: 70 * DAY_MS },
  );
  const configFlag = environment.config({
    polling: { interval: '1s', reconcile_interval: '2s', breakdown_interval: '1s' },
    customer: { breakdowns: ['device'], opening_hours: openingHoursText(OFFICE_HOURS) },
  });
  const blocks = join(environment.workspace.folder, 'blocks');
  return {
    ...environment,
    configFlag,
    blocks,
    /** Returns how many were counted from an instant on. */
    since: (fromMs: number) => environment.service.served(CUSTOMER, fromMs),
    /** Makes blocks that have every sample that `backfill` says it wrote. */
    async backfill(...flags: readonly string[]): Promise<void> {
      const output = join(environment.workspace.folder, 'history');
      const args = ['backfill', configFlag, `--output=${output}`, ...flags];
      const printed = await finished(process.execPath, [MAIN, ...args]);
      await blocksFromFiles(output, blocks);
      const inBlocks = readdirSync(blocks)
        .map((block) =>
          META.parse(JSON.parse(readFileSync(join(blocks, block, 'meta.json'), 'utf8'))),
        )
        .reduce((sum, { stats }) => sum + stats.numSamples, 0);
      expect(inBlocks).toBe(Number(/^(\d+) samples in/m.exec(printed)?.[1]));
    },
  };
}

/** The one value that an expression has. */
async function valueOf(
  prometheus: Prometheus,
  expression: string,
  atMs?: number,
): Promise<number | undefined> {
  const samples = await prometheus.query(expression, atMs);
  expect(samples.length).toBeLessThanOrEqual(1);
  return samples[0]?.value;
}

/** A millisecond more, for a window does not hold its beginning in every version of Prometheus. */
function over(metric: string, fromMs: number, toMs: number): string {
  return `${metric}[${toMs - fromMs + 1}ms]`;
}

test('the months of `report` are those of the Statistics dashboard, over a change of the clocks', async () => {
  const calendar = new Calendar(new Zone('Europe/Copenhagen'), { hour: 4, minute: 0 });
  const fromMs = calendar.dayAt(Date.UTC(2026, 8, 6, 12)).startMs;
  const toMs = calendar.dayAt(Date.UTC(2026, 10, 5, 12)).startMs;
  await using environment = await startHistory('Europe/Copenhagen', {
    nowMs: () => toMs + 6 * HOUR_MS,
  });
  const { blocks, configFlag } = environment;
  const [from, to] = [fromMs, toMs].map((ms) => new Date(ms).toISOString());
  await environment.backfill(`--from=${from}`, `--to=${to}`);
  {
    await using unrecorded = await startPrometheus({}, { blocks });
    await recordMonths(unrecorded.url, blocks, { fromMs, toMs });
  }
  await using prometheus = await startPrometheus({}, { blocks });

  const { startMs, endMs } = calendar.dayAt(Date.UTC(2026, 9, 25, 12));
  const counted = environment.since(startMs).entered - environment.since(endMs).entered;
  const increase = `increase(${over(SERIES, startMs, endMs)})`;
  expect(counted).toBeGreaterThan(10);
  expect(await valueOf(prometheus, increase, endMs)).toBeCloseTo(counted, 2);
  expect(await valueOf(prometheus, `resets(${over(SERIES, fromMs, toMs)})`, toMs)).toBe(2);

  const range = ['--from=2026-09-01', '--to=2026-11-05', '--period=month', '--format=json'];
  const report = await finished(process.execPath, [MAIN, 'report', configFlag, ...range]);
  const months = REPORT.parse(JSON.parse(report));
  expect(months.map((row) => row.period_start)).toEqual(['2026-09-01', '2026-10-01', '2026-11-01']);
  for (const [title, column] of [
    ['Entries by month', 'entered'],
    ['Logins by month', 'logins'],
  ] as const) {
    const reader = { fromMs: Date.UTC(2026, 8, 1), atMs: toMs };
    const shown = await prometheus.query(panelQuery(['statistics', title], reader), toMs);
    expect(Object.fromEntries(shown.map(({ labels, value }) => [labels['month'], value]))).toEqual(
      Object.fromEntries(months.map((row) => [row.period_start.slice(0, 7), row[column]])),
    );
  }
});

test('before a live exporter, increase() over any window across its start is what was counted', async () => {
  // It is about midnight there, and nobody comes.
  const hour = new Date().getUTCHours();
  const zone = hour < 12 ? `Etc/GMT+${hour}` : `Etc/GMT-${24 - hour}`;
  await using environment = await startHistory(zone);
  const storage = join(environment.workspace.folder, 'prometheus');
  const flags = [environment.configFlag, '--web.listen-address=127.0.0.1:0'];
  const target = new URL((await launch(environment.workspace, flags).listening()).url).host;
  const scraping = await startPrometheus({ library: target }, { storage });
  const [first, asTime] = commandsOfGuide(new URL(scraping.url).host);
  const firstLiveMs = await eventually('a live sample of every counter', async () => {
    const seconds = (await finished('/bin/sh', ['-c', first])).match(/[\d.]+(?= @)/)?.[0];
    const shown = await valueOf(scraping, SERIES);
    return seconds !== undefined && shown !== undefined ? 1000 * Number(seconds) : undefined;
  });
  const to = await finished('/bin/sh', ['-c', asTime(firstLiveMs / 1000)]);
  await environment.backfill('--from=-40d', `--to=${to.trim()}`, `--instance=${target}`);
  await scraping.stop();
  const { blocks } = environment;
  await using prometheus = await startPrometheus({ library: target }, { storage, blocks });
  await eventually('a live sample after the restart', () => valueOf(prometheus, SERIES));

  const random = seededRandom(1);
  const lastMs = 1000 * ((await valueOf(prometheus, `timestamp(${SERIES})`)) ?? NaN);
  const logins = `library_logins_total{customer="${CUSTOMER}"}`;
  for (let i = 0; i < 20; i += 1) {
    const agoMs = (i < 10 ? 39 : 2) * DAY_MS * random.next();
    const fromMs = Math.floor((firstLiveMs - agoMs) / STEP_MS) * STEP_MS;
    const served = environment.since(fromMs);
    for (const [series, expected] of [
      [SERIES, served.entered],
      [logins, served.logins],
    ] as const) {
      const increase = `increase(${over(series, fromMs, lastMs)})`;
      expect(await valueOf(prometheus, increase, lastMs)).toBeCloseTo(expected, 2);
    }
  }
  // The history ends right before the first live sample.
  const before = await valueOf(prometheus, `timestamp(${SERIES})`, firstLiveMs - 1);
  expect(before).toBeLessThan(firstLiveMs / 1000);
  expect(before).toBeGreaterThan(firstLiveMs / 1000 - 3);
});

/** The two commands of docs/backfill.md that find when Prometheus began: the query, and its result as a time. */
function commandsOfGuide(host: string): readonly [string, (seconds: number) => string] {
  const guide = readFileSync(new URL('../../docs/backfill.md', import.meta.url), 'utf8');
  const [query = '', time = ''] =
    guide.match(/(?<=^ *)(?:promtool query instant|date -u) .*$/gm) ?? [];
  return [
    query.replace('localhost:9090', host),
    (seconds) => time.replace(/@[\d.]+/, `@${seconds}`),
  ];
}
