/**
 * Memory: an hour of simulated polls and scrapes beside pushgateway with the same series, and then
 * thirty simulated days. Every poll of a month would take hours: the machine sleeps for some days again
 * and again, and all streams are polled for some minutes in between. High-water marks are not written: a quarter of
 * a million writes would take hours, too.
 */
import { metricsOf, scrape } from '../daemon/daemon.ts';
import { temporaryFolder, writeConfiguration } from '../daemon/configuration.ts';
import { ratioBar } from '../measured.ts';
import type { Measured, Progress } from '../measured.ts';
import { HEAP_FLAGS, medianOf, Program } from '../processes.ts';
import { customersOnly, installPushgateway, push, startPushgateway } from './pushgateway.ts';

const CUSTOMERS = 10_000;
const HOUR_MINUTES = 60;
const DAYS = 30;
const DAYS_ASLEEP = 5;
const MINUTES_AWAKE = 2;
const SETTLE_MINUTES = 10;
const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;

export async function measureMemory(progress: Progress): Promise<readonly Measured[]> {
  installPushgateway(progress);
  using folder = temporaryFolder();
  const file = writeConfiguration(folder.path, {
    customers: CUSTOMERS,
    serviceUrl: 'http://127.0.0.1:1',
    timezone: 'Europe/Copenhagen',
    maxRequestsPerSecond: CUSTOMERS,
  });
  await compileOnce(file);
  const daemon = startSimulated(file);
  try {
    const url = await daemon.says(/^(http\S+)$/m);
    const afterHour = await pollEveryMinute(daemon, url, HOUR_MINUTES, progress);
    const liveAfterHour = await daemon.ask<number>('live');
    const series = customersOnly(await metricsOf(url));
    for (let day = DAYS_ASLEEP; day <= DAYS; day += DAYS_ASLEEP) {
      await daemon.ask(`jump ${DAYS_ASLEEP * DAY_MS}`);
      await pollEveryMinute(daemon, url, MINUTES_AWAKE, progress);
      progress(`memory: ${day} simulated days, ${daemon.rssMiB().toFixed(0)} MiB`);
    }
    await pollEveryMinute(daemon, url, SETTLE_MINUTES, progress);
    const liveAfterDays = await daemon.ask<number>('live');
    const peer = await pushgatewayMiB(series, HOUR_MINUTES);
    progress(`memory: pushgateway ${peer.toFixed(0)} MiB`);
    return [
      ratioBar(
        `Memory (RSS) of ${CUSTOMERS} customers after ${HOUR_MINUTES} simulated minutes; peer: pushgateway`,
        [afterHour, peer],
        ' MiB',
        1.3,
      ),
      ratioBar(
        `Memory in use after a collection, ${DAYS} more simulated days later; peer: before them`,
        [liveAfterDays, liveAfterHour],
        ' MiB',
        1.02,
      ),
    ];
  } finally {
    await daemon.stop();
  }
}

function startSimulated(configFile: string): Program {
  const options = { ipc: true, nodeFlags: HEAP_FLAGS };
  return Program.node('memory/simulated-daemon.ts', [configFile], options);
}

/** So that the measured one finds compiled what it runs, as the daemon does from its second start on. */
async function compileOnce(configFile: string): Promise<void> {
  const daemon = startSimulated(configFile);
  await daemon.says(/^(http\S+)$/m);
  await daemon.ask(`advance ${MINUTE_MS}`);
  await daemon.stop('SIGTERM');
}

/** Polls at the usual pace, a scrape a minute; the median of the last ten minutes' memory. */
async function pollEveryMinute(
  daemon: Program,
  url: string,
  minutes: number,
  progress: Progress,
): Promise<number> {
  const seen: number[] = [];
  for (let minute = 1; minute <= minutes; minute += 1) {
    await daemon.ask(`advance ${MINUTE_MS}`);
    await scrape(url);
    seen.push(daemon.rssMiB());
    if (minute % 15 === 0) {
      progress(`memory: ${minute} simulated minutes, ${seen.at(-1)?.toFixed(0)} MiB`);
    }
  }
  return medianOf(seen.slice(-10));
}

/** Pushed once, which is the least that it can hold, and scraped as often as ours. */
async function pushgatewayMiB(series: Buffer, scrapes: number): Promise<number> {
  const pushgateway = await startPushgateway();
  try {
    await push(pushgateway, series);
    const seen: number[] = [];
    for (let i = 0; i < scrapes; i += 1) {
      await scrape(pushgateway.url);
      seen.push(pushgateway.program.rssMiB());
    }
    return medianOf(seen.slice(-10));
  } finally {
    await pushgateway.program.stop();
  }
}
