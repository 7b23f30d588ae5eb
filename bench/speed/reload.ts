/** How long a reload of many customers keeps the event loop from everything else. */
import { setTimeout as sleep } from 'node:timers/promises';
import { fetched, longestDelayMs, scrape } from './daemon.ts';
import type { PolledDaemon } from './daemon.ts';
import { barOf, medianOf, progress } from './measured.ts';
import type { Measured } from './measured.ts';

const TIMES = 5;

/** `of` says of which customers. */
export async function measureReload(
  { configure, daemon, url }: PolledDaemon,
  of: string,
): Promise<Measured> {
  const delaysMs: number[] = [];
  for (let i = 0; i < TIMES; i += 1) {
    // Each reload changes every customer.
    configure({ smallestCapacity: 101 + i });
    await longestDelayMs(daemon);
    await sleep(100);
    await fetched(`${url}/-/reload`, { method: 'POST' });
    await scrape(url);
    await sleep(100);
    delaysMs.push(await longestDelayMs(daemon));
    progress(`reload ${i + 1}/${TIMES}: event loop ${delaysMs[i]?.toFixed(0)} ms`);
  }
  const bar = `Longest delay at a reload of ${of} in one file, median of ${TIMES}`;
  return barOf(bar, medianOf(delaysMs), ' ms', 500);
}
