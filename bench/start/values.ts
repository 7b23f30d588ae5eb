/** How long after a start all customers have their values, with the limits that are used by default. */
import { fetched, startPolledDaemon } from '../daemon/daemon.ts';
import type { Measured } from '../measured.ts';
import { wait } from '../processes.ts';

export interface ValuesSettings {
  readonly starts: readonly { readonly customers: number; readonly limitSeconds: number }[];
  readonly responseMs: number;
}

const USUAL_VALUES: ValuesSettings = {
  starts: [
    { customers: 300, limitSeconds: 30 },
    { customers: 1_000, limitSeconds: 90 },
  ],
  responseMs: 100,
};

/** Each customer has one series of each, once it has all values but the estimate. */
const FAMILIES = [
  'library_people_entered_total',
  'library_people_entered_today',
  'library_occupancy_people',
  'library_logins_total',
  'library_logins_today',
];
const MAX_SECONDS = 600;

export async function measureFirstValues(
  progress: (line: string) => void,
  { starts, responseMs }: ValuesSettings = USUAL_VALUES,
): Promise<readonly Measured[]> {
  const rows: Measured[] = [];
  for (const { customers, limitSeconds } of starts) {
    const startMs = performance.now();
    const polled = await startPolledDaemon({ customers, responseMs });
    try {
      let seconds = 0;
      let complete = 0;
      while (complete < customers && seconds < MAX_SECONDS) {
        await wait(250);
        const text = (await fetched(`${polled.url}/metrics`)).body.toString();
        seconds = (performance.now() - startMs) / 1_000;
        const counts = FAMILIES.map((family) => text.split(`\n${family}{`).length - 1);
        complete = Math.min(...counts);
        progress(`first values: ${complete} of ${customers} after ${seconds.toFixed(1)} s`);
      }
      const { requests, tokens } = await polled.service.state();
      rows.push({
        bar: `All values of ${customers} customers after a start, responses in ${responseMs} ms, no limit configured`,
        ours: `${seconds.toFixed(1)} s, ${requests + tokens} requests`,
        peer: '–',
        value: complete === customers ? seconds : Infinity,
        limit: limitSeconds,
      });
    } finally {
      await polled.stop();
    }
  }
  return rows;
}
