/**
 * Ten thousand customers polled over HTTP by the daemon as it is started: its first sweep, its event
 * loop, and its processor time beside that of a bare loop; then scrapes, memory and reloads.
 */
import { strict as assert } from 'node:assert';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import {
  fetched,
  loadOf,
  loadRows,
  longestDelayMs,
  metricsOf,
  PROBE_FLAGS,
  ROUND_SECONDS,
  scrape,
  secondsUntilAll,
  startPolledDaemon,
} from './daemon.ts';
import type { Load, PolledDaemon } from './daemon.ts';
import { barOf, medianOf, progress, ratioBar } from '../table.ts';
import type { Measured } from '../table.ts';
import { Program } from './processes.ts';

const CUSTOMERS = 10_000;
const OF = `${CUSTOMERS} customers`;
const MAX_REQUESTS_PER_SECOND = 1_000;
/** Scrapes are a part of what is measured: few of them. */
const WATCH_EVERY_MS = 5_000;
const ROUNDS = 5;

interface Round extends Load {
  /** Of a request: ours, and that of the bare loop. */
  readonly requestMs: number;
  readonly bareMs: number;
}

export async function measureTraffic(): Promise<readonly Measured[]> {
  const polled = await startPolledDaemon({
    customers: CUSTOMERS,
    maxRequestsPerSecond: MAX_REQUESTS_PER_SECOND,
  });
  const totals = ['library_people_entered_total', 'library_logins_total'];
  try {
    const seconds = await secondsUntilAll(polled, totals, CUSTOMERS, WATCH_EVERY_MS);
    const leastSeconds = (await polled.requests()) / MAX_REQUESTS_PER_SECOND;
    const bar = `All totals of ${OF} after a start; peer: its requests at ${MAX_REQUESTS_PER_SECOND}/s`;
    const sweep = ratioBar(bar, [seconds, leastSeconds], '.1 s', 1.2);
    const skippedBefore = await skippedPolls(polled);
    const firstHour = await measureRounds(polled, 'while pasts are read', 2);
    // Otherwise this takes an hour.
    await polled.daemon.ask('hurry');
    const pasts = ['library_people_entered_usual_today'];
    await secondsUntilAll(polled, pasts, CUSTOMERS, WATCH_EVERY_MS);
    const atRest = await measureRounds(polled, 'at rest', 1.5);
    const skipped = (await skippedPolls(polled)) - skippedBefore;
    return [
      sweep,
      ...firstHour,
      ...atRest,
      barOf('Skipped polls of all these', skipped, '', 0),
      ...(await measureScrapesAndMemory(polled)),
      await measureReload(polled),
    ];
  } finally {
    await polled.stop();
  }
}

/**
 * The daemon and the bare loop at the same time, so that what else the machine does concerns both. The
 * loop gets the responses that the daemon got before, at their own pace.
 */
async function measureRounds(
  polled: PolledDaemon,
  when: string,
  maxRatio: number,
): Promise<readonly Measured[]> {
  const { daemon, requests, serviceUrl } = polled;
  const before = await requests();
  await sleep(ROUND_SECONDS * 1_000);
  const perRound = (await requests()) - before;
  const args = [serviceUrl, String(perRound), String(ROUND_SECONDS)];
  const loop = Program.node('bare-loop.ts', args, PROBE_FLAGS);
  const rounds: Round[] = [];
  try {
    await loop.says(/(warm)/);
    await longestDelayMs(daemon);
    for (let i = 1; i <= ROUNDS; i += 1) {
      const beforeMs = loop.cpuMs();
      const [load] = await Promise.all([loadOf(polled), loop.ask('round')]);
      const bareMs = (loop.cpuMs() - beforeMs) / perRound;
      const requestMs = load.cpuMs / load.requests;
      rounds.push({ ...load, requestMs, bareMs });
      progress(
        `traffic ${i}/${ROUNDS}: event loop ${load.longestMs.toFixed(1)} ms at the longest, ` +
          `${requestMs.toFixed(3)} ms of CPU a request, bare loop ${bareMs.toFixed(3)} ms`,
      );
    }
  } finally {
    await loop.stop();
  }
  const bar = `CPU a request, ${when}, median of ${ROUNDS} runs of ${ROUND_SECONDS} s; peer: bare loop`;
  const medians = (['requestMs', 'bareMs'] as const).map((of) =>
    medianOf(rounds.map((round) => round[of])),
  );
  const value = medianOf(rounds.map(({ requestMs, bareMs }) => requestMs / bareMs));
  return [
    { ...ratioBar(bar, medians, '.3 ms', maxRatio), value },
    ...loadRows(rounds, `${OF}, ${when}`, { delayMs: 50, share: 30 }),
  ];
}

async function skippedPolls({ url }: PolledDaemon): Promise<number> {
  const skipped = /^library_polls_skipped_total\{[^}]*\} (\d+)$/gm;
  const found = (await metricsOf(url)).matchAll(skipped);
  return Array.from(found, ([, value]) => Number(value)).reduce((sum, value) => sum + value, 0);
}

/** How long a reload keeps the event loop from everything else. */
async function measureReload({ configure, daemon, url }: PolledDaemon): Promise<Measured> {
  const delaysMs: number[] = [];
  for (let i = 0; i < ROUNDS; i += 1) {
    // Each reload changes every customer.
    configure({ smallestCapacity: 101 + i });
    await longestDelayMs(daemon);
    await sleep(100);
    await fetched(`${url}/-/reload`, { method: 'POST' });
    await scrape(url);
    await sleep(100);
    delaysMs.push(await longestDelayMs(daemon));
    progress(`reload ${i + 1}/${ROUNDS}: event loop ${delaysMs[i]?.toFixed(0)} ms`);
  }
  const bar = `Longest delay at a reload of ${OF}, median of ${ROUNDS}`;
  return barOf(bar, medianOf(delaysMs), ' ms', 500);
}

const SCRAPE_ROUNDS = 8;
/** Between two scrapes of the daemon: meanwhile, an eighth of its customers changes. */
const INTERVAL_MS = 7_500;

interface ScrapeRound {
  readonly gzip: number;
  readonly plain: number;
  readonly mib: number;
}

/** Beside Debian's pushgateway with the same series as one group. */
async function measureScrapesAndMemory({
  daemon,
  url,
}: PolledDaemon): Promise<readonly Measured[]> {
  const series = linesOfCustomers(await metricsOf(url));
  const pushgateway = await startPushgateway(`${series.join('\n')}\n`);
  try {
    assert.equal(linesOfCustomers(await metricsOf(pushgateway.url)).length, series.length);
    const zipped = gunzipSync((await scrape(url)).body).toString();
    assert.equal(linesOfCustomers(zipped).length, series.length);
    const rounds: (readonly ScrapeRound[])[] = [];
    while (rounds.length < SCRAPE_ROUNDS) {
      const own = await scrapeTwice(url, daemon);
      const peer = await scrapeTwice(pushgateway.url, pushgateway.program);
      rounds.push([own, peer]);
      progress(
        `scrape ${rounds.length}/${SCRAPE_ROUNDS}: ${own.gzip.toFixed(0)} ms, ${own.mib.toFixed(0)} MiB`,
      );
    }
    // The first ones are for warming up.
    const measured = rounds.slice(3);
    function both(key: keyof ScrapeRound): readonly number[] {
      return [0, 1].map((server) => medianOf(measured.map((round) => round[server]?.[key] ?? NaN)));
    }
    return [
      ratioBar('scrape, gzip: time, pushgateway', both('gzip'), '.1 ms', 0.1),
      ratioBar('scrape, plain: time, pushgateway', both('plain'), '.1 ms', 0.1),
      ratioBar(`Memory (RSS) of ${OF}; peer: pushgateway`, both('mib'), ' MiB', 1.3),
    ];
  } finally {
    await pushgateway.program.stop();
  }
}

async function scrapeTwice(url: string, program: Program): Promise<ScrapeRound> {
  await sleep(INTERVAL_MS);
  const plain = (await fetched(`${url}/metrics`)).ms;
  await sleep(INTERVAL_MS);
  const gzip = (await scrape(url)).ms;
  return { gzip, plain, mib: program.rssMiB() };
}

/** Returns the lines of the customers' families: servers have metrics of their own. */
function linesOfCustomers(text: string): readonly string[] {
  return text.split('\n').filter((line) => /^(?:# \w+ )?library_(?!exporter_)/.test(line));
}

/** Starts it, and pushes once, which is the least that it can hold. Throws an Error where it is not installed. */
async function startPushgateway(text: string) {
  const program = new Program('prometheus-pushgateway', ['--web.listen-address=127.0.0.1:0']);
  const url = `http://${await program.says(/"Listening on".* address=(\S+)/)}`;
  const content = Buffer.from(text);
  await fetched(`${url}/metrics/job/library`, { method: 'PUT', content });
  return { program, url };
}
