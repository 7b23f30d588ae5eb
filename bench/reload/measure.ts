/** How long a reload of many customers keeps the event loop from everything else. */
import { request } from 'node:http';
import { loopDelayOf, scrape, startPolledDaemon } from '../daemon/daemon.ts';
import type { ConfigurationSettings } from '../daemon/configuration.ts';
import type { PolledDaemon } from '../daemon/daemon.ts';
import type { Measured } from '../measured.ts';
import { medianOf, wait } from '../processes.ts';

export interface ReloadSettings {
  readonly customers: number;
  readonly customersPerFile: number;
  readonly maxRequestsPerSecond: number;
  readonly times: number;
}

const USUAL_RELOAD: ReloadSettings = {
  customers: 10_000,
  customersPerFile: 100,
  maxRequestsPerSecond: 1_000,
  times: 5,
};

const MAX_DELAY_MS = 500;

export async function measureReload(
  progress: (line: string) => void,
  settings: ReloadSettings = USUAL_RELOAD,
): Promise<readonly Measured[]> {
  const { customers, customersPerFile, times } = settings;
  const polled = await startPolledDaemon(settings);
  try {
    // A first poll that fails is not counted as one.
    while ((await polled.service.state()).baselines < 0.99 * 2 * customers) {
      await wait(200);
    }
    const rows: Measured[] = [];
    for (const [where, layout] of [
      ['in one file', {}],
      [`in files of ${customersPerFile}`, { customersPerFile }],
    ] as const) {
      const reloads: Reload[] = [];
      for (let i = 0; i < times; i += 1) {
        // Each reload changes every customer.
        const reload = await reloadOnce(polled, { ...layout, smallestCapacity: 101 + i });
        reloads.push(reload);
        const { longestMs, seconds } = reload;
        progress(
          `reload ${i + 1}/${times}, ${where}: ${seconds.toFixed(1)} s, event loop ` +
            `${longestMs.toFixed(0)} ms at the longest, ${polled.daemon.rssMiB().toFixed(0)} MiB`,
        );
      }
      const value = medianOf(reloads.map(({ longestMs }) => longestMs));
      rows.push({
        bar: `Longest delay of the event loop at a reload of ${customers} customers ${where}, median of ${times}`,
        ours: `${value.toFixed(0)} ms`,
        peer: '–',
        value,
        limit: MAX_DELAY_MS,
      });
    }
    return rows;
  } finally {
    await polled.stop();
  }
}

interface Reload {
  readonly longestMs: number;
  readonly seconds: number;
}

async function reloadOnce(
  { configure, daemon, url }: PolledDaemon,
  changes: Partial<ConfigurationSettings>,
): Promise<Reload> {
  configure(changes);
  await loopDelayOf(daemon);
  await wait(100);
  const startMs = performance.now();
  const status = await post(`${url}/-/reload`);
  const seconds = (performance.now() - startMs) / 1_000;
  if (status !== 200) {
    throw new Error(`the reload ended with status ${status}`);
  }
  await scrape(url);
  await wait(100);
  return { seconds, longestMs: (await loopDelayOf(daemon)).longestMs };
}

async function post(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    request(url, { method: 'POST' }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    })
      .on('error', reject)
      .end();
  });
}
