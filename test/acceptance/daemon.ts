/**
 * The daemon as a child process, seen from outside only: a configuration in a temporary folder, the
 * log on standard error, /metrics over HTTP.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { vi } from 'vitest';
import { Exposition } from './exposition.ts';
import type { LedgerService, ServiceCustomer } from './ledger-service.ts';

const mainFile = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** An exit status, or the name of the signal that ended the process. */
export type Exit = number | NodeJS.Signals;

/** A folder for one test file and the daemons started in it; `close` ends and removes them. */
export class Workspace {
  readonly folder = mkdtempSync(join(tmpdir(), 'acceptance-'));
  readonly daemons: Daemon[] = [];

  write(name: string, content: string): string {
    const file = join(this.folder, name);
    writeFileSync(file, content, { mode: 0o600 });
    return file;
  }

  async close(): Promise<void> {
    await Promise.all(this.daemons.map(async (daemon) => daemon.stop()));
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export interface Settings {
  readonly service?: object;
  readonly polling?: object;
  /** Further keys of single customers, by name. */
  readonly customers?: Readonly<Record<string, object>>;
}

/** A configuration for the customers (JSON is YAML), each with a secret file; returns its path. */
export function writeConfig(
  workspace: Workspace,
  service: LedgerService,
  customers: readonly ServiceCustomer[],
  settings: Settings = {},
): string {
  const config = {
    service: {
      base_url: service.url,
      auth_url: service.url,
      max_requests_per_second: 500,
      ...settings.service,
    },
    polling: { interval: '1s', reconcile_interval: '3s', ...settings.polling },
    customers: customers.map((customer) => ({
      name: customer.name,
      client_id: customer.clientId,
      client_secret_file: workspace.write(`${customer.name}.secret`, `${customer.secret}\n`),
      timezone: customer.ledger.zone,
      ...settings.customers?.[customer.name],
    })),
  };
  return workspace.write('config.yaml', JSON.stringify(config, undefined, 2));
}

/** Starts the binary with no environment but what Node needs. */
function launch(workspace: Workspace, args: readonly string[], environment: object): ChildProcess {
  return spawn(process.execPath, [mainFile, ...args], {
    cwd: workspace.folder,
    env: { PATH: process.env['PATH'], HOME: workspace.folder, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Runs the binary to its end, for commands that end by themselves within `timeoutMs`. */
export async function runToEnd(
  workspace: Workspace,
  args: readonly string[],
  timeoutMs = 15_000,
): Promise<{ exit: Exit; stdout: string; stderr: string }> {
  const daemon = new Daemon(launch(workspace, args, {}));
  const timer = setTimeout(() => daemon.signal('SIGKILL'), timeoutMs);
  const exit = await daemon.exited;
  clearTimeout(timer);
  return { exit, stdout: daemon.stdout, stderr: daemon.stderr };
}

export class Daemon {
  stdout = '';
  stderr = '';
  /** Settles when the process has ended and its output is read. */
  readonly exited: Promise<Exit>;
  #url = '';
  readonly #child: ChildProcess;

  constructor(child: ChildProcess) {
    this.#child = child;
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.exited = new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code, signal) => resolve(code ?? signal ?? 'SIGKILL'));
    });
  }

  /** Starts a daemon on a free port and waits for its `listening` line. */
  static async start(
    workspace: Workspace,
    configFile: string,
    storagePath = join(workspace.folder, 'data'),
    environment: object = {},
    flags: readonly string[] = [],
  ): Promise<Daemon> {
    return Daemon.startWith(
      workspace,
      [
        `--config.file=${configFile}`,
        '--web.listen-address=127.0.0.1:0',
        `--storage.path=${storagePath}`,
        ...flags,
      ],
      environment,
    );
  }

  /** The same with a command line of the test's own. */
  static async startWith(
    workspace: Workspace,
    args: readonly string[],
    environment: object = {},
  ): Promise<Daemon> {
    const daemon = new Daemon(launch(workspace, args, environment));
    workspace.daemons.push(daemon);
    let ended: Exit | undefined;
    void daemon.exited.then((exit) => (ended = exit));
    await vi.waitUntil(() => ended !== undefined || daemon.#readUrl(), {
      timeout: 15_000,
      interval: 20,
    });
    if (ended !== undefined) {
      throw new Error(`the daemon ended with ${ended}: ${daemon.stderr}${daemon.stdout}`);
    }
    return daemon;
  }

  get url(): string {
    return this.#url;
  }

  /** Every line of standard error as the JSON object that the contract's log format makes it. */
  logLines(): readonly Readonly<Record<string, unknown>>[] {
    const whole = this.stderr.slice(0, this.stderr.lastIndexOf('\n') + 1);
    return whole
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return fetch(`${this.#url}${path}`, { headers });
  }

  async scrape(): Promise<Exposition> {
    const answer = await this.get('/metrics');
    if (answer.status !== 200) {
      throw new Error(`/metrics answers ${answer.status}`);
    }
    return new Exposition(await answer.text());
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Ends the daemon by SIGTERM, by SIGKILL where that does not help within `graceMs`. */
  async stop(graceMs = 5000): Promise<Exit> {
    this.signal('SIGTERM');
    const timer = setTimeout(() => this.signal('SIGKILL'), graceMs);
    const exit = await this.exited;
    clearTimeout(timer);
    return exit;
  }

  #readUrl(): boolean {
    // What is no log line, as of a process that dies at its start, is told when it has ended.
    const line = this.stderr.match(/^\{.*"msg":"listening".*\}$/m)?.[0] ?? '{}';
    const { url } = JSON.parse(line) as { url?: string };
    this.#url = url === undefined ? '' : new URL(url).origin;
    return this.#url !== '';
  }
}

/** Repeats the assertions until they hold; their last failure is the test's. */
export async function eventually(
  assertions: () => void | Promise<void>,
  timeoutMs = 20_000,
): Promise<void> {
  await vi.waitFor(assertions, { timeout: timeoutMs, interval: 100 });
}

/**
 * As `eventually`, for a table of checks that wait for the same thing: the first ones wait until
 * `deadlineMs` together, so that many that fail do not add up; later ones have two seconds each.
 */
export async function eventuallyBy(
  deadlineMs: number,
  assertions: () => void | Promise<void>,
): Promise<void> {
  await eventually(assertions, Math.max(2000, deadlineMs - Date.now()));
}
