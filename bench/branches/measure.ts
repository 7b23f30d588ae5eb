/**
 * A thousand customers with twenty branches each, polled over HTTP by the daemon as it is started: the
 * first values of all branches, and then scrapes, memory, processor time and event loop.
 */
import { fetched, loopDelayOf, scrape, startPolledDaemon } from '../daemon/daemon.ts';
import type { PolledDaemon } from '../daemon/daemon.ts';
import type { Measured } from '../measured.ts';
import { medianOf, wait } from '../processes.ts';

export interface BranchesSettings {
  readonly customers: number;
  readonly branches: number;
  readonly maxRequestsPerSecond: number;
  readonly rounds: number;
  readonly roundSeconds: number;
  readonly scrapeEverySeconds: number;
  /** Whether to wait for the estimates: the days before take half a million requests, behind the polls. */
  readonly withEstimates: boolean;
}

export const USUAL_BRANCHES: BranchesSettings = {
  customers: 1_000,
  branches: 20,
  maxRequestsPerSecond: 1_000,
  rounds: 3,
  roundSeconds: 30,
  scrapeEverySeconds: 15,
  withEstimates: false,
};

export const LONG_BRANCHES: BranchesSettings = { ...USUAL_BRANCHES, withEstimates: true };

/** One series of a branch, once it is known. */
const OCCUPANCY = 'library_occupancy_people';
const ESTIMATE = 'library_occupancy_estimate_people';
/** Scrapes of half a million series are a part of what is measured: few of them. */
const WATCH_EVERY_MS = 5_000;
const MAX_SECONDS = 3_600;
/** The day starts so long after the daemon: its windows are known, and the days before are read. */
const DAY_STARTS_AFTER_MS = 4 * 60_000;

const LIMITS = {
  occupancySeconds: 120,
  estimateSeconds: 3_000,
  scrapeMs: 100,
  rssMiB: 900,
  coreShare: 50,
  delayMs: 100,
};

type Progress = (line: string) => void;

export async function measureBranches(
  progress: Progress,
  settings: BranchesSettings,
): Promise<readonly Measured[]> {
  const { customers, branches, maxRequestsPerSecond } = settings;
  const startMs = performance.now();
  const polled = await startPolledDaemon({ customers, branches, maxRequestsPerSecond });
  try {
    const of = `${branches} branches of ${customers} customers`;
    const seconds = await secondsUntilAll(OCCUPANCY, polled, settings, startMs, progress);
    const values = [
      row(
        `Occupancy of ${of} after a start, at most ${maxRequestsPerSecond} requests/s`,
        seconds,
        `${seconds.toFixed(0)} s`,
        LIMITS.occupancySeconds,
      ),
    ];
    if (settings.withEstimates) {
      const estimateSeconds = await secondsUntilAll(ESTIMATE, polled, settings, startMs, progress);
      const { requests } = await polled.service.state();
      values.push(
        row(
          `Estimates of ${of} after a start without stored windows, likewise`,
          estimateSeconds,
          `${estimateSeconds.toFixed(0)} s, ${requests} requests`,
          LIMITS.estimateSeconds,
        ),
      );
    }
    return [...values, ...(await measureLoad(polled, settings, progress))];
  } finally {
    await polled.stop();
  }
}

/** Returns seconds since the start; Infinity if some have none for an hour. */
async function secondsUntilAll(
  family: string,
  { url, daemon }: PolledDaemon,
  { customers, branches }: BranchesSettings,
  startMs: number,
  progress: Progress,
): Promise<number> {
  for (;;) {
    const text = (await fetched(`${url}/metrics`)).body.toString();
    const seconds = (performance.now() - startMs) / 1_000;
    const known = text.split(`\n${family}{`).length - 1;
    const rssMiB = daemon.rssMiB().toFixed(0);
    progress(`branches: ${known} with ${family} after ${seconds.toFixed(0)} s, ${rssMiB} MiB`);
    if (known === customers * branches) {
      return seconds;
    }
    if (seconds > MAX_SECONDS) {
      return Infinity;
    }
    await wait(WATCH_EVERY_MS);
  }
}

/** Polls and running windows; without estimates, the days before are read behind them. */
async function measureLoad(
  polled: PolledDaemon,
  settings: BranchesSettings,
  progress: Progress,
): Promise<readonly Measured[]> {
  const { customers, branches, rounds, roundSeconds, scrapeEverySeconds } = settings;
  const { daemon, url } = polled;
  const phase = settings.withEstimates ? '' : ', while the days before are read';
  const of = `${branches} branches of ${customers} customers${phase}`;
  const scrapesMs: number[] = [];
  const delaysMs: number[] = [];
  const shares: number[] = [];
  await loopDelayOf(daemon);
  for (let round = 1; round <= rounds; round += 1) {
    const startMs = performance.now();
    const cpuBeforeMs = daemon.cpuMs();
    const scrapes = Math.max(1, Math.floor(roundSeconds / scrapeEverySeconds));
    for (let i = 1; i <= scrapes; i += 1) {
      scrapesMs.push((await scrape(url)).ms);
      await wait(startMs + (i * roundSeconds * 1_000) / scrapes - performance.now());
    }
    shares.push((100 * (daemon.cpuMs() - cpuBeforeMs)) / (performance.now() - startMs));
    delaysMs.push((await loopDelayOf(daemon)).longestMs);
    progress(
      `branches ${round}/${rounds}: scrape ${scrapesMs.at(-1)?.toFixed(0)} ms, event loop ` +
        `${delaysMs.at(-1)?.toFixed(0)} ms, ${shares.at(-1)?.toFixed(1)} % of a core`,
    );
  }
  const [scrapeMs, delayMs, share] = [scrapesMs, delaysMs, shares].map(medianOf) as [
    number,
    number,
    number,
  ];
  const series = seriesOf((await fetched(`${url}/metrics`)).body.toString());
  const rssMiB = daemon.rssMiB();
  const runs = `median of ${rounds} runs of ${roundSeconds} s`;
  return [
    row(
      `Scrape, gzip, of ${of}, ${series} series, median of ${scrapesMs.length}`,
      scrapeMs,
      `${scrapeMs.toFixed(0)} ms`,
      LIMITS.scrapeMs,
    ),
    row(`Memory (RSS) of ${of}`, rssMiB, `${rssMiB.toFixed(0)} MiB`, LIMITS.rssMiB),
    row(
      `Share of a core, ${of}, people and logins by the minute, scrapes, ${runs}`,
      share,
      `${share.toFixed(1)} %`,
      LIMITS.coreShare,
    ),
    row(
      `Longest delay of the event loop, ${of}, ${runs}`,
      delayMs,
      `${delayMs.toFixed(1)} ms`,
      LIMITS.delayMs,
    ),
  ];
}

/** A scrape every five seconds, from ten seconds before a day starts to a minute after it. */
export async function measureDayStart(
  progress: Progress,
  { customers, branches, maxRequestsPerSecond }: BranchesSettings,
): Promise<readonly Measured[]> {
  const dayStartMs = Math.ceil((Date.now() + DAY_STARTS_AFTER_MS) / 60_000) * 60_000;
  const limits = { customers, branches, maxRequestsPerSecond };
  const polled = await startPolledDaemon({ ...limits, dayStartMs });
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
    progress(
      `branches when a day starts: scrapes ${scrapesMs.map((ms) => ms.toFixed(0)).join(' ')} ms, ` +
        `event loop ${longestMs.toFixed(0)} ms`,
    );
    const of = `${branches} branches of ${customers} customers, when a day starts`;
    const scrapeMs = medianOf(scrapesMs);
    return [
      row(
        `Scrape, gzip, of ${of}, median of ${scrapesMs.length}`,
        scrapeMs,
        `${scrapeMs.toFixed(0)} ms`,
        LIMITS.scrapeMs,
      ),
      row(
        `Longest delay of the event loop, ${of}`,
        longestMs,
        `${longestMs.toFixed(0)} ms`,
        LIMITS.delayMs,
      ),
    ];
  } finally {
    await polled.stop();
  }
}

function seriesOf(text: string): number {
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length;
}

function row(bar: string, value: number, ours: string, limit: number): Measured {
  return { bar, ours, peer: '–', value, limit };
}
