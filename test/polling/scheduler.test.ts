import { describe, expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../src/base/duration.ts';
import type { AggregatedResponse, Breakdown, WindowQuery } from '../../src/base/model.ts';
import type { PolledCustomer } from '../../src/polling/scheduler.ts';
import { gapsOf, GOOD, hang, SchedulerFixture, UNAVAILABLE } from './fixture.ts';

describe('the schedule', () => {
  test('polls every stream once an interval, spread over it and in the same order', async () => {
    await using fixture = new SchedulerFixture();
    const { clock, requests } = fixture;
    const customers = fixture.polledMany(4);
    await fixture.run(customers, 0);
    requests.length = 0;
    await clock.advance(2 * MINUTE_MS);
    const polls = requests.map(({ customer, atMs }) => `${customer} ${Math.round(atMs / 1000)}`);
    expect(polls.join()).toBe('c1 15,c2 30,c3 45,c0 60,c1 75,c2 90,c3 105,c0 120');
    expect(customers.map((one) => fixture.healthOf(one))).toEqual(
      Array(4).fill({ polls: 3, failures: 0, skipped: 0 }),
    );
  });

  test('is late while the process is suspended, and the polls missed count as skipped', async () => {
    await using fixture = new SchedulerFixture();
    const { clock, scheduler } = fixture;
    const customer = fixture.polled('a');
    await fixture.run([customer], MINUTE_MS);
    expect(scheduler.lateMs()).toBe(0);
    clock.freeze(5.5 * MINUTE_MS);
    expect(scheduler.lateMs()).toBe(4.5 * MINUTE_MS);
    await clock.advance(1_000);
    expect(scheduler.lateMs()).toBe(0);
    expect(fixture.healthOf(customer)).toMatchObject({ polls: 3, skipped: 4 });
  });

  test('is spread again when customers are added and removed, without effect on the others', async () => {
    await using fixture = new SchedulerFixture();
    const { clock, requests, scheduler } = fixture;
    const stays = fixture.polled('stays');
    const goes = fixture.polled('goes');
    await fixture.run([stays, goes], 2 * MINUTE_MS);
    scheduler.setCustomers([stays, fixture.polled('comes'), fixture.polled('last')]);
    const before = fixture.healthOf(goes).polls;
    await clock.advance(2 * MINUTE_MS);
    requests.length = 0;
    await clock.advance(MINUTE_MS);
    const places = requests.map(({ customer, atMs }) => [customer, atMs % MINUTE_MS]);
    expect(Object.fromEntries(places)).toEqual({ stays: 0, comes: 20_000, last: 40_000 });
    expect(fixture.healthOf(stays)).toEqual({ polls: 6, failures: 0, skipped: 0 });
    expect(fixture.healthOf(goes).polls).toBe(before);
  });

  test('has earlier places at once', async () => {
    await using fixture = new SchedulerFixture();
    const stays = fixture.polled('stays');
    await fixture.run([stays], 5_000);
    fixture.scheduler.setCustomers([fixture.polled('comes'), stays]);
    await fixture.clock.advance(25_000);
    expect(fixture.requests.at(-1)).toMatchObject({ customer: 'stays', atMs: 30_000 });
  });

  test('lets a first poll end if customers are set meanwhile, and it is one', async () => {
    await using fixture = new SchedulerFixture();
    const stays = fixture.polled('stays', fixture.after(1_000));
    await fixture.run([stays], 500);
    fixture.scheduler.setCustomers([stays]);
    await fixture.clock.advance(20_000);
    expect(fixture.healthOf(stays)).toEqual({ polls: 1, failures: 0, skipped: 0 });
  });

  test('forgets customers that are removed while they wait for their first poll', async () => {
    await using fixture = new SchedulerFixture({ maxRequestsPerSecond: 0.1 });
    const stays = fixture.polled('stays', fixture.after(1_000));
    await fixture.run([stays, fixture.polled('goes')], 500);
    fixture.scheduler.setCustomers([stays]);
    await fixture.clock.advance(MINUTE_MS);
    expect(new Set(fixture.requests.map(({ customer }) => customer))).toEqual(new Set(['stays']));
  });
});

describe('a poll', () => {
  test('that fails has the reason of the service, and the next good one is logged', async () => {
    await using fixture = new SchedulerFixture();
    const failing = fixture.polled('a', () =>
      fixture.clock.monotonicMs() < MINUTE_MS ? Promise.reject(UNAVAILABLE) : Promise.resolve(GOOD),
    );
    await fixture.run([failing], 10);
    const { up, lastError } = failing.customer.health.people ?? {};
    expect([up, lastError?.message]).toEqual([false, 'status 503']);
    await fixture.clock.advance(MINUTE_MS);
    expect(fixture.ended).toEqual(['server', undefined]);
    const messages = fixture.lines.map(({ msg }) => msg).filter((msg) => msg.startsWith('poll'));
    expect(messages).toEqual(['poll failed', 'polling recovered']);
  });

  test('that does not end fails before the next one is due, and delays no other customer', async () => {
    await using fixture = new SchedulerFixture();
    const dead = fixture.polled('dead', fixture.goodUntil(MINUTE_MS));
    const alive = fixture.polled('alive');
    await fixture.run([dead, alive], 10.9 * MINUTE_MS);
    expect(fixture.healthOf(dead)).toEqual({ polls: 11, failures: 10, skipped: 0 });
    expect(fixture.healthOf(alive)).toEqual({ polls: 12, failures: 0, skipped: 0 });
    expect(new Set(fixture.ended)).toEqual(new Set(['timeout', undefined]));
  });

  test('that is stopped changes nothing, and has ended when the scheduler has stopped', async () => {
    await using fixture = new SchedulerFixture();
    const { clock, scheduler } = fixture;
    const slow = fixture.polled('slow', (question, signal) =>
      hang(question, signal).catch(async (error: unknown) => {
        await clock.sleep(1_000);
        throw error;
      }),
    );
    await fixture.run([slow], 10);
    let isStopped = false;
    const stopped = scheduler.stop().then(() => (isStopped = true));
    await clock.advance(999);
    expect(isStopped).toBe(false);
    await clock.advance(1);
    await stopped;
    expect(fixture.healthOf(slow)).toEqual({ polls: 0, failures: 0, skipped: 0 });
    expect(fixture.ended).toEqual([]);
  });
});

describe('baselines', () => {
  test('are read within the reconcile interval, spread over it', async () => {
    await using fixture = new SchedulerFixture();
    await fixture.run(fixture.polledMany(12), 3.5 * HOUR_MS);
    const baselines = fixture.requests.filter(({ question }) => question.aggregation === 'day');
    for (const ofOne of Map.groupBy(baselines, ({ customer }) => customer).values()) {
      expect(Math.max(...gapsOf(ofOne.map(({ atMs }) => atMs)))).toBeLessThanOrEqual(HOUR_MS);
    }
    for (let fromMs = HOUR_MS; fromMs <= 3 * HOUR_MS; fromMs += MINUTE_MS) {
      const quarter = baselines.filter(({ atMs }) => atMs >= fromMs && atMs < fromMs + HOUR_MS / 4);
      expect(new Set(quarter.map(({ customer }) => customer)).size).toBeLessThanOrEqual(4);
    }
  });

  test('at the start are as many at once as the limit on requests allows', async () => {
    await using fixture = new SchedulerFixture({ maxRequestsPerSecond: 1 });
    const customers = fixture.polledMany(30, fixture.after(1000));
    await fixture.run(customers, 5 * MINUTE_MS);
    expect(fixture.mostAtOnce).toBeLessThanOrEqual(8);
    const health = customers.map((one) => fixture.healthOf(one));
    expect(health.filter(({ polls, skipped }) => polls === 0 || skipped > 0)).toEqual([]);
  });

  test('of a new day reach every customer, even if hanging ones take the slots', async () => {
    const startMs = Date.UTC(2026, 10, 18, 2, 30);
    await using fixture = new SchedulerFixture({ startMs, maxRequestsPerSecond: 1 });
    const dead = fixture.polledMany(12, fixture.goodUntil(2 * MINUTE_MS));
    const alive = Array.from({ length: 12 }, (_, i) => fixture.polled(`alive-${i}`));
    await fixture.run([...dead, ...alive], 42 * MINUTE_MS);
    expect(new Set(alive.map((one) => fixture.enteredOf(one).today))).toEqual(new Set([3]));
  });

  test('may take longer than a short interval: polls are skipped, and there is one warning, not of first polls', async () => {
    await using fixture = new SchedulerFixture({
      intervalMs: 1_000,
      reconcileIntervalMs: 15 * MINUTE_MS,
    });
    const customers = fixture.polledMany(2, fixture.after(250));
    function warnings() {
      return fixture.lines.filter(({ msg }) => !msg.startsWith('minute keys unreadable'));
    }
    await fixture.run(customers, 5 * MINUTE_MS);
    expect(warnings()).toEqual([]);
    await fixture.clock.advance(15 * MINUTE_MS);
    expect(new Set(fixture.ended)).toEqual(new Set([undefined]));
    for (const customer of customers) {
      expect(fixture.enteredOf(customer).total).toBe(3);
      expect(fixture.healthOf(customer).skipped).toBeGreaterThan(0);
      expect(fixture.healthOf(customer).skipped).toBeLessThan(10);
    }
    const msg = 'service too slow for the polling interval';
    expect(warnings()).toMatchObject([
      { msg, customer: 'c1', poll_seconds: 1.25, interval_seconds: 1 },
    ]);
  });
});

describe('a poll that needs a newer baseline', () => {
  function of(entered: number): AggregatedResponse {
    return { ...GOOD, rows: [{ key: 1, counts: [entered, 1] }] };
  }

  /** Twenty came in; from the second minute on, the response is `later`. */
  function changed(fixture: SchedulerFixture, later: AggregatedResponse): PolledCustomer {
    return fixture.polled('changed', () =>
      Promise.resolve(fixture.clock.monotonicMs() < MINUTE_MS ? of(20) : later),
    );
  }

  function requestsOf(fixture: SchedulerFixture, fromMs: number) {
    return fixture.requests
      .filter(({ customer, atMs }) => customer === 'changed' && atMs >= fromMs)
      .map(({ question, atMs }) => [question.aggregation, atMs]);
  }

  test('reads it at once', async () => {
    await using fixture = new SchedulerFixture();
    const customer = changed(fixture, { ...of(21), aggregation: 'day' });
    await fixture.run([customer], 1.5 * MINUTE_MS);
    expect(requestsOf(fixture, 1)).toContainEqual(['day', MINUTE_MS]);
    expect(fixture.healthOf(customer)).toEqual({ polls: 2, failures: 0, skipped: 0 });
    expect(fixture.enteredOf(customer).total).toBe(21);
  });

  test('waits for a slot if it can: it reads the last minutes once, and the baseline later', async () => {
    await using fixture = new SchedulerFixture({ maxRequestsPerSecond: 0.1 });
    const customer = changed(fixture, of(40));
    await fixture.run([fixture.polled('dead', hang), customer], 2.5 * MINUTE_MS - 1);
    expect(requestsOf(fixture, MINUTE_MS)).toEqual([['minute', 1.5 * MINUTE_MS]]);
    expect(fixture.enteredOf(customer).total).toBe(20);
    await fixture.clock.advance(MINUTE_MS);
    expect(requestsOf(fixture, 3 * MINUTE_MS)).toContainEqual(['day', 3 * MINUTE_MS]);
    expect(fixture.enteredOf(customer).total).toBe(40);
  });
});

describe('breakdowns', () => {
  function withBreakdowns(polled: PolledCustomer, ...breakdowns: Breakdown[]): PolledCustomer {
    polled.customer.breakdowns.configure(breakdowns);
    return polled;
  }

  /** By the aggregation that was requested. */
  function answer({ aggregation }: WindowQuery): Promise<AggregatedResponse> {
    return Promise.resolve({ ...GOOD, aggregation });
  }

  test('are optional requests, streams are not', async () => {
    await using fixture = new SchedulerFixture();
    await fixture.run([withBreakdowns(fixture.polled('a', answer), 'device')], MINUTE_MS);
    const sent = fixture.requests.map(({ question }) => [question.aggregation, question.priority]);
    expect(new Set(sent.map(String))).toEqual(
      new Set(['minute,urgent', 'day,urgent', 'device,optional', 'minute,normal']),
    );
  });

  test('are polled at an interval of their own, after the first polls of the streams', async () => {
    await using fixture = new SchedulerFixture();
    const { clock, requests } = fixture;
    fixture.start(
      ['a', 'b'].map((name) => withBreakdowns(fixture.polled(name, answer), 'branch', 'device')),
    );
    await clock.advance(0);
    const first = requests.map(({ question }) => question.aggregation);
    expect(first.slice(0, 3)).toEqual(['minute', 'minute', 'branch']);
    requests.length = 0;
    await clock.advance(5 * MINUTE_MS);
    const polls = requests
      .filter(({ question }) => question.aggregation !== 'minute')
      .map(({ customer, question, atMs }) => `${customer} ${question.aggregation} ${atMs}`);
    // Both requests of a poll come at one instant here.
    expect([...new Set(polls)]).toEqual([
      'a device 75000',
      'b branch 150000',
      'b device 225000',
      'a branch 300000',
    ]);
  });
});
