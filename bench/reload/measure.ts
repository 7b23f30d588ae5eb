/** How long a reload of many customers keeps the event loop from everything else. */
import { fetched, loopDelayOf, scrape, startPolledDaemon } from '../daemon/daemon.ts';
import type { ConfigurationSettings } from '../daemon/configuration.ts';
import type { PolledDaemon } from '../daemon/daemon.ts';
import { barOf } from '../measured.ts';
import type { Measured, Progress } from '../measured.ts';
import { medianOf, wait } from '../processes.ts';

const CUSTOMERS = 10_000;
const PER_FILE = 100;
const TIMES = 5;
const MAX_DELAY_MS = 500;

export async function measureReload(progress: Progress): Promise<readonly Measured[]> {
  const polled = await startPolledDaemon({ customers: CUSTOMERS, maxRequestsPerSecond: 1_000 });
  try {
    // A first poll that fails is not counted as one.
    while ((await polled.service.state()).baselines < 0.99 * 2 * CUSTOMERS) {
      await wait(200);
    }
    const rows: Measured[] = [];
    for (const [where, customersPerFile] of [
      ['in one file', CUSTOMERS],
      [`in files of ${PER_FILE}`, PER_FILE],
    ] as const) {
      const delaysMs: number[] = [];
      for (let i = 0; i < TIMES; i += 1) {
        // Each reload changes every customer.
        delaysMs.push(await reloadOnce(polled, { customersPerFile, smallestCapacity: 101 + i }));
        progress(`reload ${i + 1}/${TIMES}, ${where}: event loop ${delaysMs[i]?.toFixed(0)} ms`);
      }
      const bar = `Longest delay at a reload of ${CUSTOMERS} customers ${where}, median of ${TIMES}`;
      rows.push(barOf(bar, medianOf(delaysMs), ' ms', MAX_DELAY_MS));
    }
    return rows;
  } finally {
    await polled.stop();
  }
}

async function reloadOnce(
  { configure, daemon, url }: PolledDaemon,
  changes: Partial<ConfigurationSettings>,
): Promise<number> {
  configure(changes);
  await loopDelayOf(daemon);
  await wait(100);
  await fetched(`${url}/-/reload`, { method: 'POST' });
  await scrape(url);
  await wait(100);
  return (await loopDelayOf(daemon)).longestMs;
}
