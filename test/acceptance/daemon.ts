/** The exporter as a child process, seen from outside only: files, output, HTTP. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { vi } from 'vitest';
import { Exposition } from './exposition.ts';
import type { Labels } from './exposition.ts';

export const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** Log line with the address, in JSON and pretty. */
const LISTENING = /"url":"([^"]+)","msg":"listening"| listening url="([^"]+)"/;

/** An exit status, or the name of the signal that ended the process. */
export type Exit = number | NodeJS.Signals;

export interface Settings {
  /** `config.yaml` if not given. */
  readonly file?: string;
  readonly service?: object;
  readonly polling?: object;
}

/** A folder for one test file and the processes started in it; `close` stops and removes them. */
export class Workspace {
  readonly folder = mkdtempSync(join(tmpdir(), 'acceptance-'));
  readonly daemons: Daemon[] = [];

  write(name: string, content: string): string {
    const file = join(this.folder, name);
    writeFileSync(file, content, { mode: 0o600 });
    return file;
  }

  /** Writes a configuration (JSON is YAML) of customers by name, with their keys; returns its path. */
  configure(
    url: string,
    customers: Readonly<Record<string, object>>,
    { file = 'config.yaml', service, polling }: Settings = {},
  ): string {
    const config = {
      service: { base_url: url, auth_url: url, max_requests_per_second: 1_000, ...service },
      polling,
      customers: Object.entries(customers).map(([name, keys]) => ({
        name,
        client_id: `${name}-api`,
        ...keys,
      })),
    };
    return this.write(file, JSON.stringify(config, undefined, 2));
  }

  async close(): Promise<void> {
    await Promise.all(this.daemons.map((daemon) => daemon.stop()));
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The flags of a daemon on a free port of loopback. Of a flag given twice, the last one counts. */
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

/** Starts the binary in the workspace, with no environment but what Node needs. */
export function launch(
  workspace: Workspace,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  [node, main]: readonly [node: string, main: string] = [process.execPath, MAIN],
): Daemon {
  const child = spawn(node, [main, ...args], {
    cwd: workspace.folder,
    env: { PATH: process.env['PATH'], HOME: workspace.folder, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const daemon = new Daemon(child);
  workspace.daemons.push(daemon);
  return daemon;
}

export class Daemon {
  stdout = '';
  stderr = '';
  /** How the process ended, once it has. */
  ended: Exit | undefined;
  /** Settles when the process has ended and its output is read. */
  readonly exited: Promise<Exit>;
  readonly #child: ChildProcess;

  constructor(child: ChildProcess) {
    this.#child = child;
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.exited = once(child, 'close').then(
      ([code, signal]) => (this.ended = (code ?? signal) as Exit),
    );
  }

  get pid(): number {
    return this.#child.pid ?? NaN;
  }

  /** Address at which it serves; empty until it does. */
  get url(): string {
    const [, json, pretty] = LISTENING.exec(this.stderr) ?? [];
    const url = json ?? pretty;
    return url === undefined ? '' : new URL(url).origin;
  }

  async listening(): Promise<this> {
    await this.until(() => this.url !== '');
    return this;
  }

  /** Waits until the condition holds; an error after half a minute, or if the process ends. */
  async until(condition: () => boolean): Promise<void> {
    for (let tries = 0; tries < 3_000 && !condition() && this.ended === undefined; tries += 1) {
      await sleep(10);
    }
    if (!condition()) {
      throw new Error(`waited in vain; it ended with ${this.ended}: ${this.stderr}${this.stdout}`);
    }
  }

  /** The complete lines of the JSON log. */
  logLines() {
    return objectsOf(this.stderr.slice(0, this.stderr.lastIndexOf('\n') + 1));
  }

  /** The log lines with this message. */
  logged(message: string) {
    return this.logLines().filter(({ msg }) => msg === message);
  }

  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return fetch(`${this.url}${path}`, { headers });
  }

  async reload(method: 'POST' | 'PUT' | 'GET' = 'POST'): Promise<Response> {
    return fetch(`${this.url}/-/reload`, { method });
  }

  async scrape(): Promise<Exposition> {
    const response = await this.get('/metrics');
    if (response.status !== 200) {
      throw new Error(`/metrics responds with ${response.status}`);
    }
    return new Exposition(await response.text());
  }

  /** The value on /metrics now. */
  async value(name: string, labels: Labels = {}): Promise<number | undefined> {
    return (await this.scrape()).value(name, labels);
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Ends the process by a signal; `SIGKILL` is the result if it had to be ended after half a minute. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    this.signal(signal);
    const watchdog = setTimeout(() => this.signal('SIGKILL'), 30_000);
    const exit = await this.exited;
    clearTimeout(watchdog);
    return exit;
  }
}

/** The objects of JSON lines; other lines are left out. */
export function objectsOf(text: string): readonly Readonly<Record<string, unknown>>[] {
  const lines = text.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** Repeats the assertions until they hold, and returns their result; their last failure is the test's. */
export function eventually<Result>(assertions: () => Result | Promise<Result>): Promise<Result> {
  return vi.waitFor(assertions, { timeout: 60_000, interval: 250 });
}
