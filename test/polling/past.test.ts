import { expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/base/duration.ts';
import type { PolledCustomer, Scheduler } from '../../src/polling/scheduler.ts';
import { ESTIMATED } from '../support/polled.ts';
import { pageOf } from '../support/responses.ts';
import { SimulatedPeople } from '../support/simulated-people.ts';
import { gapsOf, hang, SchedulerFixture, UNAVAILABLE } from './fixture.ts';

/** 04:00 in Copenhagen. */
const DAY_START_MS = Date.UTC(2026, 10, 19, 3);

/** A customer with an hourly visitor, whose past is answered as `history` says. */
function estimated(
  fixture: SchedulerFixture,
  history: (signal: AbortSignal) => unknown,
  name = 'a',
): PolledCustomer {
  const service = new SimulatedPeople();
  for (let ms = DAY_START_MS - 40 * DAY_MS; ms < DAY_START_MS + 2 * DAY_MS; ms += HOUR_MS) {
    // Not at the edge of a window.
    service.record(ms + MINUTE_MS, [1, 1]);
  }
  const polled = fixture.polled(name, async (question, signal) => {
    const { aggregation, from, to = from } = question;
    // A whole past is read or compared. Polls have no end.
    if (aggregation === 'day' && Date.parse(to) - Date.parse(from) > 27 * DAY_MS) {
      await history(signal);
    }
    return service.respond(question, fixture.clock.nowMs());
  });
  polled.customer.setDescription(ESTIMATED);
  return polled;
}

test('the past is read after the first poll, and compared by one request in the first hours of a day', async () => {
  await using fixture = new SchedulerFixture({
    startMs: DAY_START_MS - 6 * HOUR_MS,
    intervalMs: 5 * MINUTE_MS,
  });
  const { clock, requests } = fixture;
  const polled = estimated(fixture, () => {});
  fixture.start([polled]);
  await clock.advance(6 * HOUR_MS + 2 * MINUTE_MS);
  // The day before is appended as it was counted.
  expect(polled.customer.metricsAt(clock.nowMs()).usual?.entriesToday).toBeDefined();
  await clock.advance(26 * HOUR_MS);
  // Polls have no end.
  const read = requests.filter(({ question: { to } }) => to !== undefined);
  const aggregations = read.map(({ question: { aggregation } }) => aggregation);
  expect(aggregations).toEqual(['day', 'quarter', 'minute', 'day', 'day']);
  const [first = 0, , , second = 0, third = 0] = read.map(({ atMs }) => atMs - 6 * HOUR_MS);
  expect(first).toBe(-6 * HOUR_MS);
  expect(second).toBeGreaterThanOrEqual(30 * MINUTE_MS);
  expect(second).toBeLessThanOrEqual(91 * MINUTE_MS);
  expect(third - second).toBe(DAY_MS);
});

test('a past that fails is read again, less and less often, and no poll fails', async () => {
  await using fixture = new SchedulerFixture({ startMs: DAY_START_MS + HOUR_MS });
  const { clock } = fixture;
  const readMs: number[] = [];
  const polled = estimated(fixture, () => {
    readMs.push(clock.nowMs());
    if (readMs.length < 7) {
      throw UNAVAILABLE;
    }
  });
  fixture.start([polled]);
  await clock.advance(13 * HOUR_MS);
  expect(polled.customer.metricsAt(clock.nowMs()).usual).toBeUndefined();
  await clock.advance(HOUR_MS);
  expect(polled.customer.metricsAt(clock.nowMs()).usual).toBeDefined();
  // After the first poll that ends when it is due.
  const pauses = gapsOf(readMs).map((ms) => Math.floor(ms / MINUTE_MS / 5) * 5);
  expect(pauses).toEqual([15, 30, 60, 120, 240, 360]);
  expect(fixture.healthOf(polled)).toMatchObject({ failures: 0 });
  expect(fixture.lines).toMatchObject([
    { msg: 'past unavailable', customer: 'a', stream: 'people', error: 'status 503' },
  ]);
});

test('a past that failed while the clock was a day ahead is read at the next poll after it is set', async () => {
  await using fixture = new SchedulerFixture({ startMs: DAY_START_MS + 6 * HOUR_MS });
  const { clock } = fixture;
  const readMs: number[] = [];
  const polled = estimated(fixture, () => {
    readMs.push(clock.monotonicMs());
    if (clock.aheadMs > 0) {
      throw UNAVAILABLE;
    }
  });
  fixture.start([polled]);
  await clock.advance(2 * MINUTE_MS);
  clock.step(DAY_MS);
  await clock.advance(2 * MINUTE_MS);
  clock.step(-DAY_MS);
  await clock.advance(1.1 * MINUTE_MS);
  expect(readMs.map((ms) => Math.floor(ms / MINUTE_MS))).toEqual([0, 3, 5]);
  // The service's totals fell: three polls confirm it.
  await clock.advance(2 * MINUTE_MS);
  expect(polled.customer.metricsAt(clock.nowMs()).usual?.entriesToday).toBeCloseTo(6, 0);
});

/** A customer whose past hangs. */
function hangingPast(fixture: SchedulerFixture, name: string) {
  const signals: AbortSignal[] = [];
  function history(signal: AbortSignal) {
    signals.push(signal);
    return hang(undefined, signal);
  }
  return { polled: estimated(fixture, history, name), signals };
}

test.each<[string, (scheduler: Scheduler) => unknown]>([
  ['with its customer', (scheduler) => scheduler.setCustomers([])],
  ['at the stop', (scheduler) => scheduler.stop()],
])(
  'a past that hangs is read once and dropped %s, and one that waits for a slot is not read',
  async (_, end) => {
    const startMs = DAY_START_MS + 6 * HOUR_MS;
    await using fixture = new SchedulerFixture({ startMs, maxRequestsPerSecond: 1 });
    const [first, waits] = [hangingPast(fixture, 'a'), hangingPast(fixture, 'b')];
    const { customer, client } = waits.polled;
    // Its next poll hangs, too, until it is dropped.
    function query(...[question, signal, ...rest]: Parameters<typeof client.query>) {
      const isHanging = question.to === undefined && fixture.clock.monotonicMs() >= MINUTE_MS;
      return isHanging ? hang(question, signal) : client.query(question, signal, ...rest);
    }
    const customers = [first.polled, { customer, client: { ...client, query } }];
    await fixture.run(customers, MINUTE_MS);
    fixture.scheduler.setCustomers(customers);
    await fixture.clock.advance(MINUTE_MS);
    expect(first.signals.map(({ aborted }) => aborted)).toEqual([false]);
    void end(fixture.scheduler);
    await fixture.clock.advance(2 * MINUTE_MS);
    expect(first.signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(waits.signals).toEqual([]);
    expect(fixture.lines).toEqual([]);
  },
);

test('where devices are is read after the past, by one request with the lowest priority', async () => {
  await using fixture = new SchedulerFixture({ startMs: DAY_START_MS + 6 * HOUR_MS });
  const { clock } = fixture;
  let isPastRead = false;
  const sent: unknown[] = [];
  const { customer, client } = estimated(fixture, () => (isPastRead = true));
  customer.breakdowns.configure(['device']);
  const byDevice = { aggregation: 'device', rows: [{ key: 301, counts: [9, 9] }] };
  const record = ['p', 1, '', null, null, null, null, null, 7, 101, 201, 301];
  const recording: PolledCustomer['client'] = {
    query: (question, ...rest) =>
      question.aggregation === 'device'
        ? Promise.resolve(byDevice)
        : client.query(question, ...rest),
    page(question, _signal, priority) {
      sent.push([isPastRead, priority, question.limit]);
      return Promise.resolve(pageOf(record));
    },
  };
  await fixture.run([{ customer, client: recording }], 3 * HOUR_MS);
  expect(sent).toEqual([[true, 'optional', 1000]]);
  expect(customer.metricsAt(clock.nowMs()).breakdowns.device?.keys).toMatchObject([
    { key: '301', device: { place: { branch: '101', client: '201' } } },
  ]);
});
