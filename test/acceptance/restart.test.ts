/** A restart, however rude, leaves no counter lower, and ends in the truth. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Daemon, eventually, runToEnd, Workspace, writeConfig } from './daemon.ts';
import { LedgerService } from './ledger-service.ts';
import type { ServiceCustomer } from './ledger-service.ts';
import { afternoonZone, hourMs } from './local-time.ts';
import { ledgerCounters, Monitor } from './monitor.ts';
import { expectCountersExact, expectTodayExact, fillHistory } from './world.ts';

const service = new LedgerService();
const workspaces: Workspace[] = [];

beforeAll(async () => {
  await service.start();
});
afterAll(async () => {
  await Promise.all(workspaces.map(async (workspace) => workspace.close()));
  await service.stop();
});

/** A customer with a past, and its daemon's configuration; `run` starts one daemon after another. */
function world(name: string): {
  customer: ServiceCustomer;
  configFile: string;
  workspace: Workspace;
  run: (storagePath?: string) => Promise<Daemon>;
} {
  const workspace = new Workspace();
  workspaces.push(workspace);
  const customer = service.addCustomer(name, afternoonZone(Date.now()));
  fillHistory(customer.ledger);
  const configFile = writeConfig(workspace, service, [customer]);
  async function run(storagePath?: string): Promise<Daemon> {
    return Daemon.start(workspace, configFile, storagePath);
  }
  return { customer, configFile, workspace, run };
}

function addMore({ ledger }: ServiceCustomer): void {
  ledger.add('people', { in: 5, out: 2 });
  ledger.add('logins', { in: 3 });
  ledger.add('people', { in: 4, out: 6 }, Date.now() - 2 * hourMs);
}

async function settled(daemon: Daemon, { name, ledger }: ServiceCustomer): Promise<void> {
  await eventually(async () => {
    const exposition = await daemon.scrape();
    expectCountersExact(exposition, name, ledger);
    expectTodayExact(exposition, name, ledger);
  });
}

test.concurrent(
  'records that come before, during and after a stop or a kill are all counted',
  async () => {
    const { customer, run } = world('restarted');
    const monitor = new Monitor();
    for (const end of ['SIGTERM', 'SIGKILL', 'SIGINT', 'SIGKILL', 'SIGTERM'] as const) {
      const daemon = await run();
      monitor.watch(daemon);
      addMore(customer);
      await settled(daemon, customer);
      addMore(customer);
      await sleep(700);
      await monitor.leave();
      daemon.signal(end);
      addMore(customer);
      // So that one which does not end by itself is told from one on a machine that is busy.
      const tooLong = setTimeout(() => daemon.signal('SIGABRT'), 20_000);
      expect(await daemon.exited).toBe(end === 'SIGKILL' ? 'SIGKILL' : 0);
      clearTimeout(tooLong);
    }
    const daemon = await run();
    monitor.watch(daemon);
    await settled(daemon, customer);
    await monitor.leave();
    expect(monitor.scrapes).toBeGreaterThan(10);
    expect(monitor.violations).toEqual([]);
  },
  90_000,
);

test.concurrent.each([
  ['SIGTERM', 0],
  // What was shown more than ten seconds before a kill is not forgotten.
  ['SIGKILL', 11_000],
] as const)(
  'what is taken back over a %s is held',
  async (end, shownForMs) => {
    const { customer, run } = world(`held-over-${end.toLowerCase()}`);
    const record = customer.ledger.add('people', { in: 6 }, Date.now() - hourMs);
    const monitor = new Monitor();
    const first = await run();
    monitor.watch(first);
    await settled(first, customer);
    await sleep(shownForMs);
    await monitor.leave();
    const labels = { customer: customer.name };
    const shown = (await first.scrape()).value('library_people_entered_total', labels);
    first.signal(end);
    await first.exited;
    record.in = 1;
    const second = await run();
    monitor.watch(second);
    await eventually(async () => {
      const exposition = await second.scrape();
      const held = { ...labels, counter: 'people_entered' };
      expect(exposition.value('library_people_entered_total', labels)).toBe(shown);
      expect(exposition.value('library_counter_excess', held)).toBe(5);
      expectTodayExact(exposition, customer.name, customer.ledger);
    });
    customer.ledger.add('people', { in: 7 });
    await settled(second, customer);
    await monitor.leave();
    expect(monitor.violations).toEqual([]);
  },
  60_000,
);

test.concurrent(
  'two daemons show the same totals, and a third may not have a storage in use',
  async () => {
    const { customer, configFile, workspace, run } = world('replicated');
    const storages = ['one', 'two'].map((name) => join(workspace.folder, name));
    const first = await run(storages[0]);
    await settled(first, customer);
    addMore(customer);
    const second = await run(storages[1]);
    addMore(customer);
    await settled(first, customer);
    await settled(second, customer);
    const totals = await Promise.all(
      [first, second].map(async (daemon) => {
        const exposition = await daemon.scrape();
        return ledgerCounters.map((name) => exposition.value(name, { customer: customer.name }));
      }),
    );
    expect(totals[0]).toEqual(totals[1]);

    const third = await runToEnd(workspace, [
      `--config.file=${configFile}`,
      '--web.listen-address=127.0.0.1:0',
      `--storage.path=${storages[0]}`,
    ]);
    expect(third.exit).toBeTypeOf('number');
    expect(third.exit).not.toBe(0);
    expect(third.stderr).toContain(storages[0]);
    addMore(customer);
    await settled(first, customer);
  },
  60_000,
);
