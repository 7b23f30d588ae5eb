/** How long the daemon takes from its start to its first connection, beside the libraries that it loads. */
import { connect } from 'node:net';
import { startDaemon } from '../daemon/daemon.ts';
import { afternoonZone, temporaryFolder, writeConfiguration } from '../daemon/configuration.ts';
import type { Measured } from '../measured.ts';
import { freePort } from '../free-port.ts';
import { medianOf, Program, wait } from '../processes.ts';

export interface StartSettings {
  /** How many customers, and how often. */
  readonly starts: readonly {
    readonly customers: number;
    readonly times: number;
  }[];
}

const USUAL_STARTS: StartSettings = {
  starts: [
    { customers: 1, times: 9 },
    { customers: 10_000, times: 5 },
  ],
};

/** Of the peer's time. */
const MAX_RATIO = 1.5;

export async function measureStart(
  progress: (line: string) => void,
  { starts }: StartSettings = USUAL_STARTS,
): Promise<readonly Measured[]> {
  const rows: Measured[] = [];
  for (const { customers, times } of starts) {
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
    const [oursMs, peerMs] = [ours, peers].map((those) => medianOf(those.map(({ ms }) => ms)));
    rows.push({
      bar: `From start to first connection, customers: ${customers}, median of ${times}; peer: its libraries and the file parsed`,
      ours: `${oursMs?.toFixed(0)} ms`,
      peer: `${peerMs?.toFixed(0)} ms`,
      value: Number(oursMs) / Number(peerMs),
      limit: MAX_RATIO,
    });
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
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
