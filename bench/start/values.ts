/** How long after a start all customers have their values, with the limits that are used by default. */
import { metricsOf, seriesOf, startPolledDaemon } from '../daemon/daemon.ts';
import { barOf } from '../measured.ts';
import type { Measured, Progress } from '../measured.ts';
import { wait } from '../processes.ts';

const STARTS = [
  { customers: 300, limitSeconds: 30 },
  { customers: 1_000, limitSeconds: 90 },
];
const RESPONSE_MS = 100;
/** Each customer has one series of each, once it has all values but the estimate. */
const FAMILIES = [
  'library_people_entered_total',
  'library_people_entered_today',
  'library_occupancy_people',
  'library_logins_total',
  'library_logins_today',
];
const MAX_SECONDS = 600;

export async function measureFirstValues(progress: Progress): Promise<readonly Measured[]> {
  const rows: Measured[] = [];
  for (const { customers, limitSeconds } of STARTS) {
    const startMs = performance.now();
    const polled = await startPolledDaemon({ customers, responseMs: RESPONSE_MS });
    try {
      let [seconds, complete] = [0, 0];
      while (complete < customers && seconds < MAX_SECONDS) {
        await wait(250);
        const text = await metricsOf(polled.url);
        seconds = (performance.now() - startMs) / 1_000;
        complete = Math.min(...FAMILIES.map((family) => seriesOf(text, family)));
        progress(`first values: ${complete} of ${customers} after ${seconds.toFixed(1)} s`);
      }
      const { requests, tokens } = await polled.service.state();
      const bar = `All values of ${customers} customers after a start, responses in ${RESPONSE_MS} ms, no limit configured`;
      const value = complete === customers ? seconds : Infinity;
      rows.push(barOf(bar, value, `.1 s, ${requests + tokens} requests`, limitSeconds));
    } finally {
      await polled.stop();
    }
  }
  return rows;
}
