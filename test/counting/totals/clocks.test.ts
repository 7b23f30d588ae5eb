/** Clocks that are wrong: ours, and those of devices. No value may be above the service's. */
import { describe, expect, test } from 'vitest';
import type { Conventions } from '../../../src/simulator/conventions.ts';
import { MINUTE_KEYS } from '../../support/simulated-people.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, polledPeople, StreamFixture } from '../fixture.ts';

/** Returns an instant by local time of Copenhagen in winter; day 31 of November is 1 December. */
function local(day: number, hour: number, minute = 0): number {
  return Date.UTC(2026, 10, day, hour - 1, minute);
}

/** Returns totals and today's values, as exported and as the service has them for the month and day by our clock. */
function valuesOf(people: StreamFixture) {
  const { startMs } = people.customer.calendar.dayAt(people.clockMs);
  const { periodStartMs } = people.metrics();
  return {
    exported: [...people.totals(), ...people.today()],
    served: [...people.served(periodStartMs), ...people.served(startMs)],
  };
}

/** Polls each minute, in which somebody came. */
async function minutes(people: StreamFixture, count: number, check: () => void): Promise<void> {
  for (let i = 0; i < count; i++) {
    people.record(people.nowMs + MINUTE_MS / 2, [1 + (i % 3), 1]);
    await people.polls(1);
    check();
  }
}

describe('our clock', () => {
  /** Steps in minutes with a sign, and minutes that it runs. */
  test.each([
    ['forward over the start of the period and back', local(31, 3, 40), '5 +60 5 -60 100'],
    ['back over the start of the period and forward', local(31, 3, 50), '30 -60 10 +60 100'],
  ])('goes %s: no value is too high, and all are back', async (_, startMs, moves) => {
    const people = await polledPeople({ startMs });
    let shownPeriodMs = 0;
    function check(): void {
      const { exported, served } = valuesOf(people);
      exported.forEach((value = 0, i) => {
        expect(value).toBeLessThanOrEqual(served[i] ?? NaN);
      });
      // No period is shown after a later one.
      const { periodStartMs } = people.metrics();
      const shownMs = exported[0] === undefined ? shownPeriodMs : periodStartMs;
      expect(shownMs).toBeGreaterThanOrEqual(shownPeriodMs);
      shownPeriodMs = shownMs;
    }
    for (const move of moves.split(' ')) {
      if (/^[+-]/.test(move)) {
        people.aheadMs += Number(move) * MINUTE_MS;
        check();
      } else {
        await minutes(people, Number(move), check);
      }
    }
    const { exported, served } = valuesOf(people);
    expect(exported).toEqual(served);
    expect(people.metrics().occupancy).toBeDefined();
  });

  test('is wrong by months at the start: nothing is shown until it is right', async () => {
    const people = new StreamFixture({ startMs: local(18, 12) });
    people.record(local(18, 11), [3, 0], { goneMs: local(18, 12, 2) });
    await people.poll();
    people.aheadMs = 65 * DAY_MS;
    people.restart();
    await people.polls(1);
    expect(people.totals()).toEqual([undefined, undefined]);
    expect(people.metrics().streams.people?.lastError?.message).toBe(
      "the clock here says 2027-01-22T11:01:00Z, the service's says 2026-11-18T11:01:00Z: they differ by more than 6 h",
    );
    people.restart();
    people.aheadMs = 0;
    await people.polls(1);
    // The mark from before is still there, though the service has removed its counts.
    expect(people.totals()).toEqual([50, 39]);
    expect(people.excess()).toEqual([3, 0]);
  });

  test.each([1, -5])(
    'is ahead by %i hours: no counter is too high, each is exact once an hour, and a poll costs no more',
    async (hours) => {
      const people = new StreamFixture();
      people.aheadMs = hours * HOUR_MS;
      await people.poll();
      let exact = 0;
      let single = 0;
      await minutes(people, 140, () => {
        const [entered = NaN] = people.totals();
        const [total = NaN] = people.served();
        expect(entered).toBeLessThanOrEqual(total);
        exact += entered === total ? 1 : 0;
        single += people.requests.length === 1 ? 1 : 0;
      });
      expect(exact).toBeGreaterThanOrEqual(2);
      expect(single).toBeGreaterThanOrEqual(130);
    },
  );
});

test.each<[number, Partial<Conventions>]>([
  [2 * MINUTE_MS, { fromEdge: 'inclusive' }],
  [3 * HOUR_MS, { minuteKey: MINUTE_KEYS['UTC without Z'] }],
])('who comes by a device that is %i ms ahead counts at once', async (aheadMs, conventions) => {
  const people = await polledPeople({ conventions });
  const { occupancy = NaN } = people.metrics();
  const arrivesMs = people.nowMs + 1000;
  people.record(arrivesMs + aheadMs, [30, 0], { arrivesMs });
  await people.polls(1);
  const { exported, served } = valuesOf(people);
  expect(exported).toEqual(served);
  const { occupancy: before, streams } = people.metrics();
  expect(before).toBe(occupancy);
  expect(streams.people?.lastSeenMs).toBeLessThanOrEqual(people.nowMs);
  await people.polls(80);
  // Inside from its minute on.
  expect(people.metrics().occupancy).toBe(occupancy + (aheadMs < HOUR_MS ? 30 : 0));
});
