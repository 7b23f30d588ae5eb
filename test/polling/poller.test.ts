import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ServiceError } from '../../src/base/errors.ts';
import type { Question, Reading } from '../../src/base/nouns.ts';
import type { Poller } from '../../src/polling/poller.ts';
import type { PolledCustomer } from '../../src/polling/spread.ts';
import { customerNamed, pollerOn } from '../support/polled.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const MINUTE_MS = 60_000;
const GOOD: Reading = { aggregation: 'minute', rows: [{ key: 1, counts: [3, 1] }] };

let clock: VirtualClock;
let poller: Poller;
let asked: { customer: string; question: Question; atMs: number }[];
let ended: (string | undefined)[];

beforeEach(() => {
  clock = new VirtualClock(Date.UTC(2026, 10, 18, 10));
  asked = [];
  ended = [];
  poller = pollerWith({});
});
afterEach(async () => {
  const stopped = poller.stop();
  // Clients of these tests that do not heed their signal come to their end.
  await clock.advance(10 * MINUTE_MS);
  await stopped;
  if (clock.sleepers > 0) {
    throw new Error(`${clock.sleepers} are still asleep`);
  }
});

function pollerWith(options: { readonly maxRequestsPerSecond?: number }): Poller {
  return pollerOn(clock, {
    observer: { pollEnded: (_stream, _seconds, reason) => ended.push(reason), changed() {} },
    ...options,
  });
}

type Answering = (question: Question, signal: AbortSignal) => Promise<Reading>;

function polled(name: string, answer: Answering = () => Promise.resolve(GOOD)): PolledCustomer {
  const customer = customerNamed(name);
  return {
    customer,
    client: {
      ask(question, signal) {
        asked.push({ customer: name, question, atMs: clock.monotonicMs() });
        return answer(question, signal);
      },
    },
  };
}

function healthOf({ customer }: PolledCustomer) {
  const {
    polls = 0,
    failures = 0,
    skipped = 0,
  } = customer.figuresAt(clock.nowMs()).streams.people ?? {};
  return { polls, failures, skipped };
}

/** An answer that never comes, until it is not waited for any more. */
function hang(_question: Question, signal: AbortSignal): Promise<Reading> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new ServiceError('timeout', 'no answer came')));
  });
}

describe('the poller', () => {
  test('polls every stream once an interval, spread over it and always in the same order', async () => {
    const customers = ['a', 'b', 'c', 'd'].map((name) => polled(name));
    poller.start();
    poller.setCustomers(customers);
    await clock.advance(0);
    asked = [];
    await clock.advance(3 * MINUTE_MS);
    expect(asked.map(({ customer }) => customer).join('')).toBe('bcdabcdabcda');
    const turns = asked.map(({ atMs }) => Math.round((atMs % MINUTE_MS) / 1000));
    expect(turns).toEqual([15, 30, 45, 0, 15, 30, 45, 0, 15, 30, 45, 0]);
    expect(customers.map(healthOf)).toEqual(
      customers.map(() => ({ polls: 4, failures: 0, skipped: 0 })),
    );
  });

  test('ends a poll before the next turn is due, and counts it as a time-out', async () => {
    const dead = polled('dead', hang);
    poller.start();
    poller.setCustomers([dead]);
    await clock.advance(0.95 * MINUTE_MS);
    expect(ended).toEqual(['timeout']);
    expect(healthOf(dead)).toEqual({ polls: 1, failures: 1, skipped: 0 });
  });

  test('has the counters where reading the order of minutes would outlast the poll', async () => {
    // A slow service that forces another aggregation on all but short windows.
    const coarse = polled('coarse', async ({ from, to = '' }) => {
      await clock.sleep(2_000);
      const isShort = (Date.parse(to) || clock.nowMs()) - Date.parse(from) < 25 * MINUTE_MS;
      return isShort ? GOOD : { ...GOOD, aggregation: 'day' };
    });
    poller.start();
    poller.setCustomers([coarse]);
    await clock.advance(2 * MINUTE_MS);
    expect(ended).toEqual([undefined, undefined]);
    expect(coarse.customer.figuresAt(clock.nowMs()).kinds.people_entered?.total).toBe(3);
  });

  test('has the counters where a limit stands against reading the order of minutes', async () => {
    const limited = polled('limited', ({ to }) =>
      to === undefined
        ? Promise.resolve({ ...GOOD, aggregation: 'day' })
        : Promise.reject(new ServiceError('rate_limited', 'status 429')),
    );
    poller.start();
    poller.setCustomers([limited]);
    await clock.advance(0);
    expect(ended).toEqual([undefined]);
    expect(limited.customer.figuresAt(clock.nowMs()).kinds.people_entered?.total).toBe(3);
  });

  test('lets no dead customer delay another', async () => {
    const dead = polled('dead', hang);
    const alive = polled('alive');
    poller.start();
    poller.setCustomers([dead, alive]);
    await clock.advance(10 * MINUTE_MS);
    expect(healthOf(alive)).toEqual({ polls: 11, failures: 0, skipped: 0 });
    expect(healthOf(dead).failures).toBe(10);
  });

  test('never polls one stream twice at once: a turn that comes too early is skipped and counted', async () => {
    let underWay = 0;
    let most = 0;
    // This one does not heed the deadline.
    const stubborn = polled('stubborn', async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      await clock.sleep(asked.length > 5 ? 2.5 * MINUTE_MS : 0);
      underWay -= 1;
      return GOOD;
    });
    poller.start();
    poller.setCustomers([stubborn]);
    await clock.advance(4.8 * MINUTE_MS);
    expect(most).toBe(1);
    expect(healthOf(stubborn).skipped).toBe(2);
  });

  test('counts the turns that were missed while the whole process stood still', async () => {
    const customer = polled('a');
    poller.start();
    poller.setCustomers([customer]);
    await clock.advance(MINUTE_MS);
    clock.freeze(5 * MINUTE_MS);
    await clock.advance(1000);
    expect(healthOf(customer).skipped).toBe(4);
  });

  test('takes only as many first polls at once as end before their deadline', async () => {
    poller = pollerWith({ maxRequestsPerSecond: 1 });
    let underWay = 0;
    let most = 0;
    const customers = Array.from({ length: 30 }, (_, i) =>
      polled(`c${i}`, async () => {
        underWay += 1;
        most = Math.max(most, underWay);
        await clock.sleep(1000);
        underWay -= 1;
        return GOOD;
      }),
    );
    poller.start();
    poller.setCustomers(customers);
    await clock.advance(5 * MINUTE_MS);
    expect(most).toBeLessThanOrEqual(8);
    expect(customers.map((customer) => healthOf(customer).skipped)).toEqual(customers.map(() => 0));
    expect(customers.every((customer) => healthOf(customer).polls > 0)).toBe(true);
  });

  test('is not disturbed by a wall clock that steps', async () => {
    const customer = polled('a');
    poller.start();
    poller.setCustomers([customer]);
    await clock.advance(2 * MINUTE_MS);
    clock.step(-60 * MINUTE_MS);
    await clock.advance(2 * MINUTE_MS);
    clock.step(120 * MINUTE_MS);
    await clock.advance(2 * MINUTE_MS);
    expect(healthOf(customer)).toEqual({ polls: 7, failures: 0, skipped: 0 });
  });

  test('leaves those that stay alone when customers come and go', async () => {
    const stays = polled('stays');
    const goes = polled('goes');
    poller.start();
    poller.setCustomers([stays, goes]);
    await clock.advance(2 * MINUTE_MS);
    const comes = polled('comes');
    poller.setCustomers([stays, comes]);
    const before = healthOf(goes).polls;
    await clock.advance(2 * MINUTE_MS);
    expect(healthOf(goes).polls).toBe(before);
    expect(healthOf(stays)).toEqual({ polls: 5, failures: 0, skipped: 0 });
    expect(healthOf(comes).polls).toBeGreaterThanOrEqual(2);
  });

  test('spreads the turns evenly again when customers have come', async () => {
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => polled(name));
    poller.start();
    poller.setCustomers([a, b].filter((one) => one !== undefined));
    await clock.advance(3 * MINUTE_MS);
    poller.setCustomers([a, b, c, d].filter((one) => one !== undefined));
    await clock.advance(2 * MINUTE_MS);
    asked = [];
    await clock.advance(MINUTE_MS);
    const turns = asked.map(({ customer, atMs }) => [
      customer,
      Math.round((atMs % MINUTE_MS) / 1000),
    ]);
    expect(Object.fromEntries(turns)).toEqual({ a: 0, b: 15, c: 30, d: 45 });
  });

  test('gives every customer its anchor of the new day, though dead ones take the places', async () => {
    clock = new VirtualClock(Date.UTC(2026, 10, 18, 2, 30));
    poller = pollerWith({ maxRequestsPerSecond: 1 });
    let dead = false;
    const customers = Array.from({ length: 24 }, (_, i) =>
      polled(`c${i}`, (question, signal) =>
        dead && i < 12 ? hang(question, signal) : Promise.resolve(GOOD),
      ),
    );
    poller.start();
    poller.setCustomers(customers);
    await clock.advance(2 * MINUTE_MS);
    dead = true;
    await clock.advance(40 * MINUTE_MS);
    const today = customers
      .slice(12)
      .map(({ customer }) => customer.figuresAt(clock.nowMs()).kinds.people_entered?.today);
    expect(today).toEqual(today.map(() => 3));
  });

  test('skips no turn because of an anchor that is taken beside the turns', async () => {
    clock = new VirtualClock(Date.UTC(2026, 10, 18, 2, 55));
    poller = pollerWith({ maxRequestsPerSecond: 1 });
    const customers = Array.from({ length: 60 }, (_, i) =>
      polled(`c${i}`, async () => {
        await clock.sleep(4_000);
        return GOOD;
      }),
    );
    poller.start();
    poller.setCustomers(customers);
    await clock.advance(60 * MINUTE_MS);
    expect(customers.map((customer) => healthOf(customer).skipped)).toEqual(customers.map(() => 0));
    const today = customers.map(({ customer }) => customer.figuresAt(clock.nowMs()).kinds);
    expect(today.map((kinds) => kinds.people_entered?.today)).toEqual(customers.map(() => 3));
  });

  test('lets the first polls of the living not wait for all of the dead', async () => {
    const dead = Array.from({ length: 100 }, (_, i) => polled(`dead-${i}`, hang));
    const alive = polled('alive');
    poller.start();
    poller.setCustomers([...dead, alive]);
    await clock.advance(1.5 * MINUTE_MS);
    expect(healthOf(alive).polls).toBeGreaterThan(0);
  });

  test('counts no failure when it is stopped in the middle of a poll', async () => {
    const dead = polled('dead', hang);
    poller.start();
    poller.setCustomers([dead]);
    await clock.advance(10);
    await poller.stop();
    expect(healthOf(dead)).toEqual({ polls: 0, failures: 0, skipped: 0 });
  });

  test('fails a poll with the reason of the service', async () => {
    const customer = polled('a', () =>
      Promise.reject(new ServiceError('server', 'status 503', { status: 503 })),
    );
    poller.start();
    poller.setCustomers([customer]);
    await clock.advance(10);
    expect(ended).toEqual(['server']);
    expect(customer.customer.figuresAt(clock.nowMs()).streams.people).toMatchObject({
      up: false,
      lastError: { message: 'status 503' },
    });
  });
});
