/** How long the daemon takes from its start to its first connection, beside the libraries that it loads. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { startDaemon } from '../daemon/daemon.ts';
import { afternoonZone, temporaryFolder, writeConfiguration } from '../daemon/configuration.ts';
import { freePort } from '../free-port.ts';
import { ratioBar } from '../measured.ts';
import type { Measured, Progress } from '../measured.ts';
import { medianOf, Program, wait } from '../processes.ts';

/** How many customers, and how often. */
const STARTS = [
  { customers: 1, times: 9 },
  { customers: 10_000, times: 5 },
];

export async function measureStart(progress: Progress): Promise<readonly Measured[]> {
  const rows: Measured[] = [];
  for (const { customers, times } of STARTS) {
    using folder = temporaryFolder();
    const file = writeConfiguration(folder.path, {
      customers,
      // Nobody listens there: what comes after the start is no part of it.
      serviceUrl: `http://127.0.0.1:${await freePort()}`,
      timezone: afternoonZone(Date.now()),
      maxRequestsPerSecond: Math.max(10, customers),
    });
    const ours: Start[] = [];
    const peers: Start[] = [];
    for (let i = 0; i < times; i += 1) {
      const storage = `${folder.path}/${i}`;
      ours.push(await startOnce((port) => startDaemon(file, storage, {}, `127.0.0.1:${port}`)));
      peers.push(await startOnce((port) => Program.node('start/peer.ts', [file, String(port)])));
    }
    progress(`start, ${customers} customers: ${textOf(ours)}; peer: ${textOf(peers)}`);
    const medians = [ours, peers].map((starts) => medianOf(starts.map(({ ms }) => ms)));
    const bar = `From start to first connection, customers: ${customers}, median of ${times}; peer: its libraries and the file parsed`;
    rows.push(ratioBar(bar, medians, ' ms', 1.5));
  }
  return rows;
}

interface Start {
  readonly ms: number;
  /** Of all threads until then: on a busy machine it says more. */
  readonly cpuMs: number;
}

async function startOnce(start: (port: number) => Program): Promise<Start> {
  const port = await freePort();
  const startMs = performance.now();
  const program = start(port);
  try {
    while (!(await isOpen(port))) {
      await wait(2);
    }
    return { ms: performance.now() - startMs, cpuMs: program.cpuMs() };
  } finally {
    // As it is stopped in use: only then does it keep what it has compiled.
    await program.stop('SIGTERM');
  }
}

function textOf(starts: readonly Start[]): string {
  return starts
    .map(({ ms, cpuMs }) => `${ms.toFixed(0)} ms (CPU ${cpuMs.toFixed(0)} ms)`)
    .join(', ');
}

async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
