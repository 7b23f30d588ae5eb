/**
 * A thousand customers with twenty branches each, polled over HTTP by the daemon as it is started: the
 * first values of all branches, and then scrapes, memory, processor time and event loop.
 */
import { loadOf, loadRows, longestDelayMs, secondsUntilAll, startPolledDaemon } from './daemon.ts';
import type { Load } from './daemon.ts';
import { barOf, medianOf } from '../table.ts';
import type { Measured } from '../table.ts';

const CUSTOMERS = 1_000;
const BRANCHES = 20;
const MAX_REQUESTS_PER_SECOND = 1_000;
const OF = `${BRANCHES} branches of ${CUSTOMERS} customers`;
/** Scrapes of a quarter of a million series are a part of what is measured: few of them. */
const WATCH_EVERY_MS = 5_000;
const ROUNDS = 3;

export async function measureBranches(): Promise<readonly Measured[]> {
  const polled = await startPolledDaemon({
    customers: CUSTOMERS,
    branches: BRANCHES,
    maxRequestsPerSecond: MAX_REQUESTS_PER_SECOND,
  });
  const { daemon } = polled;
  try {
    const families = ['library_occupancy_people'];
    const seconds = await secondsUntilAll(polled, families, CUSTOMERS * BRANCHES, WATCH_EVERY_MS);
    const rounds: Load[] = [];
    await longestDelayMs(daemon);
    while (rounds.length < ROUNDS) {
      rounds.push(await loadOf(polled));
    }
    const scrapesMs = rounds.flatMap((load) => load.scrapesMs);
    const of = `${OF}, while the days before are read`;
    const first = `Occupancy of ${OF} after a start, at most ${MAX_REQUESTS_PER_SECOND} requests/s`;
    const scrapes = `Scrape, gzip, of ${of}, median of ${scrapesMs.length}`;
    return [
      barOf(first, seconds, ' s', 120),
      barOf(scrapes, medianOf(scrapesMs), ' ms', 100),
      barOf(`Memory (RSS) of ${of}`, daemon.rssMiB(), ' MiB', 900),
      ...loadRows(rounds, of, { delayMs: 100, share: 50 }),
    ];
  } finally {
    await polled.stop();
  }
}
