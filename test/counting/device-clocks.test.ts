import { afterEach, describe, expect, test } from 'vitest';
import type { SmallConventions } from '../support/small-service.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, Rig } from './clock-fixture.ts';

let rig: Rig;
afterEach(() => rig.stop());

/** 11:00 in Copenhagen. */
const START_MS = Date.UTC(2026, 10, 18, 10);

function rigOf(conventions: Partial<SmallConventions> = {}, startMs = START_MS): Rig {
  rig = new Rig({ startMs, conventions });
  rig.before(3 * HOUR_MS, [9, 2]);
  rig.before(7 * MINUTE_MS, [2, 1]);
  rig.traffic = () => [1, 1];
  return rig;
}

/** A count of a device whose clock is ahead: dated later than it arrives. */
function recordAhead(aheadMs: number, counts: readonly number[]): void {
  const arrivalMs = rig.serviceMs + 1000;
  rig.service.records.push({ eventMs: arrivalMs + aheadMs, arrivalMs, counts });
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
      rigOf(conventions);
      await rig.minutes(5);
      recordAhead(aheadMs, [30, 0]);
      await rig.minutes(1);
      expect(rig.totals()).toEqual(rig.truth().totals);
      expect(rig.today()).toEqual([11 + 6 + 30, 3 + 6]);
      await rig.minutes(80);
      expect(rig.violations).toEqual([]);
      expect(rig.totals()).toEqual(rig.truth().totals);
      await rig.stop();
    }
  });

  test.each(AHEAD.slice(1))(
    'by %i ms is not inside, nor last seen, before its minute',
    async (aheadMs) => {
      for (const conventions of CONVENTIONS) {
        rigOf(conventions);
        await rig.minutes(5);
        recordAhead(aheadMs, [30, 0]);
        for (let i = 0; i < 15; i++) {
          await rig.minutes(1);
          expect(rig.figures().occupancy).toBe(8);
          const lastSeenMs = rig.figures().streams.people?.lastSeenMs ?? Infinity;
          expect(rig.clock.nowMs() - lastSeenMs).toBeLessThan(2 * MINUTE_MS);
          expect(lastSeenMs).toBeLessThanOrEqual(rig.clock.nowMs());
        }
        await rig.stop();
      }
    },
  );

  test('by minutes is inside once its minute has come', async () => {
    rigOf();
    await rig.minutes(5);
    recordAhead(20 * MINUTE_MS, [30, 0]);
    await rig.minutes(19);
    expect(rig.figures().occupancy).toBe(8);
    await rig.minutes(3);
    expect(rig.figures().occupancy).toBe(38);
  });

  test('as all devices are: what cannot be dated is absent, and no counter is wrong', async () => {
    for (const aheadMs of AHEAD.slice(2)) {
      rig = new Rig({ startMs: START_MS });
      await rig.minutes(2);
      for (let i = 0; i < 20; i++) {
        recordAhead(aheadMs, [3, 1]);
        await rig.minutes(1);
        expect(rig.figures().occupancy ?? 0).toBe(0);
        expect(rig.figures().streams.people?.lastSeenMs).toBeUndefined();
      }
      expect(rig.violations).toEqual([]);
      expect(rig.totals()).toEqual([60, 20]);
      expect(rig.today()).toEqual([60, 20]);
      await rig.stop();
    }
  });

  test('by months is in the epochs that the service puts it in, at their start too', async () => {
    rigOf({}, Date.UTC(2026, 11, 1, 2, 30));
    await rig.minutes(5);
    recordAhead(65 * DAY_MS, [30, 0]);
    // Alone in the first minute of the day it leaves the keys unknown, until the next anchor.
    await rig.minutes(100);
    expect(rig.figures().periodStartMs).toBe(Date.UTC(2026, 11, 1, 3));
    expect(rig.violations).toEqual([]);
    expect(rig.totals()).toEqual(rig.truth().totals);
    expect(rig.totals()[0]).toBe(30 + 75);
    expect(rig.figures().occupancy).toBe(0);
  });
});
