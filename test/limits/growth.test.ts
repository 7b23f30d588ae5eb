/** What must not grow: descriptors, timers and memory of a process whose polls fail. */
import { strict as assert } from 'node:assert';
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Workspace, writeConfig } from '../acceptance/daemon.ts';
import { Exposition } from '../acceptance/exposition.ts';
import { LedgerService } from '../acceptance/ledger-service.ts';
import type { Fault } from '../acceptance/ledger-service.ts';
import type { Held } from './programs/fast-daemon.ts';

const CUSTOMERS = 40;
const FAILURES = 5_000;
const FAULTS: readonly Fault[] = [500, 'reset', 'truncated', 'hang', 'html', 'drip'];

const service = new LedgerService();
const workspace = new Workspace();

beforeAll(() => service.start());
afterAll(async () => {
  await workspace.close();
  await service.stop();
});

async function failuresOf(url: string): Promise<number> {
  const exposition = new Exposition(await (await fetch(`${url}/metrics`)).text());
  const failures = exposition.all('library_poll_failures_total');
  return failures.reduce((sum, { value }) => sum + value, 0);
}

test('thousands of polls that fail in every way leave no descriptor, timer or memory behind', async () => {
  const customers = Array.from({ length: CUSTOMERS }, (_, i) => {
    const customer = service.addCustomer(`library-${i}`, 'Europe/Copenhagen');
    service.fail(customer, FAULTS[i % FAULTS.length] ?? 500);
    return customer;
  });
  const configFile = writeConfig(workspace, service, customers, {
    service: { max_requests_per_second: 5000, max_concurrency: 16, timeout: '1s' },
  });
  const program = fileURLToPath(new URL('programs/fast-daemon.ts', import.meta.url));
  const child = fork(program, [configFile, '100'], { execArgv: ['--expose-gc'] });
  async function next<T>(): Promise<T> {
    return new Promise((resolve, reject) => {
      child.once('message', (message) => resolve(message as T));
      child.once('exit', (status) => reject(new Error(`it ended with ${status}`)));
    });
  }
  const { url } = await next<{ url: string }>();
  const held: Held[] = [];
  try {
    for (const failures of [FAILURES / 5, FAILURES]) {
      await vi.waitUntil(async () => (await failuresOf(url)) >= failures, {
        timeout: 150_000,
        interval: 200,
      });
      const answer = next<Held>();
      child.send('report');
      held.push(await answer);
    }
  } finally {
    child.removeAllListeners('exit').kill('SIGKILL');
  }
  const [early, late] = held;
  assert(early !== undefined && late !== undefined);
  // Up to 16 connections are open at a time, with some timers for each poll.
  expect(late.descriptors - early.descriptors).toBeLessThan(40);
  expect(late.resources - early.resources).toBeLessThan(40 + 3 * 2 * CUSTOMERS);
  expect(late.heapBytes / early.heapBytes).toBeLessThan(1.25);
}, 180_000);
