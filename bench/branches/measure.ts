/**
 * A thousand customers with twenty branches each, polled over HTTP by the daemon as it is started: the
 * first values of all branches, and then scrapes, memory, processor time and event loop.
 */
import { loopDelayOf, metricsOf, scrape, seriesOf, startPolledDaemon } from '../daemon/daemon.ts';
import type { PolledDaemon } from '../daemon/daemon.ts';
import { loadOf, ROUND_SECONDS, shareOf } from '../daemon/load.ts';
import type { Load } from '../daemon/load.ts';
import { barOf } from '../measured.ts';
import type { Measured, Progress } from '../measured.ts';
import { medianOf, wait } from '../processes.ts';

const CUSTOMERS = 1_000;
const BRANCHES = 20;
const MAX_REQUESTS_PER_SECOND = 1_000;
const OF = `${BRANCHES} branches of ${CUSTOMERS} customers`;
/** Scrapes of half a million series are a part of what is measured: few of them. */
const WATCH_EVERY_MS = 5_000;
const MAX_SECONDS = 3_600;
/** The day starts so long after the daemon: its windows are known, and the days before are read. */
const DAY_STARTS_AFTER_MS = 4 * 60_000;
const ROUNDS = 3;
const MAX_SCRAPE_MS = 100;
const MAX_DELAY_MS = 100;

/** `withEstimates` waits for them: the days before take half a million requests, behind the polls. */
export async function measureBranches(
  progress: Progress,
  withEstimates: boolean,
): Promise<readonly Measured[]> {
  const startMs = performance.now();
  const polled = await startBranches();
  async function secondsUntilAll(family: string): Promise<number> {
    for (;;) {
      const known = seriesOf(await metricsOf(polled.url), family);
      const seconds = (performance.now() - startMs) / 1_000;
      const rssMiB = polled.daemon.rssMiB().toFixed(0);
      progress(`branches: ${known} with ${family} after ${seconds.toFixed(0)} s, ${rssMiB} MiB`);
      if (known === CUSTOMERS * BRANCHES) {
        return seconds;
      }
      if (seconds > MAX_SECONDS) {
        return Infinity;
      }
      await wait(WATCH_EVERY_MS);
    }
  }
  try {
    const first = `Occupancy of ${OF} after a start, at most ${MAX_REQUESTS_PER_SECOND} requests/s`;
    const rows = [barOf(first, await secondsUntilAll('library_occupancy_people'), ' s', 120)];
    if (withEstimates) {
      const seconds = await secondsUntilAll('library_occupancy_estimate_people');
      const { requests } = await polled.service.state();
      const bar = `Estimates of ${OF} after a start without stored windows, likewise`;
      rows.push(barOf(bar, seconds, ` s, ${requests} requests`, 3_000));
    }
    const phase = withEstimates ? '' : ', while the days before are read';
    return [...rows, ...(await measureLoad(polled, `${OF}${phase}`, progress))];
  } finally {
    await polled.stop();
  }
}

async function startBranches(dayStartMs?: number): Promise<PolledDaemon> {
  return startPolledDaemon({
    customers: CUSTOMERS,
    branches: BRANCHES,
    maxRequestsPerSecond: MAX_REQUESTS_PER_SECOND,
    ...(dayStartMs === undefined ? {} : { dayStartMs }),
  });
}

/** Polls and running windows; without estimates, the days before are read behind them. */
async function measureLoad(
  polled: PolledDaemon,
  of: string,
  progress: Progress,
): Promise<readonly Measured[]> {
  const rounds: Load[] = [];
  await loopDelayOf(polled.daemon);
  for (let round = 1; round <= ROUNDS; round += 1) {
    const load = await loadOf(polled, ROUND_SECONDS);
    rounds.push(load);
    progress(
      `branches ${round}/${ROUNDS}: scrape ${load.scrapesMs.at(-1)?.toFixed(0)} ms, event loop ` +
        `${load.longestMs.toFixed(0)} ms, ${shareOf(load).toFixed(1)} % of a core`,
    );
  }
  const text = await metricsOf(polled.url);
  const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length;
  const scrapesMs = rounds.flatMap((load) => load.scrapesMs);
  const runs = `median of ${ROUNDS} runs of ${ROUND_SECONDS} s`;
  return [
    barOf(
      `Scrape, gzip, of ${of}, ${series} series, median of ${scrapesMs.length}`,
      medianOf(scrapesMs),
      ' ms',
      MAX_SCRAPE_MS,
    ),
    barOf(`Memory (RSS) of ${of}`, polled.daemon.rssMiB(), ' MiB', 900),
    barOf(`Share of a core, ${of}, ${runs}`, medianOf(rounds.map(shareOf)), '.1 %', 50),
    barOf(
      `Longest delay, ${of}, ${runs}`,
      medianOf(rounds.map(({ longestMs }) => longestMs)),
      '.1 ms',
      MAX_DELAY_MS,
    ),
  ];
}

/** A scrape every five seconds, from ten seconds before a day starts to a minute after it. */
export async function measureDayStart(progress: Progress): Promise<readonly Measured[]> {
  const dayStartMs = Math.ceil((Date.now() + DAY_STARTS_AFTER_MS) / 60_000) * 60_000;
  const polled = await startBranches(dayStartMs);
  try {
    const { daemon, url } = polled;
    await wait(dayStartMs - 10_000 - Date.now());
    await loopDelayOf(daemon);
    const scrapesMs: number[] = [];
    for (let i = 0; i < 14; i += 1) {
      scrapesMs.push((await scrape(url)).ms);
      await wait(5_000);
    }
    const { longestMs } = await loopDelayOf(daemon);
    progress(`branches when a day starts: event loop ${longestMs.toFixed(0)} ms`);
    const of = `${OF}, when a day starts`;
    return [
      barOf(
        `Scrape, gzip, of ${of}, median of ${scrapesMs.length}`,
        medianOf(scrapesMs),
        ' ms',
        MAX_SCRAPE_MS,
      ),
      barOf(`Longest delay, ${of}`, longestMs, ' ms', MAX_DELAY_MS),
    ];
  } finally {
    await polled.stop();
  }
}
