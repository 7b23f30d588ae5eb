/** Devices and the service have clocks of their own, and no value is wrong. */
import { afterEach, describe, expect, test } from 'vitest';
import type { SmallConventions } from '../support/small-service.ts';
import { busyFixture, ClockFixture, DAY_MS, HOUR_MS, MINUTE_MS } from './clock-fixture.ts';

let fixture: ClockFixture;
afterEach(() => fixture.stop());

/** 11:00 in Copenhagen. */
const START_MS = Date.UTC(2026, 10, 18, 10);

/** A count of a device whose clock is ahead: dated later than it arrives. */
function recordAhead(aheadMs: number, counts: readonly number[]): void {
  const arrivalMs = fixture.serviceMs + 1000;
  fixture.service.records.push({ eventMs: arrivalMs + aheadMs, arrivalMs, counts });
}

describe('a device whose clock is ahead', () => {
  const AHEAD = [2 * MINUTE_MS, 20 * MINUTE_MS, 3 * HOUR_MS, 65 * DAY_MS, 4000 * DAY_MS];
  const CONVENTIONS: readonly Partial<SmallConventions>[] = [
    {},
    { fromMeans: 'arrival' },
    { key: 'utc', fromInclusive: false },
  ];

  test.each(AHEAD)('by %i ms counts at once, and is inside from its minute on', async (aheadMs) => {
    for (const conventions of CONVENTIONS) {
      fixture = new ClockFixture({ startMs: START_MS, conventions });
      fixture.before(3 * HOUR_MS, [9, 2]);
      fixture.before(7 * MINUTE_MS, [2, 1]);
      fixture.traffic = () => [1, 1];
      await fixture.minutes(5);
      recordAhead(aheadMs, [30, 0]);
      await fixture.minutes(1);
      expect(fixture.totals()).toEqual(fixture.truth().totals);
      expect(fixture.today()).toEqual([11 + 6 + 30, 3 + 6]);
      expect(fixture.metrics().occupancy).toBe(8);
      const lastSeenMs = fixture.metrics().streams.people?.lastSeenMs ?? Infinity;
      expect(lastSeenMs).toBeLessThanOrEqual(fixture.clock.nowMs());
      await fixture.minutes(80);
      expect(fixture.metrics().occupancy).toBe(aheadMs < HOUR_MS ? 38 : 8);
      expect(fixture.violations).toEqual([]);
      await fixture.stop();
    }
  });

  test('as all devices are: what cannot be dated is absent, and no counter is wrong', async () => {
    fixture = new ClockFixture({ startMs: START_MS });
    await fixture.minutes(2);
    for (let i = 0; i < 20; i++) {
      recordAhead(3 * HOUR_MS, [3, 1]);
      await fixture.minutes(1);
      expect(fixture.metrics().occupancy ?? 0).toBe(0);
      expect(fixture.metrics().streams.people?.lastSeenMs).toBeUndefined();
    }
    expect(fixture.violations).toEqual([]);
    expect(fixture.totals()).toEqual([60, 20]);
    expect(fixture.today()).toEqual([60, 20]);
  });
});

describe('with our clock ahead of the service by', () => {
  const OFFSETS = [10, -16, 60, -60, 185, -185].map((min) => min * MINUTE_MS);
  /** Before noon, and so that the start of a day, of a counting period lies in between for either. */
  const STARTS = [
    Date.UTC(2026, 10, 18, 9),
    Date.UTC(2026, 10, 18, 1, 30),
    Date.UTC(2026, 11, 1, 1, 30),
  ];

  test.each(OFFSETS)('%i ms, every counter is exact at every poll', async (oursAheadMs) => {
    for (const startMs of STARTS) {
      fixture = busyFixture({ startMs, oursAheadMs });
      await fixture.minutes(130);
      expect(fixture.violations).toEqual([]);
      expect(fixture.totals()).toEqual(fixture.truth().totals);
      expect(fixture.today()).toEqual(fixture.truth().today);
      await fixture.stop();
    }
  });

  test.each(OFFSETS)('%i ms, the people of the last minutes are inside', async (oursAheadMs) => {
    for (const key of ['iso_z', 'local', 'time_local'] as const) {
      fixture = busyFixture({ startMs: START_MS, oursAheadMs, conventions: { key } });
      for (let i = 0; i < 70; i++) {
        await fixture.minutes(1);
        const [entered = NaN, exited = NaN] = fixture.truth().today;
        expect(fixture.metrics().occupancy).toBe(entered - exited);
      }
      await fixture.stop();
    }
  });

  test('an hour, a poll costs no more than otherwise', async () => {
    fixture = busyFixture({ startMs: START_MS, oursAheadMs: HOUR_MS });
    await fixture.minutes(5);
    const before = fixture.requests;
    await fixture.minutes(30);
    expect(fixture.requests - before).toBe(30);
  });

  test('an hour that it does not tell, no counter is above the service, and each is exact once an hour', async () => {
    fixture = busyFixture({ startMs: START_MS, oursAheadMs: HOUR_MS, tellsTime: false });
    await fixture.minutes(10);
    let exact = 0;
    for (let i = 0; i < 130; i++) {
      await fixture.minutes(1);
      const [entered = NaN] = fixture.totals();
      const [truth = NaN] = fixture.truth().totals;
      expect(entered).toBeLessThanOrEqual(truth);
      exact += entered === truth ? 1 : 0;
    }
    expect(exact).toBeGreaterThanOrEqual(2);
  });
});
