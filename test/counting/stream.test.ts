/**
 * One stream, poll by poll: totals, baselines and keys, whatever the service is like.
 */
import { describe, expect, test } from 'vitest';
import { SMALL_KEYS } from '../support/small-service.ts';
import type { SmallConventions } from '../support/small-service.ts';
import { countedPeople, HOUR_MS, MINUTE_MS, RECONCILE_MS, START_MS } from './counted.ts';

describe('a stream', () => {
  test('shows the total since the counting period after the first poll, with five requests', async () => {
    const { counted, truth } = countedPeople();
    expect(counted.totals()).toEqual([undefined, undefined]);
    await counted.poll();
    expect(counted.totals()).toEqual(truth());
    expect(counted.totals()).toEqual([47, 39]);
    expect(counted.today()).toEqual([7, 1]);
    expect(counted.figures().occupancy).toBe(6);
    expect(counted.asked).toHaveLength(5);
  });

  test('asks once at an ordinary poll, never with an end', async () => {
    const { counted, minutes, record, truth } = countedPeople();
    await counted.poll();
    expect(counted.asked.every(({ to }) => to === undefined)).toBe(true);
    record(counted.nowMs + 10_000, [3, 1]);
    await minutes(1);
    expect(counted.asked).toHaveLength(1);
    expect(counted.asked[0]).toMatchObject({ aggregation: 'minute' });
    expect(counted.totals()).toEqual(truth());
    expect(counted.figures().streams.people?.lastSeenMs).toBe(START_MS);
  });

  test('counts late records of the last minutes at once, and older ones at the next baseline', async () => {
    const { counted, minutes, record, truth } = countedPeople();
    await counted.poll();
    record(counted.nowMs - 3 * MINUTE_MS, [4, 0], counted.nowMs + 1000);
    await minutes(1);
    expect(counted.totals()).toEqual(truth());
    record(counted.nowMs - 30 * HOUR_MS, [9, 9], counted.nowMs + 1000);
    await minutes(RECONCILE_MS / MINUTE_MS);
    expect(counted.totals()).toEqual(truth());
  });

  test('holds the counter when the service takes records back, and says by how much', async () => {
    const { counted, minutes, record, truth } = countedPeople();
    await counted.poll();
    record(counted.nowMs - 5 * MINUTE_MS, [-3, 0], counted.nowMs + 1);
    await minutes(1);
    expect(truth()).toEqual([44, 39]);
    expect(counted.totals()).toEqual([47, 39]);
    expect(counted.excess()).toEqual([3, 0]);
    expect(counted.today()).toEqual([4, 1]);
    record(counted.nowMs + 1, [5, 0]);
    await minutes(1);
    expect(counted.totals()).toEqual([49, 39]);
    expect(counted.excess()).toEqual([0, 0]);
  });

  test('does not fall below its mark over a restart', async () => {
    const { counted, record } = countedPeople();
    await counted.poll();
    record(counted.nowMs - 5 * MINUTE_MS, [-3, 0], counted.nowMs + 1);
    counted.nowMs += MINUTE_MS;
    counted.restart();
    expect(counted.totals()).toEqual([undefined, undefined]);
    await counted.poll();
    expect(counted.totals()).toEqual([47, 39]);
    expect(counted.excess()).toEqual([3, 0]);
  });

  test('changes nothing when a poll fails, wherever it fails', async () => {
    for (let failing = 1; failing <= 5; failing++) {
      const { counted, distort, minutes, truth } = countedPeople();
      let asked = 0;
      distort((reading) => {
        asked += 1;
        if (asked === failing) {
          throw new Error('the service is away');
        }
        return reading;
      });
      await counted.poll();
      expect(counted.totals()).toEqual([undefined, undefined]);
      await minutes(1);
      expect(counted.totals()).toEqual(truth());
    }
  });

  test('keeps a baseline only if the window stood still while it was taken', async () => {
    const { counted, record, minutes, truth } = countedPeople();
    for (let ms = 0; ms < 60_000; ms += 1000) {
      record(counted.nowMs + ms, [1, 0]);
    }
    await counted.poll(2000);
    expect(counted.customer.stateOf('people').baseline).toBeUndefined();
    await minutes(2);
    expect(counted.totals()).toEqual(truth());
    await minutes(1);
    expect(counted.asked).toHaveLength(1);
  });

  test.each<Partial<SmallConventions>>([
    { dayLagMs: 20 * HOUR_MS },
    { dayLagMs: 20 * HOUR_MS, quarterLagMs: 2 * HOUR_MS },
    { daySnaps: true },
    { mostRows: 20 },
    { fromMeans: 'arrival' },
    { designator: 'ignored' },
    { fromInclusive: false, resolutionMs: MINUTE_MS },
    { listZeros: true },
  ])('is exact where the service is %j', async (conventions) => {
    const { counted, record, minutes, truth } = countedPeople({ conventions });
    record(START_MS - 9 * HOUR_MS, [11, 2]);
    await counted.poll();
    for (let i = 0; i < 70; i++) {
      record(counted.nowMs + 5000, [i % 3, i % 2]);
      await minutes(1);
      expect(counted.totals()).toEqual(truth());
    }
  });
});

describe('the keys of the minutes', () => {
  test.each(SMALL_KEYS)('are recognised as %s from the last minutes', async (key) => {
    const { counted } = countedPeople({ conventions: { key } });
    await counted.poll();
    expect(counted.figures().occupancy).toBe(6);
    expect(counted.figures().streams.people?.lastSeenMs).toBe(START_MS - 7 * MINUTE_MS);
  });

  test.each(SMALL_KEYS)(
    'are recognised as %s in the evening, long after the last visitor',
    async (key) => {
      const { counted } = countedPeople({ conventions: { key } });
      counted.nowMs += 8 * HOUR_MS;
      await counted.poll();
      expect(counted.figures().occupancy).toBe(6);
      expect(counted.figures().streams.people?.lastSeenMs).toBe(START_MS - 7 * MINUTE_MS);
    },
  );

  test('of no known form cost occupancy and last seen, and no counter', async () => {
    const { counted, distort, truth } = countedPeople();
    distort((reading) => ({
      ...reading,
      rows: reading.rows.map((row, i) => ({ ...row, key: `bucket ${i}` })),
    }));
    await counted.poll();
    expect(counted.totals()).toEqual(truth());
    expect(counted.today()).toEqual([7, 1]);
    expect(counted.figures().occupancy).toBeUndefined();
    expect(counted.figures().streams.people?.lastSeenMs).toBeUndefined();
    expect(counted.notes).toContain('key_format_unknown');
  });
});
