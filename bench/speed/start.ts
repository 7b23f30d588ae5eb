/** How long the daemon takes from its start until it listens, beside the libraries that it loads. */
import { afternoonZone, temporaryFolder, writeConfiguration } from './configuration.ts';
import { startDaemon } from './daemon.ts';
import { medianOf, progress, ratioBar } from './measured.ts';
import type { Measured } from './measured.ts';
import { Program } from './processes.ts';

/** How many customers, and how often. */
const STARTS = [
  { customers: 1, times: 9 },
  { customers: 10_000, times: 5 },
];

export async function measureStart(): Promise<readonly Measured[]> {
  const rows: Measured[] = [];
  for (const { customers, times } of STARTS) {
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
