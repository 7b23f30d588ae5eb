/** How many customers are polled beside each other: whose turn it is, and who waits for whom. */
import { describe, expect, test } from 'vitest';
import { GOOD, hang, MINUTE_MS, PollerRig } from './poller-rig.ts';

const HOUR_MS = 60 * MINUTE_MS;

describe('the poller', () => {
  test('polls every stream once an interval, spread over it and always in the same order', async () => {
    await using rig = new PollerRig();
    const customers = ['a', 'b', 'c', 'd'].map((name) => rig.polled(name));
    rig.start(customers);
    await rig.clock.advance(0);
    rig.asked.length = 0;
    await rig.clock.advance(3 * MINUTE_MS);
    expect(rig.asked.map(({ customer }) => customer).join('')).toBe('bcdabcdabcda');
    const turns = rig.asked.map(({ atMs }) => Math.round((atMs % MINUTE_MS) / 1000));
    expect(turns).toEqual([15, 30, 45, 0, 15, 30, 45, 0, 15, 30, 45, 0]);
    expect(customers.map((one) => rig.healthOf(one))).toEqual(
      customers.map(() => ({ polls: 4, failures: 0, skipped: 0 })),
    );
  });

  test('lets no dead customer delay another', async () => {
    await using rig = new PollerRig();
    const dead = rig.polled('dead', hang);
    const alive = rig.polled('alive');
    rig.start([dead, alive]);
    await rig.clock.advance(10 * MINUTE_MS);
    expect(rig.healthOf(alive)).toEqual({ polls: 11, failures: 0, skipped: 0 });
    expect(rig.healthOf(dead).failures).toBe(10);
  });

  test('takes only as many first polls at once as end before their deadline', async () => {
    await using rig = new PollerRig(undefined, 1);
    let underWay = 0;
    let most = 0;
    const customers = Array.from({ length: 30 }, (_, i) =>
      rig.polled(`c${i}`, async () => {
        underWay += 1;
        most = Math.max(most, underWay);
        await rig.clock.sleep(1000);
        underWay -= 1;
        return GOOD;
      }),
    );
    rig.start(customers);
    await rig.clock.advance(5 * MINUTE_MS);
    expect(most).toBeLessThanOrEqual(8);
    expect(customers.map((customer) => rig.healthOf(customer).skipped)).toEqual(
      customers.map(() => 0),
    );
    expect(customers.every((customer) => rig.healthOf(customer).polls > 0)).toBe(true);
  });

  test('leaves those that stay alone when customers come and go', async () => {
    await using rig = new PollerRig();
    const stays = rig.polled('stays');
    const goes = rig.polled('goes');
    rig.start([stays, goes]);
    await rig.clock.advance(2 * MINUTE_MS);
    const comes = rig.polled('comes');
    rig.poller.setCustomers([stays, comes]);
    const before = rig.healthOf(goes).polls;
    await rig.clock.advance(2 * MINUTE_MS);
    expect(rig.healthOf(goes).polls).toBe(before);
    expect(rig.healthOf(stays)).toEqual({ polls: 5, failures: 0, skipped: 0 });
    expect(rig.healthOf(comes).polls).toBeGreaterThanOrEqual(2);
  });

  test('spreads the turns evenly again when customers have come', async () => {
    await using rig = new PollerRig();
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => rig.polled(name));
    rig.start([a, b].filter((one) => one !== undefined));
    await rig.clock.advance(3 * MINUTE_MS);
    rig.poller.setCustomers([a, b, c, d].filter((one) => one !== undefined));
    await rig.clock.advance(2 * MINUTE_MS);
    rig.asked.length = 0;
    await rig.clock.advance(MINUTE_MS);
    const turns = rig.asked.map(({ customer, atMs }) => [
      customer,
      Math.round((atMs % MINUTE_MS) / 1000),
    ]);
    expect(Object.fromEntries(turns)).toEqual({ a: 0, b: 15, c: 30, d: 45 });
  });

  test('reads all totals anew within the reconcile interval, spread evenly over it', async () => {
    await using rig = new PollerRig();
    const names = Array.from({ length: 12 }, (_, i) => `c${i}`);
    rig.start(names.map((name) => rig.polled(name)));
    await rig.clock.advance(5.5 * HOUR_MS);
    const anchors = rig.asked.filter(({ question }) => question.aggregation === 'day');
    for (const name of names) {
      const atMs = anchors.filter(({ customer }) => customer === name).map((asked) => asked.atMs);
      const apart = atMs.slice(1).map((ms, i) => ms - (atMs[i] ?? 0));
      expect(Math.max(...apart)).toBeLessThanOrEqual(HOUR_MS);
      expect(apart.filter((ms) => ms > 0).length).toBeLessThanOrEqual(6);
    }
    for (let fromMs = HOUR_MS; fromMs <= 5 * HOUR_MS; fromMs += MINUTE_MS) {
      const within = anchors.filter(({ atMs }) => atMs >= fromMs && atMs < fromMs + HOUR_MS / 4);
      expect(new Set(within.map(({ customer }) => customer)).size).toBeLessThanOrEqual(4);
    }
  });

  test('gives every customer its anchor of the new day, though dead ones take the places', async () => {
    await using rig = new PollerRig(Date.UTC(2026, 10, 18, 2, 30), 1);
    let dead = false;
    const customers = Array.from({ length: 24 }, (_, i) =>
      rig.polled(`c${i}`, (question, signal) =>
        dead && i < 12 ? hang(question, signal) : Promise.resolve(GOOD),
      ),
    );
    rig.start(customers);
    await rig.clock.advance(2 * MINUTE_MS);
    dead = true;
    await rig.clock.advance(40 * MINUTE_MS);
    const today = customers
      .slice(12)
      .map(({ customer }) => customer.metricsAt(rig.clock.nowMs()).counters.people_entered?.today);
    expect(today).toEqual(today.map(() => 3));
  });

  test('skips no turn because of an anchor that is taken beside the turns', async () => {
    await using rig = new PollerRig(Date.UTC(2026, 10, 18, 2, 55), 1);
    const customers = Array.from({ length: 60 }, (_, i) =>
      rig.polled(`c${i}`, async () => {
        await rig.clock.sleep(4_000);
        return GOOD;
      }),
    );
    rig.start(customers);
    await rig.clock.advance(60 * MINUTE_MS);
    expect(customers.map((customer) => rig.healthOf(customer).skipped)).toEqual(
      customers.map(() => 0),
    );
    const today = customers.map(({ customer }) => customer.metricsAt(rig.clock.nowMs()).counters);
    expect(today.map((counters) => counters.people_entered?.today)).toEqual(customers.map(() => 3));
  });

  test('lets the first polls of the living not wait for all of the dead', async () => {
    await using rig = new PollerRig();
    const dead = Array.from({ length: 100 }, (_, i) => rig.polled(`dead-${i}`, hang));
    const alive = rig.polled('alive');
    rig.start([...dead, alive]);
    await rig.clock.advance(1.5 * MINUTE_MS);
    expect(rig.healthOf(alive).polls).toBeGreaterThan(0);
  });
});
