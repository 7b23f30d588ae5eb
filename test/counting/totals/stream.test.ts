/** One stream, poll by poll: totals, baselines, keys and the time of the scrape. */
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../../src/base/errors.ts';
import type { Conventions } from '../../../src/simulator/conventions.ts';
import { NOVEMBER } from '../../support/owner.ts';
import { DAY_LAGS, forcedAbove, MINUTE_KEYS } from '../../support/simulated-people.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, RECONCILE, START_MS } from '../fixture.ts';
import { polledPeople, StreamFixture } from '../fixture.ts';

const LAST_SEEN_MS = START_MS - 7 * MINUTE_MS;

function lastSeenMs(people: StreamFixture): number | undefined {
  return people.metrics().streams.people?.lastSeenMs;
}

describe('a stream', () => {
  test('exports totals and today after the first poll, which takes five requests', async () => {
    const people = new StreamFixture({ startMs: START_MS + 30_500 });
    expect(people.totals()).toEqual([undefined, undefined]);
    await people.poll();
    expect(people.totals()).toEqual([47, 39]);
    expect(people.today()).toEqual([7, 1]);
    expect(people.metrics().occupancy).toBe(6);
    expect(people.requests.map(({ aggregation, from }) => `${aggregation} ${from}`)).toEqual([
      'minute 2026-11-18T10:45:00+01:00',
      'day 2026-11-01T04:00:00+01:00',
      'minute 2026-11-18T04:00:00+01:00',
      'day 2026-11-18T04:00:00+01:00',
      'minute 2026-11-18T10:45:00+01:00',
    ]);
    expect(people.requests.every(({ to }) => to === undefined)).toBe(true);
  });

  test('counts new and late records of the last minutes by one request, others at the next baseline', async () => {
    const people = await polledPeople();
    people.record(START_MS + 10_000, [3, 1]);
    people.record(START_MS - 3 * MINUTE_MS, [4, 0], { arrivesMs: START_MS + 1000 });
    await people.polls(1);
    expect(people.requests).toMatchObject([{ aggregation: 'minute' }]);
    expect(lastSeenMs(people)).toBe(START_MS);
    people.record(START_MS - 30 * HOUR_MS, [9, 9], { arrivesMs: people.nowMs + 1000 });
    await people.polls(RECONCILE - 2);
    expect(people.totals()).toEqual([54, 40]);
    await people.polls(1);
    expect(people.totals()).toEqual([63, 49]);
  });

  test('keeps the counter when the service removes records, also over a restart', async () => {
    const people = new StreamFixture();
    people.record(START_MS - 5 * MINUTE_MS, [3, 0], { goneMs: START_MS + 1 });
    await people.poll();
    await people.polls(1);
    expect(people.served()).toEqual([47, 39]);
    expect(people.totals()).toEqual([50, 39]);
    expect(people.excess()).toEqual([3, 0]);
    expect(people.today()).toEqual([7, 1]);
    people.restart();
    expect(people.totals()).toEqual([undefined, undefined]);
    await people.poll();
    expect(people.totals()).toEqual([50, 39]);
    expect(people.excess()).toEqual([3, 0]);
    people.record(people.nowMs + 1, [5, 0]);
    await people.polls(1);
    expect(people.totals()).toEqual([52, 39]);
    expect(people.excess()).toEqual([0, 0]);
  });

  test.each([1, 2, 3, 4, 5])('changes nothing when a poll fails at request %i', async (failing) => {
    const people = new StreamFixture();
    people.change((response) => {
      if (people.requests.length === failing) {
        throw new ServiceError('unreachable', 'the service is away');
      }
      return response;
    });
    await people.poll();
    expect(people.totals()).toEqual([undefined, undefined]);
    people.change();
    await people.polls(1);
    expect(people.totals()).toEqual([47, 39]);
  });

  test('uses a baseline again only if nobody was counted while it was read', async () => {
    const people = new StreamFixture();
    for (let ms = 0; ms < MINUTE_MS; ms += 1000) {
      people.record(START_MS + ms, [1, 0]);
    }
    await people.poll(2000);
    expect(people.state.baseline).toBeUndefined();
    await people.polls(2);
    expect(people.totals()).toEqual(people.served());
    await people.polls(1);
    expect(people.requests).toHaveLength(1);
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
    const people = new StreamFixture({ conventions });
    people.record(START_MS - 9 * HOUR_MS, [11, 2]);
    await people.poll();
    for (let i = 0; i < 70; i++) {
      people.record(people.nowMs + 5000, [i % 3, i % 2]);
      await people.polls(1);
      expect(people.totals()).toEqual(people.served());
      expect(people.today()).toEqual(people.served(Date.UTC(2026, 10, 18, 3)));
    }
  });

  test('has an occupancy although the last minutes, without anybody, are forced into a day', async () => {
    const conventions = { ...forcedAbove(14), emptyBuckets: 'listed' } as const;
    const people = await polledPeople({ conventions, records: [[2 * HOUR_MS, [5, 0]]] });
    expect(people.metrics().occupancy).toBe(5);
  });

  test('has no occupancy while the last minutes are forced into a day, whose key is no minute', async () => {
    const people = new StreamFixture({ conventions: { dayKey: 'start' } });
    people.change((response, { from, ...question }) =>
      from.includes('T10:45')
        ? people.service.respond({ ...question, from, aggregation: 'day' }, people.nowMs)
        : response,
    );
    await people.poll();
    people.record(people.nowMs + 5000, [3, 1]);
    await people.polls(1);
    expect(people.today()).toEqual([10, 2]);
    expect(people.metrics().occupancy).toBeUndefined();
  });

  test('corrects a first total that is too low at the next baseline', async () => {
    const people = new StreamFixture();
    people.change((response, { from }) =>
      from.startsWith('2026-11-01') ? { ...response, rows: response.rows.slice(1) } : response,
    );
    await people.poll();
    people.change();
    await people.polls(30);
    expect(people.totals()).toEqual([7, 1]);
    await people.polls(RECONCILE);
    expect(people.totals()).toEqual([47, 39]);
  });

  test('leaves out of today the rows dated before, which arrived today', async () => {
    const people = new StreamFixture({ conventions: { windowTime: 'server' } });
    const dayBefore = START_MS - 20 * HOUR_MS;
    people.record(dayBefore, [9, 4], { arrivesMs: START_MS - HOUR_MS });
    await people.poll();
    expect(people.today()).toEqual([7, 1]);
    people.record(dayBefore, [5, 5], { arrivesMs: START_MS + 1 });
    await people.polls(1);
    expect(people.today()).toEqual([7, 1]);
    expect(people.totals()).toEqual(people.served());
  });

  test('keeps the accepted values until a baseline verifies a recent window that doubled', async () => {
    const people = new StreamFixture();
    people.record(START_MS - MINUTE_MS, [20, 20]);
    await people.poll();
    people.record(START_MS + MINUTE_MS / 2, [30, 30]);
    people.mayReadBaseline = false;
    await people.polls(2);
    expect([people.totals(), people.notes]).toEqual([[67, 59], ['increase_pending']]);
    people.mayReadBaseline = true;
    await people.polls(1);
    expect(people.totals()).toEqual(people.served());
  });
});

describe('minute keys', () => {
  test('are detected long after the last visitor, by requests around what they may mean', async () => {
    const people = new StreamFixture({ conventions: { minuteKey: MINUTE_KEYS['UTC without Z'] } });
    people.nowMs += 8 * HOUR_MS;
    for (const [reason, totals] of [
      ['malformed', [undefined, undefined]],
      ['rate_limited', [47, 39]],
    ] as const) {
      people.change((response, { to }) => {
        if (to !== undefined) {
          throw new ServiceError(reason, 'no response');
        }
        return response;
      });
      await people.poll();
      expect(people.totals()).toEqual(totals);
      expect(people.metrics().occupancy).toBeUndefined();
    }
    people.change();
    await people.polls(1);
    expect(people.metrics().occupancy).toBe(6);
    expect(lastSeenMs(people)).toBe(LAST_SEEN_MS);
  });

  test('of an unknown format make occupancy and last seen absent, and change no counter', async () => {
    const people = new StreamFixture();
    people.change((response) => ({
      ...response,
      rows: response.rows.map((row, i) => ({ ...row, key: `bucket ${i}` })),
    }));
    await people.poll();
    expect(people.totals()).toEqual([47, 39]);
    expect(people.today()).toEqual([7, 1]);
    expect(people.metrics().occupancy).toBeUndefined();
    expect(lastSeenMs(people)).toBeUndefined();
    expect(people.notes).toContain('key_format_unknown');
  });

  test('of the first visitor after an empty night are detected within two minutes', async () => {
    const startMs = Date.UTC(2026, 10, 18, 4);
    const conventions = { minuteKey: MINUTE_KEYS['UTC without Z'] };
    const people = new StreamFixture({ records: [[9 * DAY_MS, [1, 0]]], startMs, conventions });
    people.record(startMs + 172 * MINUTE_MS + 5, [1, 0]);
    await people.polls(175);
    expect(people.metrics().occupancy).toBe(1);
  });
});

describe('the aggregation of the totals', () => {
  test.each([
    ['a week', {}, Date.UTC(2026, 10, 15, 14)],
    ['2 days where `minute` is forced for a week', forcedAbove(4), Date.UTC(2026, 10, 17, 14)],
  ])('is compared for %s if nobody came today', async (_, forced, lateMs) => {
    const people = new StreamFixture({
      records: [],
      startMs: Date.UTC(2026, 10, 18, 4),
      conventions: { ...DAY_LAGS, ...forced },
    });
    for (let hour = 8; hour < 14; hour++) {
      people.record(Date.UTC(2026, 10, 11, hour), [5, 5]);
    }
    // After the roll-up of the night, so that `day` lacks it.
    people.record(lateMs, [10, 10], { arrivesMs: Date.UTC(2026, 10, 18, 3) });
    await people.poll();
    expect(people.totals()).toEqual([40, 40]);
  });

  test.each([
    ['the week', {}],
    ['two days', forcedAbove(2)],
  ])('is not compared for %s before the counting period', async (_, forced) => {
    const startMs = NOVEMBER.endMs + DAY_MS + HOUR_MS;
    const conventions = { ...DAY_LAGS, ...forced };
    const people = new StreamFixture({ records: [[20 * HOUR_MS, [3, 1]]], startMs, conventions });
    for (let hour = 8; hour < 14; hour++) {
      people.record(Date.UTC(2026, 10, 30, hour), [5, 5], { arrivesMs: startMs - HOUR_MS });
    }
    await people.poll();
    expect(people.totals()).toEqual([3, 1]);
    expect(people.state.totalSource.aggregation).toBe('day');
  });

  test('is compared for today only in the first day of a period, and after it was verified', async () => {
    const people = new StreamFixture({ records: [], startMs: NOVEMBER.startMs + HOUR_MS });
    await people.poll();
    // Five, an empty day once more, and the day before for the last seen.
    expect(people.requests).toHaveLength(7);
    const verified = await polledPeople();
    verified.nowMs += DAY_MS;
    await verified.poll();
    expect(verified.requests.map(({ from }) => from)).not.toContain('2026-11-12T04:00:00+01:00');
  });

  test('is not rejected because `day` lacks late records of the last three days', async () => {
    const people = new StreamFixture({ conventions: DAY_LAGS });
    people.record(START_MS - 3 * DAY_MS, [4, 2], { arrivesMs: START_MS - HOUR_MS });
    await people.poll();
    expect(people.totals()).toEqual([51, 41]);
  });

  test('is the one that the service forces for the period, and is compared with the minutes', async () => {
    const people = await polledPeople({
      conventions: {
        forced: { above: 'rows', limit: 10 },
        forcedTo: 'quarter',
        quarter: '3 months',
        emptyBuckets: 'listed',
      },
    });
    const aggregations = people.requests.slice(0, 5).map(({ aggregation }) => aggregation);
    expect(aggregations).toEqual(['minute', 'day', 'minute', 'quarter', 'minute']);
    expect(people.totals()).toEqual([47, 39]);
    expect(people.notes).toContain('totals_by_quarter');
  });
});

describe('minutes that are returned twice', () => {
  /** 200 people a day for two weeks, an hour after the first poll; the last minutes had `recent`. */
  async function afterAnHour(recent: readonly number[]) {
    const people = new StreamFixture();
    for (let days = 1; days < 15; days++) {
      people.record(START_MS - days * DAY_MS, [200, 190]);
    }
    people.record(START_MS + 55 * MINUTE_MS, recent);
    await people.poll();
    await people.polls(57);
    people.change((response, { aggregation }) =>
      aggregation === 'minute'
        ? { ...response, rows: [...response.rows, ...response.rows] }
        : response,
    );
    return people;
  }

  test('keep the accepted values, and recovery takes one poll', async () => {
    const people = await afterAnHour([0, 0]);
    await people.polls(20);
    // The recent window had too few to be noticed. The next baseline rejects the rest.
    expect(people.totals()).toEqual([2849, 2700]);
    expect(people.notes).toEqual(['aggregations_inconsistent']);
    people.record(people.nowMs - MINUTE_MS, [3, 1]);
    people.change();
    await people.polls(1);
    expect(people.totals()).toEqual(people.served());
    expect(people.excess()).toEqual([0, 0]);
    expect(people.today()).toEqual([10, 2]);
  });

  test('are noticed between two baselines if 20 people came or more', async () => {
    const people = await afterAnHour([20, 20]);
    const before = people.totals();
    await people.polls(1);
    expect([people.totals(), people.notes]).toEqual([before, ['aggregations_inconsistent']]);
  });
});

describe('the time of the scrape', () => {
  test('decides which day it is', async () => {
    const people = await polledPeople();
    people.nowMs = Date.UTC(2026, 10, 19, 3) - 1;
    expect(people.today()).toEqual([7, 1]);
    people.nowMs += 1;
    expect(people.today()).toEqual([undefined, undefined]);
    expect(people.totals()).toEqual([47, 39]);
    await people.poll();
    expect(people.today()).toEqual([0, 0]);
    expect(lastSeenMs(people)).toBe(LAST_SEEN_MS);
    people.nowMs = Date.UTC(2026, 10, 20, 2, 55);
    await people.polls(10);
    expect(people.today()).toEqual([0, 0]);
    expect(lastSeenMs(people)).toBeUndefined();
  });

  test('starts a day at once, although its window had people of the day before', async () => {
    const people = await polledPeople({ startMs: Date.UTC(2026, 10, 18, 2, 59) });
    await people.polls(1);
    expect(people.today()).toEqual([0, 0]);
    expect(people.state.totalSource.aggregation).toBe('day');
  });

  test('shows who was last seen on the day before, also after a restart', async () => {
    const people = new StreamFixture();
    people.nowMs = Date.UTC(2026, 10, 19, 3, 10);
    await people.poll();
    expect(lastSeenMs(people)).toBe(LAST_SEEN_MS);
    people.nowMs += DAY_MS;
    expect(lastSeenMs(people)).toBeUndefined();
  });

  test('shows who was last seen on the day before, after the last poll of that day', async () => {
    const people = await polledPeople();
    people.record(START_MS + 2 * HOUR_MS, [1, 0]);
    people.nowMs = Date.UTC(2026, 10, 19, 3, 10);
    await people.poll();
    expect(lastSeenMs(people)).toBe(START_MS + 2 * HOUR_MS);
  });

  test('shows nobody as last seen while the day before is forced into quarter-hours', async () => {
    const people = new StreamFixture();
    people.nowMs = Date.UTC(2026, 10, 19, 3, 10);
    people.change((response, question) =>
      question.aggregation === 'minute' && question.from.startsWith('2026-11-18T04:00')
        ? people.service.respond({ ...question, aggregation: 'quarter' }, people.nowMs)
        : response,
    );
    await people.poll();
    expect(people.totals()).toEqual([47, 39]);
    expect(lastSeenMs(people)).toBeUndefined();
  });

  test('hides the occupancy 15 minutes after the last successful poll', async () => {
    const people = await polledPeople();
    people.nowMs += 15 * MINUTE_MS;
    expect(people.metrics()).toMatchObject({ occupancy: 6, validUntilMs: people.nowMs + 1 });
    // Also after our clock was set back.
    for (const stepMs of [1, -30 * MINUTE_MS - 2]) {
      people.nowMs += stepMs;
      expect(people.metrics().occupancy).toBeUndefined();
      expect(people.totals()).toEqual([47, 39]);
    }
  });

  test.each([
    ['who comes after the last successful poll', NOVEMBER.endMs - MINUTE_MS],
    ['a record that arrives afterwards', NOVEMBER.endMs + 5 * MINUTE_MS],
  ])('at the end of a month: %s is in no counter', async (_, arrivesMs) => {
    const people = new StreamFixture();
    people.nowMs = NOVEMBER.endMs - 2 * MINUTE_MS;
    await people.poll();
    people.record(NOVEMBER.endMs - MINUTE_MS, [3, 0], { arrivesMs });
    people.nowMs = NOVEMBER.endMs;
    // Three polls confirm an empty period.
    await people.polls(2);
    expect(people.totals()).toEqual([undefined, undefined]);
    await people.polls(68);
    expect(people.totals()).toEqual([0, 0]);
  });

  test('at the end of a month, after a baseline that began in it, is of the new one', async () => {
    const people = new StreamFixture({ startMs: NOVEMBER.endMs - 2 * MINUTE_MS });
    people.record(NOVEMBER.endMs + MINUTE_MS, [3, 0]);
    await people.poll();
    people.nowMs = NOVEMBER.endMs - 1000;
    people.change((response) =>
      people.requests.length === 1 ? { ...response, aggregation: 'quarter' } : response,
    );
    await people.poll(2000);
    people.change();
    people.nowMs += MINUTE_MS;
    await people.poll();
    expect(people.totals()).toEqual([3, 0]);
  });
});
