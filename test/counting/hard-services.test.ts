/** Sequences of responses that once made a total wrong, each with the service that gives them (rules 1 to 4). */
import { describe, expect, test } from 'vitest';
import { Zone } from '../../src/counting/zone.ts';
import type { AggregatedResponse, Question } from '../../src/base/model.ts';
import { countedPeople, HOUR_MS, MINUTE_MS, RECONCILE_MS, START_MS } from './counted.ts';

const PERIOD_MS = Date.UTC(2026, 10, 1, 3);

describe('the aggregation of the totals', () => {
  test('stays after a fault of one poll', async () => {
    const { counted, empty, record, minutes, truth } = countedPeople({
      records: [],
      conventions: { mostRows: 200, fromInclusive: false, resolutionMs: MINUTE_MS },
    });
    for (let ms = START_MS - 7 * HOUR_MS; ms < START_MS + 5 * HOUR_MS; ms += 20_000) {
      record(ms + 1, [1, 0]);
    }
    await counted.poll();
    await minutes(59);
    empty(({ aggregation }) => aggregation === 'minute');
    await minutes(1);
    empty(() => false);
    await minutes(130);
    expect(counted.customer.stateOf('people').totalSource.aggregation).toBe('day');
    expect(counted.totals()).toEqual(truth());
    expect(counted.excess()).toEqual([0, 0]);
  });

  test('is not verified by two empty answers on a closed day', async () => {
    const { counted, record, truth } = countedPeople({
      records: [],
      startMs: Date.UTC(2026, 10, 18, 4),
      conventions: { dayLagMs: 20 * HOUR_MS },
    });
    record(Date.UTC(2026, 10, 10, 14), [30, 30]);
    record(Date.UTC(2026, 10, 17, 14), [10, 10]);
    await counted.poll();
    expect(counted.totals()).toEqual(truth());
  });

  test('starts with `day` again in a new counting period', async () => {
    const { counted, service, record, minutes } = countedPeople({
      records: [],
      conventions: { dayLagMs: 20 * HOUR_MS },
    });
    record(START_MS - HOUR_MS, [7, 1]);
    await counted.poll();
    expect(counted.customer.stateOf('people').totalSource.aggregation).toBe('quarter');
    Object.assign(service.conventions, { dayLagMs: 0 });
    counted.nowMs = Date.UTC(2026, 11, 1, 12);
    record(counted.nowMs - HOUR_MS, [5, 2]);
    await minutes(1);
    expect(counted.customer.stateOf('people').totalSource.aggregation).toBe('day');
    expect(counted.totals()).toEqual([5, 2]);
  });
});

describe('an empty response', () => {
  test('for the recent window, twice, does not add its counts twice', async () => {
    const { counted, empty, record, minutes, truth } = countedPeople({ records: [] });
    for (let ms = START_MS - 5 * HOUR_MS; ms < START_MS + 5 * HOUR_MS; ms += 2 * MINUTE_MS) {
      record(ms + 1, [1, 0]);
    }
    await counted.poll();
    await minutes(59);
    empty(({ aggregation, from }) => aggregation === 'minute' && !from.includes('T04:00'));
    await minutes(1);
    empty(() => false);
    await minutes(2);
    expect(counted.totals()).toEqual(truth());
    expect(counted.excess()).toEqual([0, 0]);
  });

  test('for today, once at the first poll, is requested again', async () => {
    const { counted, empty, record } = countedPeople({ records: [] });
    record(START_MS - HOUR_MS, [7, 1]);
    empty(() => counted.asked.length === 3);
    await counted.poll();
    expect(counted.asked.map(({ aggregation }) => aggregation).slice(2, 4)).toEqual([
      'minute',
      'minute',
    ]);
    expect(counted.today()).toEqual([7, 1]);
  });
});

// Found by the simulation: a library nobody had come to since the counting period started, and then an outage.
describe('an empty response for the first day of a counting period', () => {
  test('is requested again where `day` may lag', async () => {
    const { counted, empty, record, minutes, truth } = countedPeople({
      records: [],
      startMs: Date.UTC(2026, 10, 1, 3, 30),
      conventions: { dayLagMs: 20 * HOUR_MS },
    });
    record(Date.UTC(2026, 10, 1, 9), [4, 1]);
    await minutes(62);
    expect(counted.totals()).toEqual([0, 0]);
    counted.nowMs = Date.UTC(2026, 10, 1, 13);
    let spoilt = 0;
    empty(
      ({ aggregation, from }) =>
        aggregation === 'minute' && from.includes('T04:00') && (spoilt += 1) === 1,
    );
    await counted.poll();
    expect(spoilt).toBeGreaterThan(1);
    expect(counted.totals()).toEqual(truth());
  });
});

describe('a service that reads local time as UTC', () => {
  test('is detected at the next baseline', async () => {
    const { counted, service, minutes, record } = countedPeople({
      records: [],
      serviceZone: new Zone('UTC'),
      conventions: { designator: 'ignored' },
    });
    for (let i = -300; i < 300; i++) {
      record(START_MS + i * MINUTE_MS, [1, 0]);
    }
    await counted.poll();
    await minutes(62);
    for (let i = 0; i < 70; i++) {
      await minutes(1);
      expect(counted.totals()).toEqual(service.total(PERIOD_MS + HOUR_MS, counted.nowMs));
    }
  });
});

describe('the keys of the first visitor after an empty night', () => {
  test('are detected within two minutes if the window allows several formats', async () => {
    const startMs = Date.UTC(2026, 10, 18, 4);
    const { counted, record, minutes } = countedPeople({
      records: [],
      startMs,
      conventions: { key: 'utc' },
    });
    record(startMs - 9 * 24 * HOUR_MS, [1, 0]);
    record(startMs + 172 * MINUTE_MS + 5, [1, 0]);
    await counted.poll();
    await minutes(175);
    expect(counted.figures().occupancy).toBe(1);
  });
});

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
});

describe('a first total that is too low', () => {
  test('is corrected by the next baseline', async () => {
    const { counted, distort, minutes } = countedPeople();
    distort((response, { from }) =>
      from.startsWith('2026-11-01') ? { ...response, rows: response.rows.slice(1) } : response,
    );
    await counted.poll();
    distort((response) => response);
    expect(counted.totals()).toEqual([7, 1]);
    await minutes(30);
    expect(counted.totals()).toEqual([7, 1]);
    await minutes(RECONCILE_MS / MINUTE_MS);
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
