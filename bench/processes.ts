/** Programs that the bench starts, measures from outside and ends. Linux only: it reads /proc. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface StartOptions {
  readonly nodeFlags?: readonly string[];
  /** Whether messages can be sent to it. */
  readonly ipc?: boolean;
}

const COMPILE_CACHE = fileURLToPath(new URL('../node_modules/.cache/bench', import.meta.url));

/** Characters of each output: the end of it says why a program has ended. */
const MAX_KEPT_CHARACTERS = 8_000;

/** How the exporter is started (package.json, Dockerfile). */
export const HEAP_FLAGS = ['--max-semi-space-size=16'];

export class Program {
  readonly #child: ChildProcess;
  #out = '';
  #errors = '';

  private constructor(command: string, args: readonly string[], options: StartOptions) {
    this.#child = spawn(command, args, {
      stdio: options.ipc === true ? ['pipe', 'pipe', 'pipe', 'ipc'] : ['pipe', 'pipe', 'pipe'],
      // What is not compiled anew holds no compiler in memory; the daemon does so by itself.
      env: { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE },
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#out = (this.#out + text).slice(-MAX_KEPT_CHARACTERS);
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#errors = (this.#errors + text).slice(-MAX_KEPT_CHARACTERS);
    });
    this.#child.on('error', (error) => (this.#errors += String(error)));
  }

  /** `file` is relative to the folder of the bench. */
  static node(file: string, args: readonly string[], options: StartOptions = {}): Program {
    const path = fileURLToPath(new URL(file, import.meta.url));
    return new Program(process.execPath, [...(options.nodeFlags ?? []), path, ...args], options);
  }

  static of(command: string, args: readonly string[], options: StartOptions = {}): Program {
    return new Program(command, args, options);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** What the pattern's first group finds in its output or its log; throws if it ends before. */
  async says(pattern: RegExp): Promise<string> {
    for (;;) {
      const found = (pattern.exec(this.#out) ?? pattern.exec(this.#errors))?.[1];
      if (found !== undefined) {
        return found;
      }
      this.#throwIfEnded();
      await wait(1);
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
    const tasks = `/proc/${this.pid}/task`;
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
    return this.#statusMiB('VmRSS');
  }

  /** Resident memory without that of files, which the system can take back. */
  anonymousMiB(): number {
    return this.#statusMiB('RssAnon');
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGKILL'): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const ended = once(this.#child, 'exit');
      this.#child.kill(signal);
      await ended;
    }
  }

  #statusMiB(line: string): number {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
    return Number(new RegExp(`^${line}:\\s+(\\d+)`, 'm').exec(status)?.[1]) / 1_024;
  }

  #throwIfEnded(): void {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
      throw new Error(`a program of the bench has ended: ${this.#errors.trim()}`);
    }
  }
}

export async function wait(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? NaN)) / 2;
}
