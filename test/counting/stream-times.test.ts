/**
 * What a stream shows when a day or a counting period is over, when minutes are yet to come, and when its last
 * poll is old.
 */
import { describe, expect, test } from 'vitest';
import { countedPeople, MINUTE_MS, START_MS } from './counted.ts';

describe('a stream', () => {
  test('switches the day by the time of the scrape', async () => {
    const { counted, truth } = countedPeople();
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
    const { counted, minutes } = countedPeople();
    counted.nowMs = Date.UTC(2026, 10, 19, 3, 10);
    await counted.poll();
    await minutes(1);
    expect(counted.today()).toEqual([0, 0]);
    expect(counted.figures().streams.people?.lastSeenMs).toBe(START_MS - 7 * MINUTE_MS);
  });

  test('was last seen today or the day before, not earlier', async () => {
    const { counted, minutes } = countedPeople();
    await counted.poll();
    for (const day of [19, 20]) {
      counted.nowMs = Date.UTC(2026, 10, day, 2, 55);
      await minutes(10);
    }
    expect(counted.today()).toEqual([0, 0]);
    expect(counted.figures().streams.people?.lastSeenMs).toBeUndefined();
  });

  test('switches the counting period by the time of the scrape, and starts the new one at what came in it', async () => {
    const { counted, record, minutes } = countedPeople();
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
    const { counted, record, truth } = countedPeople();
    record(counted.nowMs + 20 * MINUTE_MS, [8, 0], counted.nowMs - 1);
    await counted.poll();
    expect(counted.totals()).toEqual(truth());
    expect(counted.figures().occupancy).toBe(6);
    expect(counted.figures().streams.people?.lastSeenMs).toBe(START_MS - 7 * MINUTE_MS);
  });

  test('hides the occupancy when the newest good poll is older than 15 minutes', async () => {
    const { counted } = countedPeople();
    await counted.poll();
    counted.nowMs += 15 * MINUTE_MS;
    expect(counted.figures().occupancy).toBe(6);
    expect(counted.figures().validUntilMs).toBe(counted.nowMs + 1);
    counted.nowMs += 1;
    expect(counted.figures().occupancy).toBeUndefined();
    expect(counted.totals()).toEqual([47, 39]);
  });
});
