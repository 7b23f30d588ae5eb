/** How long the daemon takes from its start to its first connection. */
import { connect } from 'node:net';
import { startDaemon } from '../daemon/daemon.ts';
import { afternoonZone, temporaryFolder, writeConfiguration } from '../daemon/configuration.ts';
import type { Measured } from '../measured.ts';
import { freePort } from '../free-port.ts';
import { medianOf, wait } from '../processes.ts';

export interface StartSettings {
  /** How many customers, how often, and within how many milliseconds. */
  readonly starts: readonly {
    readonly customers: number;
    readonly times: number;
    readonly limitMs: number;
  }[];
}

const USUAL_STARTS: StartSettings = {
  starts: [
    { customers: 1, times: 9, limitMs: 400 },
    { customers: 10_000, times: 5, limitMs: 1_500 },
  ],
};

export async function measureStart(
  progress: (line: string) => void,
  { starts }: StartSettings = USUAL_STARTS,
): Promise<readonly Measured[]> {
  const rows: Measured[] = [];
  for (const { customers, times, limitMs } of starts) {
    using folder = temporaryFolder();
    const file = writeConfiguration(folder.path, {
      customers,
      // Nobody listens there: what comes after the start is no part of it.
      serviceUrl: `http://127.0.0.1:${await freePort()}`,
      timezone: afternoonZone(Date.now()),
      maxRequestsPerSecond: Math.max(10, customers),
    });
    const taken: Start[] = [];
    for (let i = 0; i < times; i += 1) {
      taken.push(await startOnce(file, `${folder.path}/${i}`));
    }
    progress(
      `start, ${customers} customers: ` +
        taken.map(({ ms, cpuMs }) => `${ms.toFixed(0)} ms (CPU ${cpuMs.toFixed(0)} ms)`).join(', '),
    );
    const medianMs = medianOf(taken.map(({ ms }) => ms));
    rows.push({
      bar: `From start to first connection, customers: ${customers}, median of ${times}`,
      ours: `${medianMs.toFixed(0)} ms`,
      peer: '–',
      value: medianMs,
      limit: limitMs,
    });
  }
  return rows;
}

interface Start {
  readonly ms: number;
  /** Of all threads until then: on a busy machine it tells more. */
  readonly cpuMs: number;
}

async function startOnce(configFile: string, folder: string): Promise<Start> {
  const port = await freePort();
  const startMs = performance.now();
  const daemon = startDaemon(configFile, folder, {}, `127.0.0.1:${port}`);
  try {
    while (!(await isOpen(port))) {
      await wait(2);
    }
    return { ms: performance.now() - startMs, cpuMs: daemon.cpuMs() };
  } finally {
    // As it is stopped in use: only then does it keep what it has compiled.
    await daemon.stop('SIGTERM');
  }
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
