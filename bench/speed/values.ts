/** How long after a start all customers have their values, with the limits that are used by default. */
import { secondsUntilAll, startPolledDaemon } from './daemon.ts';
import { barOf } from './measured.ts';
import type { Measured } from './measured.ts';

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

export async function measureFirstValues(): Promise<readonly Measured[]> {
  const rows: Measured[] = [];
  for (const { customers, limitSeconds } of STARTS) {
    const polled = await startPolledDaemon({ customers, responseMs: RESPONSE_MS });
    try {
      const seconds = await secondsUntilAll(polled, FAMILIES, customers, 250);
      const bar = `All values of ${customers} customers after a start, responses in ${RESPONSE_MS} ms, no limit configured`;
      rows.push(barOf(bar, seconds, `.1 s, ${await polled.requests()} requests`, limitSeconds));
    } finally {
      await polled.stop();
    }
  }
  return rows;
}
