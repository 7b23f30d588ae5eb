/** The daemon as a child process with any flags: what it says in either format, and how it ends. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { onTestFinished, vi } from 'vitest';
import { Daemon } from '../acceptance/daemon.ts';
import type { Exit, Workspace } from '../acceptance/daemon.ts';

/** Long, for the machine is busy with other tests: what is looked for is an end that never comes. */
const WATCHDOG_MS = 30_000;

const mainFile = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** In JSON and pretty. */
const LISTENING =
  /"msg":"listening","url":"([^"]+)"|"url":"([^"]+)","msg":"listening"| listening url="([^"]+)"/;

export class Child extends Daemon {
  readonly pid: number;
  ended: Exit | undefined;

  constructor(child: ChildProcess) {
    super(child);
    this.pid = child.pid ?? 0;
    void this.exited.then((exit) => (this.ended = exit));
  }

  /** Where it serves; empty until it does. */
  override get url(): string {
    const match = LISTENING.exec(this.stderr);
    const url = match?.[1] ?? match?.[2] ?? match?.[3];
    return url === undefined ? '' : new URL(url).origin;
  }

  override async get(
    path: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    return fetch(`${this.url}${path}`, { headers });
  }

  /** Asks for a reload over HTTP. */
  async reload(method: 'POST' | 'PUT' | 'GET' = 'POST'): Promise<Response> {
    return fetch(`${this.url}/-/reload`, { method });
  }

  async listening(): Promise<this> {
    await this.until(() => this.url !== '');
    return this;
  }

  /** Waits until it is so, or for the end of the process, which is an error. */
  async until(isSo: () => boolean): Promise<void> {
    await vi.waitUntil(() => isSo() || this.ended !== undefined, { timeout: 20_000, interval: 10 });
    if (!isSo()) {
      throw new Error(`it ended with ${String(this.ended)}: ${this.stderr}${this.stdout}`);
    }
  }
}

/** Starts the binary in the workspace, which ends it at last. Nothing is waited for. */
export function launch(
  workspace: Workspace,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Child {
  const child = spawn(process.execPath, [mainFile, ...args], {
    cwd: workspace.folder,
    env: { PATH: process.env['PATH'], HOME: workspace.folder, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const launched = new Child(child);
  workspace.daemons.push(launched);
  return launched;
}

/** The flags of a daemon on a free port of loopback. */
export function flagsFor(
  workspace: Workspace,
  configFile: string,
  ...more: readonly string[]
): readonly string[] {
  return [
    `--config.file=${configFile}`,
    '--web.listen-address=127.0.0.1:0',
    `--storage.path=${workspace.folder}/data`,
    ...more,
  ];
}

/** The end after a signal: its status, or SIGKILL where the watchdog had to end it. */
export async function endOf(child: Child, signal: 'SIGTERM' | 'SIGINT' = 'SIGTERM'): Promise<Exit> {
  child.signal(signal);
  const watchdog = setTimeout(() => child.signal('SIGKILL'), WATCHDOG_MS);
  const exit = await child.exited;
  clearTimeout(watchdog);
  return exit;
}

/** A connection to the daemon that never reads, until the test is over. */
export async function connectionTo(child: Child): Promise<Socket> {
  const { hostname, port } = new URL(child.url);
  const socket = connect(Number(port), hostname).pause();
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  await new Promise((resolve) => socket.once('connect', resolve));
  return socket;
}
