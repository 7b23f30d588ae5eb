/** What a daemon costs while it is polling and scraped. */
import { wait } from '../processes.ts';
import type { PolledDaemon } from './daemon.ts';
import { loopDelayOf, scrape } from './daemon.ts';

export const ROUND_SECONDS = 30;
const SCRAPE_EVERY_SECONDS = 15;

export interface Load {
  readonly scrapesMs: readonly number[];
  /** Longest delay of the event loop since the round before. */
  readonly longestMs: number;
  readonly cpuMs: number;
  readonly wallMs: number;
  /** Tokens included. */
  readonly requests: number;
}

/** Scrapes at the usual pace for some seconds. */
export async function loadOf(
  { daemon, service, url }: PolledDaemon,
  seconds: number,
): Promise<Load> {
  const before = await service.state();
  const cpuBeforeMs = daemon.cpuMs();
  const startMs = performance.now();
  const scrapesMs: number[] = [];
  const scrapes = seconds / SCRAPE_EVERY_SECONDS;
  for (let i = 1; i <= scrapes; i += 1) {
    scrapesMs.push((await scrape(url)).ms);
    await wait(startMs + i * SCRAPE_EVERY_SECONDS * 1_000 - performance.now());
  }
  const cpuMs = daemon.cpuMs() - cpuBeforeMs;
  const wallMs = performance.now() - startMs;
  const after = await service.state();
  const { longestMs } = await loopDelayOf(daemon);
  const requests = after.requests + after.tokens - before.requests - before.tokens;
  return { scrapesMs, longestMs, cpuMs, wallMs, requests };
}

/** Returns per cent of a core. */
export function shareOf({ cpuMs, wallMs }: Load): number {
  return (100 * cpuMs) / wallMs;
}
