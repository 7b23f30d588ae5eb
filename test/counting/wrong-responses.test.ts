/** Faults that a single response does not show. */
import { describe, expect, test } from 'vitest';
import type { AggregatedResponse, Question } from '../../src/base/model.ts';
import { countedPeople, HOUR_MS, MINUTE_MS } from './counted.ts';

/** Every row by `minute` twice; `day` and `quarter` are right. */
function doubled(response: AggregatedResponse, { aggregation }: Question): AggregatedResponse {
  return aggregation === 'minute'
    ? { ...response, rows: [...response.rows, ...response.rows] }
    : response;
}

describe('minutes that are returned twice', () => {
  test('keep the accepted values, and recovery takes one poll', async () => {
    const { counted, minutes, distort, record, truth } = countedPeople();
    for (let days = 1; days < 15; days++) {
      record(counted.nowMs - days * 24 * HOUR_MS, [200, 190]);
    }
    await counted.poll();
    await minutes(57);
    expect(counted.totals()).toEqual([2847, 2699]);
    distort(doubled);
    await minutes(20);
    // The recent window had [2, 1], too few to be noticed. The next baseline rejects the rest.
    expect(counted.totals()).toEqual([2849, 2700]);
    expect(counted.notes).toContain('aggregations_inconsistent');
    record(counted.nowMs - MINUTE_MS, [3, 1]);
    distort((response) => response);
    await minutes(1);
    expect(counted.totals()).toEqual(truth());
    expect(counted.excess()).toEqual([0, 0]);
    expect(counted.today()).toEqual([10, 2]);
  });

  test('are found between two baselines once they double many counts', async () => {
    const { counted, minutes, distort, record } = countedPeople();
    for (let days = 1; days < 15; days++) {
      record(counted.nowMs - days * 24 * HOUR_MS, [200, 190]);
    }
    record(counted.nowMs - 4 * MINUTE_MS, [60, 40]);
    await counted.poll();
    await minutes(10);
    const before = counted.totals();
    distort(doubled);
    await minutes(20);
    expect(counted.totals()).toEqual(before);
  });
});

describe('a high rate', () => {
  test('of 90,000 an hour is at most two polls late', async () => {
    const { counted, minutes, record, truth } = countedPeople();
    await counted.poll();
    for (let minute = 0; minute < 30; minute++) {
      record(counted.nowMs + 1, [1500, 0]);
      const before = truth()[0] ?? 0;
      await minutes(1);
      expect(counted.totals()[0]).toBeGreaterThanOrEqual(before - 1500);
    }
    await minutes(1);
    expect(counted.totals()).toEqual(truth());
  });
});

describe('an implausible increase', () => {
  const GLITCH: AggregatedResponse = {
    aggregation: 'minute',
    rows: [{ key: '2026-11-18T10:00:00Z', counts: [90_000, 0] }],
  };

  test('by one aggregation alone is accepted after a reconcile interval, not before', async () => {
    const { counted, minutes, distort } = countedPeople();
    await counted.poll();
    distort((response, { aggregation, from }) =>
      aggregation === 'minute' && from.includes('T10:45') ? GLITCH : response,
    );
    await minutes(50);
    expect(counted.totals()).toEqual([47, 39]);
  });
});

describe("today's figures", () => {
  test('leave out rows dated before the day, which arrived today', async () => {
    const { counted, minutes, record, truth } = countedPeople({
      conventions: { fromMeans: 'arrival' },
    });
    const dayBefore = counted.nowMs - 20 * HOUR_MS;
    record(dayBefore, [9, 4], counted.nowMs - HOUR_MS);
    await counted.poll();
    expect(counted.today()).toEqual([7, 1]);
    record(dayBefore, [5, 5], counted.nowMs + 1);
    await minutes(1);
    expect(counted.today()).toEqual([7, 1]);
    expect(counted.totals()).toEqual(truth());
  });
});
