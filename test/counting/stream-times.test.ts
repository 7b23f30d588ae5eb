/**
 * What a stream shows when a day or an epoch is over, when minutes are yet to come, and when its last
 * poll is old.
 */
import { describe, expect, test } from 'vitest';
import { START_MS, worldOf } from './stream-fixture.ts';

const MINUTE_MS = 60_000;

describe('a stream', () => {
  test('switches the day by the time of the asking', async () => {
    const { counted, truth } = worldOf();
    await counted.poll();
    counted.nowMs = Date.UTC(2026, 10, 19, 3) - 1;
    expect(counted.today()).toEqual([7, 1]);
    counted.nowMs += 1;
    expect(counted.today()).toEqual([undefined, undefined]);
    expect(counted.totals()).toEqual(truth());
    await counted.poll();
    expect(counted.today()).toEqual([0, 0]);
    expect(counted.figures().streams.people?.lastSeenMs).toBe(START_MS - 7 * MINUTE_MS);
  });

  test('knows after a restart when the day before was last seen anybody', async () => {
    const { counted, minutes } = worldOf();
    counted.nowMs = Date.UTC(2026, 10, 19, 3, 10);
    await counted.poll();
    await minutes(1);
    expect(counted.today()).toEqual([0, 0]);
    expect(counted.figures().streams.people?.lastSeenMs).toBe(START_MS - 7 * MINUTE_MS);
  });

  test('switches the epoch by the time of the asking, and starts the new one at what came in it', async () => {
    const { counted, record, minutes } = worldOf();
    await counted.poll();
    const december = Date.UTC(2026, 11, 1, 3);
    counted.nowMs = december;
    expect(counted.totals()).toEqual([undefined, undefined]);
    expect(counted.figures().periodStartMs).toBe(december);
    record(december + 90_000, [2, 0]);
    await minutes(3);
    expect(counted.totals()).toEqual([2, 0]);
  });

  test('leaves minutes that have not come yet out of occupancy and last seen, not out of the counters', async () => {
    const { counted, record, truth } = worldOf();
    record(counted.nowMs + 20 * MINUTE_MS, [8, 0], counted.nowMs - 1);
    await counted.poll();
    expect(counted.totals()).toEqual(truth());
    expect(counted.figures().occupancy).toBe(6);
    expect(counted.figures().streams.people?.lastSeenMs).toBe(START_MS - 7 * MINUTE_MS);
  });

  test('hides the occupancy when the newest good poll is older than 15 minutes', async () => {
    const { counted } = worldOf();
    await counted.poll();
    counted.nowMs += 15 * MINUTE_MS;
    expect(counted.figures().occupancy).toBe(6);
    expect(counted.figures().validUntilMs).toBe(counted.nowMs + 1);
    counted.nowMs += 1;
    expect(counted.figures().occupancy).toBeUndefined();
    expect(counted.totals()).toEqual([47, 39]);
  });
});
