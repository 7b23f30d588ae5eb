/** How one customer is polled: turns, deadlines, clocks, failures. */
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../src/base/errors.ts';
import { GOOD, hang, MINUTE_MS, PollerRig } from './poller-rig.ts';

describe('the poller', () => {
  test('ends a poll before the next turn is due, and counts it as a time-out', async () => {
    await using rig = new PollerRig();
    const dead = rig.polled('dead', hang);
    rig.start([dead]);
    await rig.clock.advance(0.95 * MINUTE_MS);
    expect(rig.ended).toEqual(['timeout']);
    expect(rig.healthOf(dead)).toEqual({ polls: 1, failures: 1, skipped: 0 });
  });

  test('has the counters where reading the order of minutes would outlast the poll', async () => {
    await using rig = new PollerRig();
    // A slow service that forces another aggregation on all but short windows.
    const coarse = rig.polled('coarse', async ({ from, to = '' }) => {
      await rig.clock.sleep(2_000);
      const isShort = (Date.parse(to) || rig.clock.nowMs()) - Date.parse(from) < 25 * MINUTE_MS;
      return isShort ? GOOD : { ...GOOD, aggregation: 'day' };
    });
    rig.start([coarse]);
    await rig.clock.advance(2 * MINUTE_MS);
    expect(rig.ended).toEqual([undefined, undefined]);
    expect(coarse.customer.metricsAt(rig.clock.nowMs()).counters.people_entered?.total).toBe(3);
  });

  test('has the counters where a limit stands against reading the order of minutes', async () => {
    await using rig = new PollerRig();
    const limited = rig.polled('limited', ({ to }) =>
      to === undefined
        ? Promise.resolve({ ...GOOD, aggregation: 'day' })
        : Promise.reject(new ServiceError('rate_limited', 'status 429')),
    );
    rig.start([limited]);
    await rig.clock.advance(0);
    expect(rig.ended).toEqual([undefined]);
    expect(limited.customer.metricsAt(rig.clock.nowMs()).counters.people_entered?.total).toBe(3);
  });

  test('never polls one stream twice at once: a turn that comes too early is skipped and counted', async () => {
    await using rig = new PollerRig();
    let underWay = 0;
    let most = 0;
    // This one does not heed the deadline.
    const stubborn = rig.polled('stubborn', async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      await rig.clock.sleep(rig.asked.length > 5 ? 2.5 * MINUTE_MS : 0);
      underWay -= 1;
      return GOOD;
    });
    rig.start([stubborn]);
    await rig.clock.advance(4.8 * MINUTE_MS);
    expect(most).toBe(1);
    expect(rig.healthOf(stubborn).skipped).toBe(2);
  });

  test('counts the turns that were missed while the whole process stood still', async () => {
    await using rig = new PollerRig();
    const customer = rig.polled('a');
    rig.start([customer]);
    await rig.clock.advance(MINUTE_MS);
    rig.clock.freeze(5 * MINUTE_MS);
    await rig.clock.advance(1000);
    expect(rig.healthOf(customer).skipped).toBe(4);
  });

  test('is not disturbed by a wall clock that steps', async () => {
    await using rig = new PollerRig();
    const customer = rig.polled('a');
    rig.start([customer]);
    await rig.clock.advance(2 * MINUTE_MS);
    rig.clock.step(-60 * MINUTE_MS);
    await rig.clock.advance(2 * MINUTE_MS);
    rig.clock.step(120 * MINUTE_MS);
    await rig.clock.advance(2 * MINUTE_MS);
    expect(rig.healthOf(customer)).toEqual({ polls: 7, failures: 0, skipped: 0 });
  });

  test('counts no failure when it is stopped in the middle of a poll', async () => {
    await using rig = new PollerRig();
    const dead = rig.polled('dead', hang);
    rig.start([dead]);
    await rig.clock.advance(10);
    await rig.poller.stop();
    expect(rig.healthOf(dead)).toEqual({ polls: 0, failures: 0, skipped: 0 });
  });

  test('fails a poll with the reason of the service', async () => {
    await using rig = new PollerRig();
    const customer = rig.polled('a', () =>
      Promise.reject(new ServiceError('server', 'status 503', { status: 503 })),
    );
    rig.start([customer]);
    await rig.clock.advance(10);
    expect(rig.ended).toEqual(['server']);
    expect(customer.customer.metricsAt(rig.clock.nowMs()).streams.people).toMatchObject({
      up: false,
      lastError: { message: 'status 503' },
    });
  });
});
