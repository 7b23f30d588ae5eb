/**
 * Memory: an hour of simulated polls and scrapes beside pushgateway with the same series, and then
 * thirty simulated days. Every poll of a month would take hours: the machine sleeps for some days again
 * and again, and all streams are polled for some minutes in between. High-water marks are not written: a quarter of
 * a million writes would take hours, too.
 */
import { scrape, fetched } from '../daemon/daemon.ts';
import { temporaryFolder, writeConfiguration } from '../daemon/configuration.ts';
import type { Measured } from '../measured.ts';
import { HEAP_FLAGS, medianOf, Program } from '../processes.ts';
import { customersOnly, installPushgateway, push, startPushgateway } from './pushgateway.ts';

export interface MemorySettings {
  readonly customers: number;
  readonly hourMinutes: number;
  readonly days: number;
  readonly daysAsleep: number;
  readonly minutesAwake: number;
  readonly settleMinutes: number;
}

const USUAL_MEMORY: MemorySettings = {
  customers: 10_000,
  hourMinutes: 60,
  days: 30,
  daysAsleep: 5,
  minutesAwake: 2,
  settleMinutes: 10,
};

const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;

type Progress = (line: string) => void;

export async function measureMemory(
  progress: Progress,
  settings: MemorySettings = USUAL_MEMORY,
): Promise<readonly Measured[]> {
  installPushgateway(progress);
  const { customers, hourMinutes, days, daysAsleep, minutesAwake, settleMinutes } = settings;
  using folder = temporaryFolder();
  const file = writeConfiguration(folder.path, {
    customers,
    serviceUrl: 'http://127.0.0.1:1',
    timezone: 'Europe/Copenhagen',
    maxRequestsPerSecond: Math.max(10, customers),
  });
  await compileOnce(file);
  const daemon = startSimulated(file);
  try {
    const url = await daemon.says(/^(http\S+)$/m);
    const afterHour = await pollEveryMinute(daemon, url, hourMinutes, progress);
    const liveAfterHour = await daemon.ask<number>('live');
    const series = customersOnly((await fetched(`${url}/metrics`)).body);
    for (let day = daysAsleep; day <= days; day += daysAsleep) {
      await daemon.ask(`jump ${daysAsleep * DAY_MS}`);
      await pollEveryMinute(daemon, url, minutesAwake, progress);
      progress(`memory: ${day} simulated days, ${daemon.rssMiB().toFixed(0)} MiB`);
    }
    await pollEveryMinute(daemon, url, settleMinutes, progress);
    const liveAfterDays = await daemon.ask<number>('live');
    const peer = await pushgatewayMiB(series, hourMinutes);
    progress(`memory: pushgateway ${peer.toFixed(0)} MiB`);
    return [
      {
        bar: `Memory (RSS) of ${customers} customers after ${hourMinutes} simulated minutes; peer: pushgateway`,
        ours: `${afterHour.toFixed(0)} MiB`,
        peer: `${peer.toFixed(0)} MiB`,
        value: afterHour / peer,
        limit: 1.3,
      },
      {
        bar: `Memory in use after a collection, ${days} more simulated days later; peer: before them`,
        ours: `${liveAfterDays.toFixed(0)} MiB`,
        peer: `${liveAfterHour.toFixed(0)} MiB`,
        value: liveAfterDays / liveAfterHour,
        limit: 1.02,
      },
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
