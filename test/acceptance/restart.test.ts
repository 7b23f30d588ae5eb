/** Restarts, kills and replicas (docs/how-it-counts.md#guarantees, 2 and 4). */
import { mkdirSync, rmdirSync, rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { eventually } from './daemon.ts';
import type { Daemon } from './daemon.ts';
import { exact } from './expected.ts';
import { Harness } from './harness.ts';
import type { ServiceCustomer } from './ledger-service.ts';
import { hourMs } from './local-time.ts';
import { readStoredMarks } from './stored-marks.ts';

const harness = new Harness();

/** A customer with a configuration and a storage of its own. */
function addCustomer(name: string) {
  const customer = harness.addCustomer(name);
  const configFile = harness.configure([customer], { file: `${name}.yaml` });
  return { customer, configFile, storage: `${harness.workspace.folder}/${name}` };
}

function addMore({ ledger }: ServiceCustomer): void {
  ledger.add('people', { in: 5, out: 2 });
  ledger.add('logins', { in: 3 });
  ledger.add('people', { in: 4, out: 6 }, Date.now() - 2 * hourMs);
}

/** The state file is written at most every ten seconds, and at the end by SIGTERM only. */
async function untilWritten(storage: string, total: number): Promise<void> {
  await eventually(() => {
    expect(readStoredMarks(storage).map(({ value }) => value)).toContain(total);
  });
}

test.concurrent(
  'counters continue over stops and kills, whatever was counted meanwhile',
  async () => {
    const { customer, configFile, storage } = addCustomer('restarted');
    const flags = [`--storage.path=${storage}`];
    for (const signal of ['SIGTERM', 'SIGKILL', 'SIGINT', 'SIGKILL'] as const) {
      const daemon = await harness.start(configFile, flags);
      addMore(customer);
      await exact(daemon, customer);
      addMore(customer);
      await harness.stop(daemon, signal);
      addMore(customer);
    }
    const daemon = await harness.start(configFile, flags);
    await expect(exact(daemon, customer)).resolves.toBeDefined();
  },
);

test.concurrent.each(['SIGTERM', 'SIGKILL'] as const)(
  'a total that falls while the daemon is down after %s lowers no counter',
  async (signal) => {
    const { customer, configFile, storage } = addCustomer(`corrected-${signal.toLowerCase()}`);
    const record = customer.ledger.add('people', { in: 6 }, Date.now() - hourMs);
    const flags = [`--storage.path=${storage}`];
    const first = await harness.start(configFile, flags);
    await exact(first, customer);
    const labels = { customer: customer.name };
    const total = (await first.value('library_people_entered_total', labels)) ?? NaN;
    const today = (await first.value('library_people_entered_today', labels)) ?? NaN;
    if (signal === 'SIGKILL') {
      await untilWritten(storage, total);
    }
    await harness.stop(first, signal);
    record.in = 1;
    const second = await harness.start(configFile, flags);
    await eventually(async () => {
      const exposition = await second.scrape();
      const excess = { ...labels, counter: 'people_entered' };
      expect(exposition.value('library_people_entered_total', labels)).toBe(total);
      expect(exposition.value('library_count_excess', excess)).toBe(5);
      expect(exposition.value('library_people_entered_today', labels)).toBe(today - 5);
    });
    customer.ledger.add('people', { in: 7 });
    await exact(second, customer);
  },
);

const SUCCESSFUL = 'library_exporter_state_last_save_successful';
const SAVED_AT = 'library_exporter_state_last_save_timestamp_seconds';

/** The errors of the log lines about a state file that is lost at the stop. */
function lossesOf(daemon: Daemon): readonly unknown[] {
  return daemon.logged('state not written at the stop').map(({ error }) => error);
}

test.concurrent('a state file that cannot be written is no silent failure', async () => {
  const { customer, configFile, storage } = addCustomer('unwritable');
  mkdirSync(`${storage}/state.db`, { recursive: true });
  const daemon = await harness.start(configFile, [`--storage.path=${storage}`]);
  await exact(daemon, customer);
  await eventually(async () => expect(await daemon.value(SUCCESSFUL)).toBe(0));
  expect(await daemon.value(SAVED_AT)).toBeUndefined();
  await harness.stop(daemon, 'SIGTERM', 1);
  expect(lossesOf(daemon)).toEqual([expect.stringContaining('is not a regular file')]);

  rmdirSync(`${storage}/state.db`);
  const next = await harness.start(configFile, [`--storage.path=${storage}`]);
  expect(await next.value(SUCCESSFUL)).toBe(1);
  await eventually(async () => {
    expect(await next.value(SAVED_AT)).toBeGreaterThan(Date.now() / 1000 - 600);
  });
  await harness.stop(next);
  expect(lossesOf(next)).toEqual([]);
  expect(readStoredMarks(storage).map(({ counter }) => counter)).toContain('people_entered');
});

test.concurrent(
  'a storage that is not writable is seen from the start, and one that is off is not',
  async () => {
    const { customer, configFile } = addCustomer('memory');
    const daemon = await harness.start(configFile, [`--storage.path=${configFile}/data`]);
    expect(await daemon.value(SUCCESSFUL)).toBe(0);
    expect(daemon.logged('storage not writable, state is kept in memory only')).toHaveLength(1);
    await exact(daemon, customer);
    await harness.stop(daemon, 'SIGTERM', 1);
    expect(lossesOf(daemon)).toEqual([expect.stringMatching(/^ENOTDIR: /)]);

    const without = await harness.start(configFile, ['--storage.path=']);
    await exact(without, customer);
    const exposition = await without.scrape();
    const saved = [SUCCESSFUL, SAVED_AT].map((name) => exposition.value(name));
    expect(saved).toEqual([undefined, undefined]);
    await harness.stop(without);
  },
);

test.concurrent('a state file that is removed is a warning, and is written again', async () => {
  const { customer, configFile, storage } = addCustomer('unlocked');
  const daemon = await harness.start(configFile, [`--storage.path=${storage}`]);
  await exact(daemon, customer);
  rmSync(storage, { recursive: true });
  await eventually(async () => expect(await daemon.value(SUCCESSFUL)).toBe(0));
  await eventually(async () => expect(await daemon.value(SUCCESSFUL)).toBe(1));
  expect(daemon.logged('state file lost, writing another one')).toHaveLength(1);
  const second = await harness.run(`--config.file=${configFile}`, `--storage.path=${storage}`);
  expect(second.ended).toBe(1);
  await harness.stop(daemon);
  expect(readStoredMarks(storage).map(({ counter }) => counter)).toContain('people_entered');
});

test.concurrent('a replica shows the same totals, and a storage has one user', async () => {
  const { customer, configFile, storage } = addCustomer('replicated');
  const first = await harness.start(configFile, [`--storage.path=${storage}`]);
  await exact(first, customer);
  addMore(customer);
  const second = await harness.start(configFile, [`--storage.path=${storage}-2`]);
  addMore(customer);
  await exact(first, customer);
  await exact(second, customer);
  const third = await harness.run(`--config.file=${configFile}`, `--storage.path=${storage}`);
  expect(third.ended).toBe(1);
  expect(third.stderr).toContain(storage);
});
