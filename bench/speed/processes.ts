/** Programs that the bench starts, measures from outside and ends. Linux only: it reads /proc. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const COMPILE_CACHE = fileURLToPath(new URL('../../node_modules/.cache/bench', import.meta.url));

/** How the exporter is started (package.json, Dockerfile). */
export const HEAP_FLAGS = ['--max-semi-space-size=16'];

export class Program {
  readonly #child: ChildProcess;
  #output = '';

  constructor(command: string, args: readonly string[]) {
    this.#child = spawn(command, args, {
      stdio: ['pipe', 'pipe', 'pipe', 'ipc'],
      // What is not compiled anew holds no compiler in memory; the daemon does so by itself.
      env: { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE },
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.#output += text));
    }
    this.#child.on('error', (error) => (this.#output += String(error)));
  }

  /** `file` is relative to the folder of this one. */
  static node(file: string, args: readonly string[], flags: readonly string[] = []): Program {
    const path = fileURLToPath(new URL(file, import.meta.url));
    return new Program(process.execPath, [...flags, path, ...args]);
  }

  get #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** What the pattern's first group finds in its output; throws if it ends before. */
  async says(pattern: RegExp): Promise<string> {
    for (;;) {
      const found = pattern.exec(this.#output)?.[1];
      if (found !== undefined) {
        return found;
      }
      if (this.#hasEnded) {
        throw new Error(`a program of the bench has ended: ${this.#output.trim()}`);
      }
      await sleep(1);
    }
  }

  /** Sends a message and waits for the reply. */
  async ask<Reply>(message: string): Promise<Reply> {
    const reply = once(this.#child, 'message');
    this.#child.send(message);
    const [received] = (await reply) as [Reply];
    return received;
  }

  /** Processor time of all its threads so far, in milliseconds. */
  cpuMs(): number {
    const tasks = `/proc/${this.#child.pid}/task`;
    const ns = readdirSync(tasks).map((task) => {
      try {
        return Number(readFileSync(`${tasks}/${task}/schedstat`, 'utf8').split(' ')[0]);
      } catch {
        // A thread may end in between.
        return 0;
      }
    });
    return ns.reduce((sum, of) => sum + of, 0) / 1e6;
  }

  rssMiB(): number {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1_024;
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGKILL'): Promise<void> {
    if (!this.#hasEnded) {
      const ended = once(this.#child, 'exit');
      this.#child.kill(signal);
      await ended;
    }
  }
}
