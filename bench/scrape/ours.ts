/**
 * Our server with ten thousand customers, as a process of its own: the exposition and the web server
 * are those of the daemon, the polls are made up. It polls everybody once a minute unless it is told
 * to stop.
 */
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { createExporterMetrics } from '../../src/metrics/exporter-metrics.ts';
import { createExposition, renderScrape } from '../../src/metrics/exposition.ts';
import { limitHeap } from '../../src/v8-flags.ts';
import { createWebServer } from '../../src/web/server.ts';
import { createCustomers, poll } from './customers.ts';

const CUSTOMERS = 10_000;
const POLL_EVERY_MS = 60_000;
/** Interval of the daemon's scheduler. */
const TICK_MS = 250;

limitHeap();
const clock = systemClock;
const registry = createCustomers(CUSTOMERS);
const exposition = createExposition({ clock });
const exporterMetrics = createExporterMetrics({
  version: '0',
  revision: 'bench',
  nodeVersion: process.version,
  shard: { shard: 0, shards: 1 },
});
const web = createWebServer({
  listenAddress: '127.0.0.1:0',
  telemetryPath: '/metrics',
  enableLifecycle: false,
  version: '0',
  clock,
  log: silentLogger,
  exposition: (format, gzip) => renderScrape(exposition, exporterMetrics, format, gzip),
  customers: () => [],
  healthy: () => true,
  ready: () => ({ ready: true, why: '' }),
  status: () => ({
    nowMs: clock.nowMs(),
    customers: [],
    failedReload: undefined,
    stateFailure: undefined,
    nextPollInMs: () => 0,
  }),
  config: () => '',
  reload: () => Promise.resolve({ ok: true }),
});

let polls = 0;
let isPolling = true;

function pollNext(customers: number): void {
  for (const until = polls + customers; polls < until; polls += 1) {
    const number = polls % CUSTOMERS;
    const customer = registry[number];
    if (customer !== undefined) {
      poll(customer, number, Math.floor(polls / CUSTOMERS), clock.nowMs());
      // Once for each of its streams, as the daemon does.
      exposition.changed(customer.customer);
      exposition.changed(customer.customer);
    }
  }
}

async function keepPolling(): Promise<void> {
  for (;;) {
    await clock.sleep(TICK_MS);
    if (isPolling) {
      pollNext(Math.round((CUSTOMERS * TICK_MS) / POLL_EVERY_MS));
    }
  }
}

pollNext(CUSTOMERS);
exposition.setCustomers(registry, [{ labels: { region: '' }, breakdowns: [] }]);
void exposition.keepRendered(new AbortController().signal);
const { url } = await web.start();
void keepPolling();
process.on('message', (message) => {
  if (message === 'poll everybody') {
    pollNext(CUSTOMERS);
  } else if (message === 'poll a quarter') {
    pollNext(CUSTOMERS / 4);
  } else if (message === 'start polling') {
    isPolling = true;
  } else if (message === 'stop polling') {
    isPolling = false;
  }
  process.send?.('done');
});
process.stdout.write(`${url}\n`);
