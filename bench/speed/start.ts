/** From a start until it listens, beside the libraries that are loaded; and until all customers have their values. */
import {
  afternoonZone,
  secondsUntilAll,
  startDaemon,
  startPolledDaemon,
  temporaryFolder,
  writeConfiguration,
} from './daemon.ts';
import { barOf, medianOf, progress, ratioBar } from '../table.ts';
import type { Measured } from '../table.ts';
import { Program } from './processes.ts';

export async function measureStart(): Promise<readonly Measured[]> {
  const rows: Measured[] = [];
  for (const [customers, times] of [
    [1, 9],
    [10_000, 5],
  ] as const) {
    using folder = temporaryFolder();
    const file = writeConfiguration(folder.path, {
      customers,
      // Nobody listens there: what comes after the start is no part of it.
      serviceUrl: 'http://127.0.0.1:1',
      timezone: afternoonZone(),
      maxRequestsPerSecond: Math.max(10, customers),
    });
    const [ours, peers]: [number[], number[]] = [[], []];
    for (let i = 0; i < times; i += 1) {
      ours.push(await startOnce(() => startDaemon(file, `${folder.path}/${i}`)));
      peers.push(await startOnce(() => Program.node('start-peer.ts', [file])));
    }
    progress(`start, ${customers} customers: ${ours.map(Math.round).join()} ms`);
    const bar = `From start until it listens, customers: ${customers}, median of ${times}; peer: its libraries and the file parsed`;
    rows.push(ratioBar(bar, [ours, peers].map(medianOf), ' ms', 1.5));
  }
  return rows;
}

/** Returns milliseconds. */
async function startOnce(start: () => Program): Promise<number> {
  const startMs = performance.now();
  const program = start();
  try {
    await program.says(/(listening)/);
    return performance.now() - startMs;
  } finally {
    // As it is stopped in use: only then does it keep what it has compiled.
    await program.stop('SIGTERM');
  }
}

const RESPONSE_MS = 100;
/** Each customer has one series of each, once it has all values but the estimate. */
const FAMILIES = [
  'library_people_entered_total',
  'library_people_entered_today',
  'library_occupancy_people',
  'library_logins_total',
  'library_logins_today',
];

/** With the limits that are used by default. */
export async function measureFirstValues(): Promise<readonly Measured[]> {
  const rows: Measured[] = [];
  for (const [customers, limitSeconds] of [
    [300, 30],
    [1_000, 90],
  ] as const) {
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
