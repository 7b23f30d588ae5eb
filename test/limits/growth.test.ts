/** What must not grow: the heap of a customer over a month, and what failing polls leave behind. */
import { strict as assert } from 'node:assert';
import { execFile, fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Workspace } from '../acceptance/daemon.ts';
import { Exposition } from '../acceptance/exposition.ts';
import { HostileService } from './hostile-service.ts';
import type { Behaviour } from './hostile-service.ts';
import type { Holding } from './programs/hasty-daemon.ts';

const service = new HostileService();
const workspace = new Workspace();

beforeAll(async () => {
  await service.start();
});
afterAll(async () => {
  await workspace.close();
  await service.stop();
});

function programOf(name: string): string {
  return fileURLToPath(new URL(`programs/${name}.ts`, import.meta.url));
}

interface Day {
  readonly day: number;
  readonly heapBytes: number;
  readonly polls: number;
  readonly entered: number;
  /** Whether the keys of the minutes could be read. */
  readonly dated: boolean;
}

test('a customer costs the same memory after a month as after ten days', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--expose-gc',
    programOf('month'),
  ]);
  const days = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Day);
  const [early, late] = [days[10], days[30]];
  expect(late?.polls).toBeGreaterThan(43_000);
  expect(late?.entered).toBeGreaterThan(20_000);
  expect(late?.dated).toBe(true);
  // Twenty bytes a poll would be more.
  expect((late?.heapBytes ?? NaN) / (early?.heapBytes ?? NaN)).toBeLessThan(1.1);
}, 180_000);

const CUSTOMERS = 40;

class HastyDaemon {
  readonly #child: ChildProcess;

  constructor(configFile: string, intervalMs: number) {
    this.#child = fork(programOf('hasty-daemon'), [configFile, String(intervalMs)], {
      execArgv: ['--expose-gc'],
    });
  }

  /** The next message of the program. */
  async #message(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#child.once('message', resolve);
      this.#child.once('exit', (status) => reject(new Error(`it ended with ${status}`)));
    });
  }

  async url(): Promise<string> {
    const { url } = (await this.#message()) as { url: string };
    return url;
  }

  async holding(): Promise<Holding> {
    const answer = this.#message();
    this.#child.send('tell');
    return (await answer) as Holding;
  }

  stop(): void {
    this.#child.removeAllListeners('exit').kill('SIGKILL');
  }
}

function configFor(name: string, url: string): string {
  const customers = Array.from({ length: CUSTOMERS }, (_, i) => ({
    name: `library-${i}`,
    client_id: `client-${i}`,
    client_secret: `unimportant-${i}`,
    timezone: 'Europe/Copenhagen',
  }));
  const limits = { max_requests_per_second: 5000, max_concurrency: 16, timeout: '1s' };
  const service = { base_url: url, auth_url: url, ...limits };
  return workspace.write(name, JSON.stringify({ service, customers }));
}

async function failuresOf(url: string): Promise<number> {
  const exposition = new Exposition(await (await fetch(`${url}/metrics`)).text());
  const failures = exposition.all('library_poll_failures_total');
  return failures.reduce((sum, { value }) => sum + value, 0);
}

/** Runs a daemon until so many polls have failed; what it held early and what it holds at the end. */
async function holdingsOver(failures: number, configFile: string): Promise<readonly Holding[]> {
  const daemon = new HastyDaemon(configFile, 100);
  const url = await daemon.url();
  const holdings: Holding[] = [];
  try {
    for (const most of [failures / 5, failures]) {
      await vi.waitUntil(async () => (await failuresOf(url)) >= most, {
        timeout: 120_000,
        interval: 100,
      });
      holdings.push(await daemon.holding());
    }
  } finally {
    daemon.stop();
  }
  return holdings;
}

/** What is more at the end than is under way at once; nothing, where nothing is left behind. */
function leftBehind([early, late]: readonly Holding[]): readonly string[] {
  assert(early !== undefined && late !== undefined);
  const found = {
    // Connections come and go, 16 at once at most.
    descriptors: late.descriptors - early.descriptors > 40,
    // And for each poll under way there are some timers.
    resources: late.resources - early.resources > 40 + 3 * 2 * CUSTOMERS,
    memory: late.heapBytes / early.heapBytes > 1.25,
  };
  return Object.entries(found).flatMap(([what, grew]) => (grew ? [what] : []));
}

test('ten thousand polls that fail in every way leave no descriptor, no timer and no memory behind', async () => {
  const ways: readonly Behaviour[] = ['reset', 'status 500', 'truncated', 'hang', 'html echo'];
  let turn = 0;
  const rotation = setInterval(() => {
    turn += 1;
    service.behaviour = { token: 'good', data: ways[turn % ways.length] ?? 'hang' };
  }, 200);
  service.behaviour = { token: 'good', data: 'reset' };
  try {
    const holdings = await holdingsOver(10_000, configFor('failing.yaml', service.url));
    expect(leftBehind(holdings)).toEqual([]);
  } finally {
    clearInterval(rotation);
  }
  for (const way of ways) {
    expect(service.met.has(way)).toBe(true);
  }
}, 180_000);

test('neither do ten thousand where nobody listens', async () => {
  const holdings = await holdingsOver(10_000, configFor('refused.yaml', service.deadUrl));
  expect(leftBehind(holdings)).toEqual([]);
}, 180_000);
