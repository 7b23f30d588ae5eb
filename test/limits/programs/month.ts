/**
 * A customer with somebody at the door in every minute of thirty days, polled, counted and rendered
 * over a virtual clock. Prints the heap after a collection, once a day. Started with --expose-gc.
 */
import { strict as assert } from 'node:assert';
import { silentLogger } from '../../../src/base/log.ts';
import type { Question, AggregatedResponse, Row } from '../../../src/base/model.ts';
import { Calendar } from '../../../src/counting/calendar.ts';
import { Customer } from '../../../src/counting/customer.ts';
import { HighWaterMarks } from '../../../src/counting/high-water-marks.ts';
import { parseOpeningHours } from '../../../src/counting/opening-hours.ts';
import { Zone } from '../../../src/counting/zone.ts';
import { createExposition } from '../../../src/metrics/exposition.ts';
import { LogLimiter } from '../../../src/polling/log-limiter.ts';
import { Scheduler } from '../../../src/polling/scheduler.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;
const DAYS = 30;

const { gc } = globalThis;
assert(gc !== undefined);

const clock = new VirtualClock(Date.UTC(2026, 2, 10, 12));

/** Three in and two out in every minute that is over, newest last. */
function answer({ endpoint, aggregation, from, to }: Question): AggregatedResponse {
  const bucketMs = aggregation === 'minute' ? MINUTE_MS : DAY_MS;
  const endMs = Math.min(to === undefined ? Infinity : Date.parse(to), clock.nowMs());
  const rows: Row[] = [];
  for (let at = Math.ceil(Date.parse(from) / MINUTE_MS) * MINUTE_MS; at < endMs;) {
    const nextMs = Math.min((Math.floor(at / bucketMs) + 1) * bucketMs, endMs);
    const minutes = Math.ceil((nextMs - at) / MINUTE_MS);
    const counts = endpoint === 'login' ? [minutes] : [3 * minutes, 2 * minutes];
    rows.push({ key: new Date(at).toISOString(), counts });
    at += minutes * MINUTE_MS;
  }
  return { aggregation, rows };
}

const marks = new HighWaterMarks();
const customer = new Customer({
  name: 'riverside',
  timezone: 'Europe/Copenhagen',
  description: {
    labels: {},
    capacity: 250,
    openingHours: parseOpeningHours('Mo-Fr 08:00-20:00; Sa 10:00-16:00; PH off', 'dk'),
    estimate: false,
  },
  calendar: new Calendar(new Zone('Europe/Copenhagen'), { hour: 4, minute: 0 }),
  streams: ['people', 'logins'],
  owner: { service: 's', clientId: 'c', customer: 'riverside' },
  marks,
});
const exposition = createExposition({ clock });
exposition.setCustomers([customer]);
const scheduler = new Scheduler({
  clock,
  log: silentLogger,
  limiter: new LogLimiter({ log: silentLogger, clock }),
  observer: { pollEnded() {}, changed: (name) => exposition.changed(name) },
  intervalMs: MINUTE_MS,
  reconcileIntervalMs: 60 * MINUTE_MS,
  breakdownIntervalMs: 5 * MINUTE_MS,
  maxConcurrency: 4,
  maxRequestsPerSecond: 100,
});
scheduler.start();
scheduler.setCustomers([
  { customer, client: { query: (question) => Promise.resolve(answer(question)) } },
]);

for (let day = 0; day <= DAYS; day += 1) {
  gc();
  const { streams, counters } = customer.metricsAt(clock.nowMs());
  const heapBytes = process.memoryUsage().heapUsed;
  const polls = streams.people?.polls;
  const entered = counters.people_entered?.total;
  const dated = streams.people?.lastSeenMs !== undefined;
  process.stdout.write(`${JSON.stringify({ day, heapBytes, polls, entered, dated })}\n`);
  for (let scrape = 0; scrape < 96; scrape += 1) {
    await clock.advance(15 * MINUTE_MS);
    exposition.render('text');
    [...marks.serialize(clock.nowMs())].join('');
  }
}
process.exit(0);
