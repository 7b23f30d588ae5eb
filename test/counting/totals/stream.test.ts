/** One stream, poll by poll: totals, baselines, keys and the time of the scrape. */
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../../src/base/errors.ts';
import type { Conventions } from '../../../src/simulator/conventions.ts';
import { NOVEMBER } from '../../support/owner.ts';
import { DAY_LAGS, forcedAbove, MINUTE_KEYS } from '../../support/simulated-people.ts';
import { countedPeople, HOUR_MS, MINUTE_MS, RECONCILE_MS, START_MS } from '../counted.ts';

const LAST_SEEN_MS = START_MS - 7 * MINUTE_MS;

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
    expect(counted.asked).toMatchObject([{ aggregation: 'minute' }]);
    expect(counted.totals()).toEqual(truth());
    expect(counted.figures().streams.people?.lastSeenMs).toBe(START_MS);
  });

  test('counts late records of the last minutes at once, and older ones at the next baseline', async () => {
    const { counted, minutes, record, truth } = countedPeople();
    await counted.poll();
    record(counted.nowMs - 3 * MINUTE_MS, [4, 0], { arrivesMs: counted.nowMs + 1000 });
    await minutes(1);
    expect(counted.totals()).toEqual(truth());
    record(counted.nowMs - 30 * HOUR_MS, [9, 9], { arrivesMs: counted.nowMs + 1000 });
    await minutes(RECONCILE_MS / MINUTE_MS);
    expect(counted.totals()).toEqual(truth());
  });

  test('keeps the counter when the service removes records, also over a restart', async () => {
    const { counted, minutes, record, truth } = countedPeople();
    record(START_MS - 5 * MINUTE_MS, [3, 0], { goneMs: START_MS + 1 });
    await counted.poll();
    await minutes(1);
    expect(truth()).toEqual([47, 39]);
    expect(counted.totals()).toEqual([50, 39]);
    expect(counted.excess()).toEqual([3, 0]);
    expect(counted.today()).toEqual([7, 1]);
    counted.restart();
    expect(counted.totals()).toEqual([undefined, undefined]);
    await counted.poll();
    expect(counted.totals()).toEqual([50, 39]);
    expect(counted.excess()).toEqual([3, 0]);
    record(counted.nowMs + 1, [5, 0]);
    await minutes(1);
    expect(counted.totals()).toEqual([52, 39]);
    expect(counted.excess()).toEqual([0, 0]);
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
    for (let ms = 0; ms < MINUTE_MS; ms += 1000) {
      record(counted.nowMs + ms, [1, 0]);
    }
    await counted.poll(2000);
    expect(counted.customer.stateOf('people').baseline).toBeUndefined();
    await minutes(2);
    expect(counted.totals()).toEqual(truth());
    await minutes(1);
    expect(counted.asked).toHaveLength(1);
  });

  test.each<Partial<Conventions>>([
    DAY_LAGS,
    { ...DAY_LAGS, quarterFreshness: 'nightly' },
    { window: 'whole buckets' },
    forcedAbove(20),
    { windowTime: 'server' },
    { designator: 'ignored, read as local' },
    { fromEdge: 'inclusive' },
    { resolutionMs: 60_000 },
    { emptyBuckets: 'listed' },
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

  test('corrects a first total that is too low at the next baseline', async () => {
    const { counted, distort, minutes } = countedPeople();
    distort((response, { from }) =>
      from.startsWith('2026-11-01') ? { ...response, rows: response.rows.slice(1) } : response,
    );
    await counted.poll();
    distort((response) => response);
    await minutes(30);
    expect(counted.totals()).toEqual([7, 1]);
    await minutes(RECONCILE_MS / MINUTE_MS);
    expect(counted.totals()).toEqual([47, 39]);
  });

  test('leaves out of today the rows dated before, which arrived today', async () => {
    const { counted, minutes, record, truth } = countedPeople({
      conventions: { windowTime: 'server' },
    });
    const dayBefore = counted.nowMs - 20 * HOUR_MS;
    record(dayBefore, [9, 4], { arrivesMs: counted.nowMs - HOUR_MS });
    await counted.poll();
    expect(counted.today()).toEqual([7, 1]);
    record(dayBefore, [5, 5], { arrivesMs: counted.nowMs + 1 });
    await minutes(1);
    expect(counted.today()).toEqual([7, 1]);
    expect(counted.totals()).toEqual(truth());
  });
});

describe('minute keys', () => {
  test.each(Object.entries(MINUTE_KEYS))(
    'are detected as %s, also long after the last visitor',
    async (_, minuteKey) => {
      for (const afterMs of [0, 8 * HOUR_MS]) {
        const { counted } = countedPeople({ conventions: { minuteKey } });
        counted.nowMs += afterMs;
        await counted.poll();
        expect(counted.figures().occupancy).toBe(6);
        expect(counted.figures().streams.people?.lastSeenMs).toBe(LAST_SEEN_MS);
      }
    },
  );

  test('of an unknown format make occupancy and last seen absent, and change no counter', async () => {
    const { counted, distort, truth } = countedPeople();
    distort((response) => ({
      ...response,
      rows: response.rows.map((row, i) => ({ ...row, key: `bucket ${i}` })),
    }));
    await counted.poll();
    expect(counted.totals()).toEqual(truth());
    expect(counted.today()).toEqual([7, 1]);
    expect(counted.figures().occupancy).toBeUndefined();
    expect(counted.figures().streams.people?.lastSeenMs).toBeUndefined();
    expect(counted.notes).toContain('key_format_unknown');
  });

  test('of the first visitor after an empty night are detected within two minutes', async () => {
    const startMs = Date.UTC(2026, 10, 18, 4);
    const { counted, record, minutes } = countedPeople({
      records: [],
      startMs,
      conventions: { minuteKey: MINUTE_KEYS['UTC without Z'] },
    });
    record(startMs - 9 * 24 * HOUR_MS, [1, 0]);
    record(startMs + 172 * MINUTE_MS + 5, [1, 0]);
    await counted.poll();
    await minutes(175);
    expect(counted.figures().occupancy).toBe(1);
  });
});

describe('the aggregation of the totals', () => {
  test('is not verified by two empty answers on a closed day', async () => {
    const { counted, record, truth } = countedPeople({
      records: [],
      startMs: Date.UTC(2026, 10, 18, 4),
      conventions: DAY_LAGS,
    });
    record(Date.UTC(2026, 10, 10, 14), [30, 30]);
    // After the roll-up of the night, so that `day` lacks it.
    record(Date.UTC(2026, 10, 17, 14), [10, 10], { arrivesMs: Date.UTC(2026, 10, 18, 3) });
    await counted.poll();
    expect(counted.totals()).toEqual(truth());
    expect(counted.totals()).toEqual([40, 40]);
  });

  test.each([
    ['day', 'one disagreement', 1],
    ['quarter', 'two disagreements', 2],
  ])('is %s after %s with the minutes in one poll', async (aggregation, _, faults) => {
    const { counted, empty, truth } = countedPeople();
    let emptied = 0;
    empty(
      (question) =>
        question.aggregation === 'day' &&
        question.from.startsWith('2026-11-18') &&
        ++emptied <= faults,
    );
    await counted.poll();
    expect(counted.customer.stateOf('people').totalSource.aggregation).toBe(aggregation);
    expect(counted.totals()).toEqual(truth());
  });

  test('is not rejected because `day` lacks late records of the last three days', async () => {
    const { counted, record, truth } = countedPeople({ conventions: DAY_LAGS });
    record(START_MS - 72 * HOUR_MS, [4, 2], { arrivesMs: START_MS - HOUR_MS });
    await counted.poll();
    expect(counted.totals()).toEqual(truth());
  });

  test('is the one that the service forces for the period, and is compared with the minutes', async () => {
    const { counted, minutes, truth } = countedPeople({
      conventions: {
        forced: { above: 'rows', limit: 10 },
        forcedTo: 'quarter',
        quarter: '3 months',
        emptyBuckets: 'listed',
      },
    });
    await counted.poll();
    const read = counted.asked.slice(0, 5).map(({ aggregation }) => aggregation);
    expect(read).toEqual(['minute', 'day', 'minute', 'quarter', 'minute']);
    expect(counted.totals()).toEqual(truth());
    expect(counted.notes).toContain('totals_by_quarter');
    await minutes(RECONCILE_MS / MINUTE_MS);
    expect(counted.asked[1]).toMatchObject({ aggregation: 'quarter' });
    expect(counted.totals()).toEqual(truth());
  });

  test('starts with `day` again in a new counting period', async () => {
    const { counted, empty, record, minutes } = countedPeople({ records: [[HOUR_MS, [7, 1]]] });
    empty(({ aggregation }) => aggregation === 'day');
    await counted.poll();
    expect(counted.customer.stateOf('people').totalSource.aggregation).toBe('quarter');
    empty(() => false);
    counted.nowMs = Date.UTC(2026, 11, 1, 12);
    record(counted.nowMs - HOUR_MS, [5, 2]);
    await minutes(1);
    expect(counted.customer.stateOf('people').totalSource.aggregation).toBe('day');
    expect(counted.totals()).toEqual([5, 2]);
  });
});

describe('minutes that are returned twice', () => {
  /** 200 people a day for two weeks, an hour after the first poll; the last minutes had `recent`. */
  async function afterAnHour(recent: readonly number[]) {
    const people = countedPeople();
    for (let days = 1; days < 15; days++) {
      people.record(START_MS - days * 24 * HOUR_MS, [200, 190]);
    }
    people.record(START_MS + 55 * MINUTE_MS, recent);
    await people.counted.poll();
    await people.minutes(57);
    const before = people.counted.totals();
    people.distort((response, { aggregation }) =>
      aggregation === 'minute'
        ? { ...response, rows: [...response.rows, ...response.rows] }
        : response,
    );
    return { ...people, before };
  }

  test('keep the accepted values, and recovery takes one poll', async () => {
    const { counted, minutes, distort, record, truth } = await afterAnHour([0, 0]);
    await minutes(20);
    // The recent window had too few to be noticed. The next baseline rejects the rest.
    expect(counted.totals()).toEqual([2849, 2700]);
    expect(counted.notes).toContain('aggregations_inconsistent');
    record(counted.nowMs - MINUTE_MS, [3, 1]);
    distort((response) => response);
    await minutes(1);
    expect(counted.totals()).toEqual(truth());
    expect(counted.excess()).toEqual([0, 0]);
    expect(counted.today()).toEqual([10, 2]);
  });

  test('are noticed between two baselines if 20 people came or more', async () => {
    const { counted, minutes, before } = await afterAnHour([20, 20]);
    await minutes(1);
    expect(counted.notes).toContain('aggregations_inconsistent');
    expect(counted.totals()).toEqual(before);
  });
});

describe('the time of the scrape', () => {
  test('decides which day it is', async () => {
    const { counted, minutes, truth } = countedPeople();
    await counted.poll();
    counted.nowMs = Date.UTC(2026, 10, 19, 3) - 1;
    expect(counted.today()).toEqual([7, 1]);
    counted.nowMs += 1;
    expect(counted.today()).toEqual([undefined, undefined]);
    expect(counted.totals()).toEqual(truth());
    await counted.poll();
    expect(counted.today()).toEqual([0, 0]);
    expect(counted.figures().streams.people?.lastSeenMs).toBe(LAST_SEEN_MS);
    counted.nowMs = Date.UTC(2026, 10, 20, 2, 55);
    await minutes(10);
    expect(counted.today()).toEqual([0, 0]);
    expect(counted.figures().streams.people?.lastSeenMs).toBeUndefined();
  });

  test('shows who was last seen on the day before, also after a restart', async () => {
    const { counted } = countedPeople();
    counted.nowMs = Date.UTC(2026, 10, 19, 3, 10);
    await counted.poll();
    expect(counted.figures().streams.people?.lastSeenMs).toBe(LAST_SEEN_MS);
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

  test.each([
    ['who comes after the last successful poll', NOVEMBER.endMs - MINUTE_MS],
    ['a record that arrives afterwards', NOVEMBER.endMs + 5 * MINUTE_MS],
  ])('at the end of a month: %s is in no counter', async (_, arrivesMs) => {
    const { counted, record, minutes } = countedPeople();
    counted.nowMs = NOVEMBER.endMs - 2 * MINUTE_MS;
    await counted.poll();
    record(NOVEMBER.endMs - MINUTE_MS, [3, 0], { arrivesMs });
    counted.nowMs = NOVEMBER.endMs;
    // Three polls confirm an empty period.
    await minutes(2);
    expect(counted.totals()).toEqual([undefined, undefined]);
    await minutes(68);
    expect(counted.totals()).toEqual([0, 0]);
  });
});
