/**
 * Ten thousand customers polled over HTTP by the daemon as it is started: its first sweep, its event
 * loop, and its processor time beside that of a bare loop; then scrapes, memory and reloads.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  loadOf,
  loadRows,
  longestDelayMs,
  metricsOf,
  PROBE_FLAGS,
  ROUND_SECONDS,
  secondsUntilAll,
  startPolledDaemon,
} from './daemon.ts';
import type { Load, PolledDaemon } from './daemon.ts';
import { barOf, medianOf, progress, ratioBar } from './measured.ts';
import type { Measured } from './measured.ts';
import { measureScrapesAndMemory } from './memory.ts';
import { Program } from './processes.ts';
import { measureReload } from './reload.ts';

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
      ...(await measureScrapesAndMemory(polled, OF)),
      await measureReload(polled, OF),
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
