import { afterEach, describe, expect, test } from 'vitest';
import type { SmallConventions } from '../support/small-service.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, ClockFixture } from './clock-fixture.ts';

let fixture: ClockFixture;
afterEach(() => fixture.stop());

/** 11:00 in Copenhagen. */
const START_MS = Date.UTC(2026, 10, 18, 10);

function start(conventions: Partial<SmallConventions> = {}, startMs = START_MS): ClockFixture {
  fixture = new ClockFixture({ startMs, conventions });
  fixture.before(3 * HOUR_MS, [9, 2]);
  fixture.before(7 * MINUTE_MS, [2, 1]);
  fixture.traffic = () => [1, 1];
  return fixture;
}

/** A count of a device whose clock is ahead: dated later than it arrives. */
function recordAhead(aheadMs: number, counts: readonly number[]): void {
  const arrivalMs = fixture.serviceMs + 1000;
  fixture.service.records.push({ eventMs: arrivalMs + aheadMs, arrivalMs, counts });
}

const AHEAD = [2 * MINUTE_MS, 20 * MINUTE_MS, 3 * HOUR_MS, 2 * DAY_MS, 65 * DAY_MS, 4000 * DAY_MS];
const CONVENTIONS: readonly Partial<SmallConventions>[] = [
  {},
  { fromMeans: 'arrival' },
  { key: 'local' },
  { key: 'seconds' },
  { key: 'utc', fromInclusive: false },
];

describe('a device whose clock is ahead', () => {
  test.each(AHEAD)('by %i ms is in the counters and in today at once', async (aheadMs) => {
    for (const conventions of CONVENTIONS) {
      start(conventions);
      await fixture.minutes(5);
      recordAhead(aheadMs, [30, 0]);
      await fixture.minutes(1);
      expect(fixture.totals()).toEqual(fixture.truth().totals);
      expect(fixture.today()).toEqual([11 + 6 + 30, 3 + 6]);
      await fixture.minutes(80);
      expect(fixture.violations).toEqual([]);
      expect(fixture.totals()).toEqual(fixture.truth().totals);
      await fixture.stop();
    }
  });

  test.each(AHEAD.slice(1))(
    'by %i ms is not inside, nor last seen, before its minute',
    async (aheadMs) => {
      for (const conventions of CONVENTIONS) {
        start(conventions);
        await fixture.minutes(5);
        recordAhead(aheadMs, [30, 0]);
        for (let i = 0; i < 15; i++) {
          await fixture.minutes(1);
          expect(fixture.metrics().occupancy).toBe(8);
          const lastSeenMs = fixture.metrics().streams.people?.lastSeenMs ?? Infinity;
          expect(fixture.clock.nowMs() - lastSeenMs).toBeLessThan(2 * MINUTE_MS);
          expect(lastSeenMs).toBeLessThanOrEqual(fixture.clock.nowMs());
        }
        await fixture.stop();
      }
    },
  );

  test('by minutes is inside once its minute has come', async () => {
    start();
    await fixture.minutes(5);
    recordAhead(20 * MINUTE_MS, [30, 0]);
    await fixture.minutes(19);
    expect(fixture.metrics().occupancy).toBe(8);
    await fixture.minutes(3);
    expect(fixture.metrics().occupancy).toBe(38);
  });

  test('as all devices are: what cannot be dated is absent, and no counter is wrong', async () => {
    for (const aheadMs of AHEAD.slice(2)) {
      fixture = new ClockFixture({ startMs: START_MS });
      await fixture.minutes(2);
      for (let i = 0; i < 20; i++) {
        recordAhead(aheadMs, [3, 1]);
        await fixture.minutes(1);
        expect(fixture.metrics().occupancy ?? 0).toBe(0);
        expect(fixture.metrics().streams.people?.lastSeenMs).toBeUndefined();
      }
      expect(fixture.violations).toEqual([]);
      expect(fixture.totals()).toEqual([60, 20]);
      expect(fixture.today()).toEqual([60, 20]);
      await fixture.stop();
    }
  });

  test('by months is in the counting periods that the service puts it in, at their start too', async () => {
    start({}, Date.UTC(2026, 11, 1, 2, 30));
    await fixture.minutes(5);
    recordAhead(65 * DAY_MS, [30, 0]);
    // Alone in the first minute of the day it leaves the keys unknown, until the next baseline.
    await fixture.minutes(100);
    expect(fixture.metrics().periodStartMs).toBe(Date.UTC(2026, 11, 1, 3));
    expect(fixture.violations).toEqual([]);
    expect(fixture.totals()).toEqual(fixture.truth().totals);
    expect(fixture.totals()[0]).toBe(30 + 75);
    expect(fixture.metrics().occupancy).toBe(0);
  });
});
