/** Which aggregation the totals are read by, and what it is compared with (rule 4). */
import { describe, expect, test } from 'vitest';
import { NOVEMBER } from '../../support/owner.ts';
import { DAY_LAGS, forcedAbove } from '../../support/simulated-people.ts';
import { DAY_MS, HOUR_MS, polledPeople, START_MS, StreamFixture } from '../fixture.ts';

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

  test.each([
    ['quarter', DAY_LAGS],
    ['minute', { ...DAY_LAGS, quarterFreshness: 'nightly' }],
  ] as const)(
    'is %s where others lack late records of the last days',
    async (finer, conventions) => {
      const people = new StreamFixture({ conventions });
      people.record(START_MS - 3 * DAY_MS, [4, 2], { arrivesMs: START_MS - HOUR_MS });
      await people.poll();
      expect(people.totals()).toEqual([51, 41]);
      expect(people.notes).toContain(`totals_by_${finer}`);
      await people.polls(1);
      expect(people.notes).toEqual([]);
    },
  );
});

test('minutes that are returned twice keep the accepted values, and recovery takes one poll', async () => {
  const people = await polledPeople();
  people.change((response, { aggregation }) =>
    aggregation === 'minute'
      ? { ...response, rows: [...response.rows, ...response.rows] }
      : response,
  );
  people.nowMs += HOUR_MS;
  await people.poll();
  expect(people.totals()).toEqual([47, 39]);
  expect(people.notes).toEqual(['aggregations_inconsistent']);
  people.record(people.nowMs, [3, 1]);
  people.change();
  await people.polls(1);
  expect(people.totals()).toEqual(people.served());
  expect([people.excess(), people.today()]).toEqual([
    [0, 0],
    [10, 2],
  ]);
});
