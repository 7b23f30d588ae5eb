/** One stream, poll by poll: totals, baselines, keys and the time of the scrape. */
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../src/base/errors.ts';
import { SMALL_KEYS } from '../support/small-service.ts';
import type { SmallConventions } from '../support/small-service.ts';
import { countedPeople, HOUR_MS, MINUTE_MS, RECONCILE_MS, START_MS } from './counted.ts';

describe('a stream', () => {
  test('exports totals and today after the first poll, which takes five requests', async () => {
    const { counted, truth } = countedPeople();
    expect(counted.totals()).toEqual([undefined, undefined]);
    await counted.poll();
    expect(counted.totals()).toEqual(truth());
    expect(counted.totals()).toEqual([47, 39]);
    expect(counted.today()).toEqual([7, 1]);
    expect(counted.figures().occupancy).toBe(6);
    const [period, day, recent] = ['01T04:00', '18T04:00', '18T10:45'].map(
      (time) => `2026-11-${time}:00+01:00`,
    );
    expect(counted.asked.map(({ aggregation, from, to }) => [aggregation, from, to])).toEqual([
      ['minute', recent, undefined],
      ['day', period, undefined],
      ['minute', day, undefined],
      ['day', day, undefined],
      ['minute', recent, undefined],
    ]);
  });

  test('sends one request at an ordinary poll', async () => {
    const { counted, minutes, record, truth } = countedPeople();
    await counted.poll();
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

  test('keeps the counter when the service removes records, and exports the excess', async () => {
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

  test('keeps the counter over a restart', async () => {
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

  test('changes nothing when a poll fails, at whichever request', async () => {
    for (let failing = 1; failing <= 5; failing++) {
      const { counted, distort, minutes, truth } = countedPeople();
      let asked = 0;
      distort((reading) => {
        asked += 1;
        if (asked === failing) {
          throw new ServiceError('unreachable', 'the service is away');
        }
        return reading;
      });
      await counted.poll();
      expect(counted.totals()).toEqual([undefined, undefined]);
      await minutes(1);
      expect(counted.totals()).toEqual(truth());
    }
  });

  test('uses a baseline again only if nobody was counted while it was read', async () => {
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

describe('minute keys', () => {
  test.each(SMALL_KEYS)('are detected as %s, also long after the last visitor', async (key) => {
    for (const afterMs of [0, 8 * HOUR_MS]) {
      const { counted } = countedPeople({ conventions: { key } });
      counted.nowMs += afterMs;
      await counted.poll();
      expect(counted.figures().occupancy).toBe(6);
      expect(counted.figures().streams.people?.lastSeenMs).toBe(START_MS - 7 * MINUTE_MS);
    }
  });

  test('of an unknown format make occupancy and last seen absent, and change no counter', async () => {
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

describe('the time of the scrape', () => {
  test('decides which day it is', async () => {
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

  test('shows who was last seen on the day before, also after a restart', async () => {
    const { counted, minutes } = countedPeople();
    counted.nowMs = Date.UTC(2026, 10, 19, 3, 10);
    await counted.poll();
    await minutes(1);
    expect(counted.today()).toEqual([0, 0]);
    expect(counted.figures().streams.people?.lastSeenMs).toBe(START_MS - 7 * MINUTE_MS);
  });

  test('hides who was last seen before the day before', async () => {
    const { counted, minutes } = countedPeople();
    await counted.poll();
    for (const day of [19, 20]) {
      counted.nowMs = Date.UTC(2026, 10, day, 2, 55);
      await minutes(10);
    }
    expect(counted.today()).toEqual([0, 0]);
    expect(counted.figures().streams.people?.lastSeenMs).toBeUndefined();
  });

  test('decides which counting period it is', async () => {
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

  test('hides minutes of the future from occupancy and last seen, not from the counters', async () => {
    const { counted, record, truth } = countedPeople();
    record(counted.nowMs + 20 * MINUTE_MS, [8, 0], counted.nowMs - 1);
    await counted.poll();
    expect(counted.totals()).toEqual(truth());
    expect(counted.figures().occupancy).toBe(6);
    expect(counted.figures().streams.people?.lastSeenMs).toBe(START_MS - 7 * MINUTE_MS);
  });

  test('hides the occupancy 15 minutes after the last successful poll', async () => {
    const { counted } = countedPeople();
    await counted.poll();
    counted.nowMs += 15 * MINUTE_MS;
    expect(counted.figures().occupancy).toBe(6);
    expect(counted.figures().validUntilMs).toBe(counted.nowMs + 1);
    // Also after our clock was set back.
    for (const stepMs of [1, -30 * MINUTE_MS - 2]) {
      counted.nowMs += stepMs;
      expect(counted.figures().occupancy).toBeUndefined();
      expect(counted.totals()).toEqual([47, 39]);
    }
  });
});

describe('at the end of a month', () => {
  const december = Date.UTC(2026, 11, 1, 3);

  test('who comes after the last successful poll is in no counter', async () => {
    const { counted, record, minutes } = countedPeople();
    await counted.poll();
    record(december - MINUTE_MS, [3, 0]);
    counted.nowMs = december + MINUTE_MS;
    await minutes(3);
    expect(counted.totals()).toEqual([0, 0]);
  });

  test('a record that arrives afterwards is in no counter', async () => {
    const { counted, record, minutes } = countedPeople();
    counted.nowMs = december - 2 * MINUTE_MS;
    await counted.poll();
    record(december - HOUR_MS, [3, 0], december + 5 * MINUTE_MS);
    await minutes(70);
    expect(counted.totals()).toEqual([0, 0]);
  });
});
