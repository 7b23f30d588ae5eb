/** How long the daemon takes from its start to its first connection, beside the libraries that it loads. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../free-port.ts';
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
      const storage = `${folder.path}/${i}`;
      ours.push(await startOnce((port) => startDaemon(file, storage, [], `127.0.0.1:${port}`)));
      peers.push(await startOnce((port) => Program.node('start-peer.ts', [file, String(port)])));
    }
    progress(`start, ${customers} customers: ${ours.map(Math.round).join()} ms`);
    const bar = `From start to first connection, customers: ${customers}, median of ${times}; peer: its libraries and the file parsed`;
    rows.push(ratioBar(bar, [ours, peers].map(medianOf), ' ms', 1.5));
  }
  return rows;
}

/** Returns milliseconds. */
async function startOnce(start: (port: number) => Program): Promise<number> {
  const port = await freePort();
  const startMs = performance.now();
  const program = start(port);
  try {
    while (!(await isOpen(port))) {
      await sleep(2);
    }
    return performance.now() - startMs;
  } finally {
    // As it is stopped in use: only then does it keep what it has compiled.
    await program.stop('SIGTERM');
  }
}

async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const isConnected = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isConnected;
}
