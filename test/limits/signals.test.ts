/**
 * SIGTERM and SIGINT in the middle of anything: the process ends with status 0 within two seconds,
 * for else a watchdog kills it, and the marks are written.
 */
import { readFileSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { Workspace, writeConfig } from '../acceptance/daemon.ts';
import { LedgerService } from '../acceptance/ledger-service.ts';
import { afternoonZone } from '../acceptance/local-time.ts';
import { expectCountersExact, fillHistory } from '../acceptance/world.ts';
import { connectionTo, endOf, flagsFor, launch } from './child.ts';
import type { Child } from './child.ts';
import { HostileService } from './hostile-service.ts';

const service = new LedgerService();
const hostile = new HostileService();
const workspace = new Workspace();
const zone = afternoonZone(Date.now());
const riverside = service.addCustomer('riverside', zone);
const marksFile = `${workspace.folder}/data/state.json`;

beforeAll(async () => {
  await service.start();
  await hostile.start();
  fillHistory(riverside.ledger);
});
afterEach(() => {
  service.heal(riverside);
  rmSync(`${workspace.folder}/data`, { recursive: true, force: true });
});
afterAll(async () => {
  await workspace.close();
  await hostile.stop();
  await service.stop();
});

function daemon(settings: Parameters<typeof writeConfig>[3] = {}): Child {
  const file = writeConfig(workspace, service, [riverside], settings);
  return launch(
    workspace,
    flagsFor(workspace, file, '--web.enable-lifecycle', '--log.level=debug'),
  );
}

/** A daemon whose every request to the service meets the hostile one's behaviour. */
function hostileDaemon(behaviour: HostileService['behaviour'], settings: object = {}): Child {
  hostile.behaviour = behaviour;
  return daemon({
    service: { base_url: hostile.url, auth_url: hostile.url, ...settings },
    polling: { interval: '60s', reconcile_interval: '1h' },
  });
}

function saidOf(child: Child, msg: string): boolean {
  return child.stderr.includes(`"msg":"${msg}"`);
}

async function counting(child: Child): Promise<void> {
  await child.listening();
  await vi.waitFor(
    async () => expectCountersExact(await child.scrape(), 'riverside', riverside.ledger),
    { timeout: 20_000, interval: 50 },
  );
}

/** They are written at the end, for their regular turn comes after ten seconds only. */
function expectMarks(): void {
  const { marks } = JSON.parse(readFileSync(marksFile, 'utf8')) as { marks: unknown[][] };
  const kinds = marks.map((mark) => String(mark[3]));
  expect(kinds.toSorted()).toEqual(['logins', 'people_entered', 'people_exited']);
}

describe.each(['SIGTERM', 'SIGINT'] as const)('%s', (signal) => {
  test('ends a daemon that counts, and the marks are written', async () => {
    const child = daemon();
    await counting(child);
    expect(await endOf(child, signal)).toBe(0);
    expect(saidOf(child, 'stopped')).toBe(true);
    expectMarks();
  });

  test('twice and thrice in a row ends it all the same', async () => {
    const child = daemon();
    await counting(child);
    child.signal(signal);
    child.signal('SIGINT');
    expect(await endOf(child, signal)).toBe(0);
    expectMarks();
  });
});

/** Sends the process its SIGTERM as soon as it listens to it, which is before it reads anything. */
const SIGNAL_WHEN_HEARD = `
  const watch = setInterval(() => {
    if (process.listenerCount('SIGTERM') > 0) {
      clearInterval(watch);
      process.kill(process.pid, 'SIGTERM');
      process.stdout.write('signalled');
    }
  }, 1);
`;

describe('SIGTERM at the start', () => {
  // Before the program has begun, the system ends it; from its first line on, it ends itself.
  test.each([0, 20, 60, 120, 200, 300, 450, 700])('%d ms after the spawn', async (ms) => {
    const child = daemon();
    await sleep(ms);
    expect([0, 'SIGTERM']).toContain(await endOf(child));
  });

  test('while a large configuration is read', async () => {
    const names = Array.from({ length: 2_000 }, (_, i) => ({
      name: `library-${i}`,
      client_id: `client-${i}`,
      client_secret: `secret-${i}`,
      timezone: 'Europe/Copenhagen',
      opening_hours: `Mo-Fr 08:${String(i % 60).padStart(2, '0')}-20:00`,
    }));
    const text = JSON.stringify({
      service: { base_url: hostile.url, auth_url: hostile.url },
      customers: names,
    });
    const preload = workspace.write('preload.mjs', SIGNAL_WHEN_HEARD);
    const child = launch(workspace, flagsFor(workspace, workspace.write('large.yaml', text)), {
      NODE_OPTIONS: `--import=${preload}`,
    });
    await child.until(() => child.stdout.includes('signalled'));
    expect(await endOf(child)).toBe(0);
  });

  test('as soon as the process says that it starts, and before it listens', async () => {
    const child = daemon();
    await child.until(() => saidOf(child, 'starting'));
    expect(await endOf(child)).toBe(0);
    expect(saidOf(child, 'stopped')).toBe(true);
  });

  test('as soon as it listens', async () => {
    const child = await daemon().listening();
    expect(await endOf(child)).toBe(0);
  });
});

describe('SIGTERM while the service', () => {
  test('does not answer the first polls', async () => {
    const child = hostileDaemon({ token: 'good', data: 'hang' });
    await child.listening();
    await hostile.asked('data', 2);
    expect(await endOf(child)).toBe(0);
    expect(saidOf(child, 'poll failed')).toBe(false);
  });

  test('does not answer the token request', async () => {
    const child = hostileDaemon({ token: 'hang', data: 'hang' });
    await child.listening();
    await hostile.asked('token', 1);
    expect(await endOf(child)).toBe(0);
  });

  test('is waited for between two attempts', async () => {
    const child = hostileDaemon({ token: 'good', data: 'busy for 20 seconds' });
    await child.listening();
    await hostile.asked('data', 1);
    await sleep(100);
    expect(await endOf(child)).toBe(0);
  });

  test('drips its answer', async () => {
    const child = hostileDaemon({ token: 'good', data: 'drip' });
    await child.listening();
    await hostile.asked('data', 1);
    expect(await endOf(child)).toBe(0);
  });
});

test('SIGTERM during a reload, also one that makes everything anew', async () => {
  for (const timeout of ['9s', '10s']) {
    const child = daemon();
    await counting(child);
    writeConfig(workspace, service, [riverside], { service: { timeout } });
    const answers = Promise.allSettled([child.reload(), child.reload(), child.reload()]);
    child.signal('SIGHUP');
    expect(await endOf(child)).toBe(0);
    await answers;
    expectMarks();
  }
});

describe('SIGTERM with', () => {
  test('readers of /metrics that do not read', async () => {
    const child = daemon();
    await counting(child);
    for (let reader = 0; reader < 3; reader += 1) {
      const socket = await connectionTo(child);
      // More answers than fit into the buffers of a connection.
      socket.write('GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(500));
    }
    await sleep(300);
    expect((await child.get('/-/ready')).status).toBe(200);
    expect(await endOf(child)).toBe(0);
    expectMarks();
  });

  test('a hundred connections that are kept open', async () => {
    const child = daemon();
    await counting(child);
    const idle = await Promise.all(Array.from({ length: 100 }, async () => connectionTo(child)));
    for (const socket of idle) {
      socket.resume().write('GET /-/ready HTTP/1.1\r\nHost: a\r\n\r\n');
    }
    await vi.waitUntil(() => idle.every(({ bytesRead }) => bytesRead > 0), { timeout: 10_000 });
    expect(await endOf(child)).toBe(0);
    expectMarks();
  });

  test('connections that never say what they want, or not to the end', async () => {
    const child = daemon();
    await counting(child);
    for (let number = 0; number < 50; number += 1) {
      (await connectionTo(child)).write(number % 2 === 0 ? '' : 'POST /-/reload HTTP/1.1\r\nHo');
    }
    expect(await endOf(child)).toBe(0);
    expectMarks();
  });
});

test('SIGTERM ends check --connect, demo and service too', async () => {
  hostile.behaviour = { token: 'hang', data: 'hang' };
  const file = writeConfig(workspace, service, [riverside], {
    service: { base_url: hostile.url, auth_url: hostile.url },
  });
  const check = launch(workspace, ['check', '--connect', `--config.file=${file}`]);
  await hostile.asked('token', 1);
  expect(await endOf(check)).toBe(0);
  const demo = await launch(workspace, ['demo', '--web.listen-address=127.0.0.1:0']).listening();
  expect(await endOf(demo)).toBe(0);
  const simulated = launch(workspace, ['service']);
  await simulated.until(() => simulated.stdout.includes('Customers:'));
  expect(await endOf(simulated)).toBe(0);
});
