/** One stream, poll by poll: totals, baselines, keys and the time of the scrape. */
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../../src/base/errors.ts';
import type { Conventions } from '../../../src/simulator/conventions.ts';
import { NOVEMBER } from '../../support/owner.ts';
import { DAY_LAGS, forcedAbove } from '../../support/simulated-people.ts';
import { HOUR_MS, MINUTE_MS, polledPeople, START_MS, StreamFixture } from '../fixture.ts';

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
    expect(people.metrics().streams.people?.lastSeenMs).toBe(START_MS);
    people.record(START_MS - 30 * HOUR_MS, [9, 9], { arrivesMs: people.nowMs + 1000 });
    await people.polls(58);
    expect(people.totals()).toEqual([54, 40]);
    await people.polls(1);
    expect(people.totals()).toEqual([63, 49]);
  });

  test('does not request a total again that was lowered before', async () => {
    const people = new StreamFixture();
    people.record(START_MS - 5 * MINUTE_MS, [3, 0], { goneMs: START_MS + 1 });
    await people.poll();
    await people.polls(1);
    people.intervalMs = HOUR_MS;
    await people.polls(3);
    expect(people.excess()).toEqual([3, 0]);
    // Five, and the last minutes once more: they are empty, and the day is not.
    expect(people.requests).toHaveLength(6);
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

  test.each<Partial<Conventions>>([
    { ...DAY_LAGS, quarterFreshness: 'nightly' },
    forcedAbove(20),
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
});

test('minute keys that cannot be parsed make occupancy and last seen absent, and change no counter', async () => {
  const people = new StreamFixture();
  people.change((response) => ({
    ...response,
    rows: response.rows.map((row, i) => ({ ...row, key: `bucket ${i}` })),
  }));
  await people.poll();
  expect(people.totals()).toEqual([47, 39]);
  expect(people.today()).toEqual([7, 1]);
  const { occupancy, streams } = people.metrics();
  expect([occupancy, streams.people?.lastSeenMs]).toEqual([undefined, undefined]);
  expect(people.notes).toEqual([{ kind: 'keys_unreadable', key: '"bucket 0"' }]);
  await people.polls(120);
  expect(people.notes).toEqual([]);
});

describe('the time of the scrape', () => {
  test('decides which day and month it is: who comes after the last poll of a month is in no counter', async () => {
    const people = new StreamFixture();
    people.nowMs = NOVEMBER.endMs - 2 * MINUTE_MS;
    await people.poll();
    people.record(NOVEMBER.endMs - MINUTE_MS, [3, 0]);
    people.nowMs = NOVEMBER.endMs - 1;
    expect([people.totals(), people.today()]).toEqual([
      [47, 39],
      [0, 0],
    ]);
    people.nowMs = NOVEMBER.endMs;
    expect([...people.totals(), ...people.today()]).toEqual(Array(4).fill(undefined));
    // An empty period is confirmed after a reconcile interval.
    await people.polls(70);
    expect([people.totals(), people.today()]).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });

  test('after the end of a month is of the new one, also after a baseline that began in the old one', async () => {
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
