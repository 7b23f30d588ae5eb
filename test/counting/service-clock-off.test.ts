import { afterEach, describe, expect, test } from 'vitest';
import type { SmallConventions } from '../support/small-service.ts';
import { HOUR_MS, MINUTE_MS, busyRig } from './clock-fixture.ts';
import type { Rig, RigOptions } from './clock-fixture.ts';

let rig: Rig;
afterEach(() => rig.stop());

function rigOf(options: RigOptions): Rig {
  rig = busyRig(options);
  return rig;
}

const OFFSETS = [10, -10, 16, -16, 60, -60, 185, -185].map((min) => min * MINUTE_MS);
/** Before noon, and so that the start of a day, of an epoch lies in between for either clock. */
const STARTS = [
  Date.UTC(2026, 10, 18, 9),
  Date.UTC(2026, 10, 18, 1, 30),
  Date.UTC(2026, 11, 1, 1, 30),
];
const KEYS = ['iso_z', 'local', 'utc', 'seconds', 'time_local'] as const;
const CONVENTIONS: readonly Partial<SmallConventions>[] = [
  {},
  { fromMeans: 'arrival', fromInclusive: false },
  { resolutionMs: 1000, fromInclusive: false },
];

describe('with our clock ahead of the service by', () => {
  test.each(OFFSETS)('%i ms, every counter is exact at every poll', async (oursAheadMs) => {
    for (const [i, startMs] of STARTS.entries()) {
      rigOf({ startMs, oursAheadMs, conventions: CONVENTIONS[i] ?? {} });
      await rig.minutes(130);
      expect(rig.violations).toEqual([]);
      expect(rig.totals()).toEqual(rig.truth().totals);
      expect(rig.today()).toEqual(rig.truth().today);
      await rig.stop();
    }
  });

  test.each(OFFSETS)('%i ms, the people of the last minutes are inside', async (oursAheadMs) => {
    for (const key of KEYS) {
      rigOf({ startMs: Date.UTC(2026, 10, 18, 9), oursAheadMs, conventions: { key } });
      let absent = 0;
      for (let i = 0; i < 90; i++) {
        await rig.minutes(1);
        const [entered = NaN, exited = NaN] = rig.truth().today;
        const { occupancy } = rig.figures();
        expect(occupancy ?? entered - exited).toBe(entered - exited);
        absent += occupancy === undefined ? 1 : 0;
      }
      expect(`${key} absent ${absent}`).toBe(`${key} absent 0`);
      await rig.stop();
    }
  });

  test.each(OFFSETS)(
    '%i ms, and the devices right with us, nothing is wrong',
    async (oursAheadMs) => {
      for (const key of KEYS.slice(0, -1)) {
        const conventions = { key, fromMeans: 'arrival' } as const;
        rigOf({ startMs: Date.UTC(2026, 10, 18, 9), oursAheadMs, conventions });
        rig.devicesAheadMs = oursAheadMs;
        for (let i = 0; i < 90; i++) {
          await rig.minutes(1);
          const [entered = NaN, exited = NaN] = rig.truth().today;
          const { occupancy } = rig.figures();
          // Behind us: windows of the service's time hold rows of long before, and keys are unknown.
          const known = oursAheadMs > 0 || occupancy !== undefined;
          expect(known ? occupancy : entered - exited).toBe(entered - exited);
        }
        expect(rig.totals()).toEqual(rig.truth().totals);
        await rig.stop();
      }
    },
  );

  test('an hour, a poll costs no more than otherwise, but while the day has not begun there', async () => {
    rigOf({ startMs: Date.UTC(2026, 10, 18, 9), oursAheadMs: HOUR_MS });
    await rig.minutes(5);
    const before = rig.requests;
    await rig.minutes(30);
    expect(rig.requests - before).toBe(30);
  });

  test('an hour that it does not tell, no counter is above the service, and each is exact once an hour', async () => {
    rigOf({ startMs: Date.UTC(2026, 10, 18, 9), oursAheadMs: HOUR_MS, tellsTime: false });
    await rig.minutes(10);
    let exact = 0;
    for (let i = 0; i < 130; i++) {
      rig.violations.length = 0;
      await rig.minutes(1);
      const [entered = NaN] = rig.totals();
      const [truth = NaN] = rig.truth().totals;
      expect(entered).toBeLessThanOrEqual(truth);
      exact += entered === truth ? 1 : 0;
    }
    expect(exact).toBeGreaterThanOrEqual(2);
  });
});
