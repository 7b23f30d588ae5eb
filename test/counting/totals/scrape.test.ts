/** Which values of a stream a scrape shows: those of the period and day of its time. */
import { describe, expect, test } from 'vitest';
import { NOVEMBER } from '../../support/owner.ts';
import { MINUTE_MS, polledPeople, StreamFixture } from '../fixture.ts';

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
    people.nowMs = Date.UTC(2026, 10, 20, 2, 55);
    await people.polls(10);
    expect(people.today()).toEqual([0, 0]);
  });

  test('starts a day at once, although its window had people of the day before', async () => {
    const people = await polledPeople({ startMs: Date.UTC(2026, 10, 18, 2, 59) });
    await people.polls(1);
    expect(people.today()).toEqual([0, 0]);
    expect(people.state.totalSource.aggregation).toBe('day');
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
