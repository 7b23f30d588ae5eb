/** Debian's prometheus-pushgateway with the customers' series of the exporter in one group. */
import { spawnSync } from 'node:child_process';
import { freePort } from '../free-port.ts';
import { fetched } from '../daemon/daemon.ts';
import type { Progress } from '../measured.ts';
import { Program, wait } from '../processes.ts';

const PUSHGATEWAY = 'prometheus-pushgateway';

/** Installs it where it is not there. Throws an Error that says what to do where that cannot be done. */
export function installPushgateway(progress: Progress): void {
  if (spawnSync(PUSHGATEWAY, ['--version']).error === undefined) {
    return;
  }
  const toDo = `the bench needs Debian's ${PUSHGATEWAY}: apt-get install ${PUSHGATEWAY}`;
  if (process.getuid?.() !== 0) {
    throw new Error(`${toDo}, as root`);
  }
  progress(`installing ${PUSHGATEWAY}`);
  // In run level 1 the package does not start one of its own.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const packages = ['install', '-qq', '--yes', '--no-install-recommends', PUSHGATEWAY];
  for (const args of [['update', '-qq'], packages]) {
    if (spawnSync('apt-get', args, { env, stdio: ['ignore', 'ignore', 'inherit'] }).status !== 0) {
      throw new Error(`apt-get ${args.join(' ')} failed; ${toDo}`);
    }
  }
}

export interface Pushgateway {
  readonly program: Program;
  readonly url: string;
}

export async function startPushgateway(): Promise<Pushgateway> {
  const port = await freePort();
  const program = Program.of(PUSHGATEWAY, [`--web.listen-address=127.0.0.1:${port}`]);
  const url = `http://127.0.0.1:${port}`;
  for (let i = 0; i < 200; i += 1) {
    try {
      await fetched(`${url}/-/ready`);
      return { program, url };
    } catch {
      await wait(25);
    }
  }
  await program.stop();
  throw new Error(`${PUSHGATEWAY} did not listen within five seconds`);
}

/** Replaces the group whole, as who pushes does. */
export async function push({ url }: Pushgateway, content: Buffer): Promise<void> {
  await fetched(`${url}/metrics/job/library`, { method: 'PUT', content });
}

/** The families of the customers in an exposition: it has process and Go metrics of its own. */
export function customersOnly(exposition: string): Buffer {
  const lines = exposition.split('\n');
  const kept = lines.filter((line) => /^(?:# \w+ )?library_(?!exporter_)/.test(line));
  return Buffer.from(`${kept.join('\n')}\n`);
}
