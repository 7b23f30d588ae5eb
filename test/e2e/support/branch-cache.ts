/**
 * The cache of a customer's branches, as an exporter leaves it that has run for half an hour: it reads four
 * weeks of windows, one a second.
 */
import { systemClock } from '../../../src/base/clock.ts';
import { MINUTE_MS } from '../../../src/base/duration.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { serviceOf } from '../../../src/cli/access.ts';
import { accessOf } from '../../../src/config/credentials.ts';
import { loadConfig } from '../../../src/config/load.ts';
import {
  addKeys,
  PAST_WINDOW_MS,
  sumsOf,
  totalOf,
  unknownDay,
  WINDOW_MS,
  windowsOf,
} from '../../../src/counting/branches/day.ts';
import type { BranchDay } from '../../../src/counting/branches/day.ts';
import { NO_BRANCHES, requestSums, windowTask } from '../../../src/counting/branches/plan.ts';
import type { Span } from '../../../src/counting/calendar/calendar.ts';
import { HighWaterMarks } from '../../../src/counting/high-water-marks.ts';
import { daysBefore } from '../../../src/counting/past/past.ts';
import { CustomerRegistry } from '../../../src/customers.ts';
import { Pasts } from '../../../src/storage/pasts.ts';
import { Store } from '../../../src/storage/store.ts';

/** Devices send their counts within minutes. */
const SETTLED_MS = 6 * MINUTE_MS;

/** Writes the cache of the customer of this name into a storage folder. */
export async function writeBranchCache(
  configFile: string,
  storage: string,
  name: string,
): Promise<void> {
  const { config } = await loadConfig({ path: configFile, env: {} });
  const registered = new CustomerRegistry(new HighWaterMarks())
    .update(config)
    .find(({ customer }) => customer.customer === name);
  if (registered === undefined) {
    throw new Error(`no customer ${name}`);
  }
  const { calendar, owner, streams } = registered.customer;
  const service = serviceOf(config, { env: {} });
  const client = service.clientFor(accessOf(registered.config));
  const { signal } = new AbortController();
  const untilMs = Date.now() - SETTLED_MS;
  let keys: readonly string[] = [];

  async function read(day: Span, stepMs: number): Promise<BranchDay> {
    let read = unknownDay(day, stepMs);
    const counted = { stepMs, first: 0, counts: [] };
    while (read.sums.length < windowsOf(read)) {
      const task = windowTask(read, counted);
      if (task.toMs === undefined || task.toMs > untilMs) {
        break;
      }
      const table = await requestSums(task, calendar, (question) => client.query(question, signal));
      keys = addKeys(keys, table);
      const sums = sumsOf(keys, table);
      read = { ...read, sums: [...read.sums, sums], customer: totalOf(sums) };
    }
    return read;
  }

  const day = calendar.dayAt(Date.now());
  const past: BranchDay[] = [];
  for (const before of daysBefore(calendar, day)) {
    past.unshift(await read(before, PAST_WINDOW_MS));
  }
  const today = await read(day, WINDOW_MS);
  service.close();
  const marks = new HighWaterMarks();
  const store = new Store({
    path: storage,
    marks,
    clock: systemClock,
    log: silentLogger,
    observe() {},
  });
  const branches = { state: { ...NO_BRANCHES, keys, today, past }, restore() {} };
  const streamOf = registered.customer.streamOf.bind(registered.customer);
  store.setSources(new Pasts(store, () => [{ owner, calendar, streams, streamOf, branches }]));
  await store.start();
  await store.stop();
}
