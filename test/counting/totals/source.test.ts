/** Which aggregation the totals are read by, and what it is compared with (rule 4). */
import { describe, expect, test } from 'vitest';
import { NOVEMBER } from '../../support/owner.ts';
import { DAY_LAGS, forcedAbove } from '../../support/simulated-people.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, polledPeople, START_MS, StreamFixture } from '../fixture.ts';

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

  test('is compared for today only in the first day of a period, and after it was verified', async () => {
    const people = new StreamFixture({ records: [], startMs: NOVEMBER.startMs + HOUR_MS });
    await people.poll();
    // Five, and an empty day once more.
    expect(people.requests).toHaveLength(6);
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
    expect(people.notes).toContain('totals_by_quarter');
    await people.polls(1);
    expect(people.notes).toEqual([]);
  });
});

test('the first total is read by minute, once, if all other aggregations lag', async () => {
  const people = new StreamFixture({ conventions: { ...DAY_LAGS, quarterFreshness: 'nightly' } });
  await people.poll();
  expect(people.totals()).toEqual([47, 39]);
  expect(people.notes).toContain('totals_by_minute');
  expect(people.requests).toHaveLength(24);
});

test('minutes that are returned twice keep the accepted values, and recovery takes one poll', async () => {
  const people = new StreamFixture();
  for (let days = 1; days < 15; days++) {
    people.record(START_MS - days * DAY_MS, [200, 190]);
  }
  await people.poll();
  await people.polls(57);
  people.change((response, { aggregation }) =>
    aggregation === 'minute'
      ? { ...response, rows: [...response.rows, ...response.rows] }
      : response,
  );
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
