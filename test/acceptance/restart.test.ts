/** Restarts, kills and replicas (docs/how-it-counts.md#guarantees, 2 and 4). */
import { expect, test } from 'vitest';
import { eventually } from './daemon.ts';
import type { Daemon } from './daemon.ts';
import { exact } from './expected.ts';
import { Harness } from './harness.ts';
import type { ServiceCustomer } from './ledger-service.ts';
import { hourMs } from './local-time.ts';
import { readStoredMarks } from './stored-marks.ts';

const harness = new Harness();
const SUCCESSFUL = 'library_exporter_state_last_save_successful';
const SAVED_AT = 'library_exporter_state_last_save_timestamp_seconds';

/** A customer with a configuration and a storage of its own. */
function addCustomer(name: string) {
  const customer = harness.addCustomer(name);
  const configFile = harness.configure([customer], { file: `${name}.yaml` });
  const storage = `${harness.workspace.folder}/${name}`;
  function start(): Promise<Daemon> {
    return harness.start(configFile, [`--storage.path=${storage}`]);
  }
  return { customer, storage, start, configFile };
}

function addMore({ ledger }: ServiceCustomer): void {
  ledger.add('people', { in: 5, out: 2 });
  ledger.add('logins', { in: 3 });
  ledger.add('people', { in: 4, out: 6 }, Date.now() - 2 * hourMs);
}

test.concurrent('counters continue over a kill and a stop, while a total falls', async () => {
  const { customer, storage, start } = addCustomer('restarted');
  const { name, ledger } = customer;
  const labels = { customer: name };
  const excess = { ...labels, counter: 'people_entered' };
  let record = ledger.add('people', { in: 6 }, Date.now() - hourMs);
  let daemon = await start();
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    const before = await exact(daemon, customer);
    const total = before.value('library_people_entered_total', labels) ?? NaN;
    const today = before.value('library_people_entered_today', labels) ?? NaN;
    // The state file is written at most every ten seconds.
    await eventually(() => {
      expect(readStoredMarks(storage).map(({ value }) => value)).toContain(total);
    });
    await harness.stop(daemon, signal);
    record.in = 1;
    daemon = await start();
    await eventually(async () => {
      const exposition = await daemon.scrape();
      expect(exposition.value('library_people_entered_total', labels)).toBe(total);
      expect(exposition.value('library_count_excess', excess)).toBe(5);
      expect(exposition.value('library_people_entered_today', labels)).toBe(today - 5);
    });
    ledger.add('people', { in: 7 });
    record = ledger.add('people', { in: 6 }, Date.now() - hourMs);
    addMore(customer);
  }
  await expect(exact(daemon, customer)).resolves.toBeDefined();
});

test.concurrent('a storage that is not writable is seen from the start to the stop', async () => {
  const { customer, configFile } = addCustomer('memory');
  const daemon = await harness.start(configFile, [`--storage.path=${configFile}/data`]);
  expect(await daemon.value(SUCCESSFUL)).toBe(0);
  expect(await daemon.value(SAVED_AT)).toBeUndefined();
  expect(daemon.logged('storage not writable, state is kept in memory only')).toHaveLength(1);
  await exact(daemon, customer);
  await harness.stop(daemon, 'SIGTERM', 1);
  expect(daemon.logged('state not written at the stop')).toMatchObject([
    { error: expect.stringMatching(/^ENOTDIR: /) as string },
  ]);
});

test.concurrent('a replica shows the same totals, and a storage has one user', async () => {
  const { customer, configFile, storage, start } = addCustomer('replicated');
  const first = await start();
  await exact(first, customer);
  addMore(customer);
  const second = await harness.start(configFile, ['--storage.path=']);
  addMore(customer);
  const stored = await exact(first, customer);
  expect(stored.value(SUCCESSFUL)).toBe(1);
  expect(stored.value(SAVED_AT)).toBeGreaterThan(Date.now() / 1000 - 600);
  const unstored = await exact(second, customer);
  expect(unstored.value(SUCCESSFUL) ?? unstored.value(SAVED_AT)).toBeUndefined();
  const third = await harness.run(`--config.file=${configFile}`, `--storage.path=${storage}`);
  expect(third.ended).toBe(1);
  expect(third.stderr).toContain(storage);
});
