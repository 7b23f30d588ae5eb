import { afterEach, describe, expect, test } from 'vitest';
import type { SmallConventions } from '../support/small-service.ts';
import { HOUR_MS, MINUTE_MS, busyFixture } from './clock-fixture.ts';
import type { ClockFixture, ClockFixtureOptions } from './clock-fixture.ts';

let fixture: ClockFixture;
afterEach(() => fixture.stop());

function start(options: ClockFixtureOptions): ClockFixture {
  fixture = busyFixture(options);
  return fixture;
}

const OFFSETS = [10, -10, 16, -16, 60, -60, 185, -185].map((min) => min * MINUTE_MS);
/** Before noon, and so that the start of a day, of a counting period lies in between for either clock. */
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
      start({ startMs, oursAheadMs, conventions: CONVENTIONS[i] ?? {} });
      await fixture.minutes(130);
      expect(fixture.violations).toEqual([]);
      expect(fixture.totals()).toEqual(fixture.truth().totals);
      expect(fixture.today()).toEqual(fixture.truth().today);
      await fixture.stop();
    }
  });

  test.each(OFFSETS)('%i ms, the people of the last minutes are inside', async (oursAheadMs) => {
    for (const key of KEYS) {
      start({ startMs: Date.UTC(2026, 10, 18, 9), oursAheadMs, conventions: { key } });
      let absent = 0;
      for (let i = 0; i < 90; i++) {
        await fixture.minutes(1);
        const [entered = NaN, exited = NaN] = fixture.truth().today;
        const { occupancy } = fixture.metrics();
        expect(occupancy ?? entered - exited).toBe(entered - exited);
        absent += occupancy === undefined ? 1 : 0;
      }
      expect(`${key} absent ${absent}`).toBe(`${key} absent 0`);
      await fixture.stop();
    }
  });

  test.each(OFFSETS)(
    '%i ms, and the devices right with us, nothing is wrong',
    async (oursAheadMs) => {
      for (const key of KEYS.slice(0, -1)) {
        const conventions = { key, fromMeans: 'arrival' } as const;
        start({ startMs: Date.UTC(2026, 10, 18, 9), oursAheadMs, conventions });
        fixture.devicesAheadMs = oursAheadMs;
        for (let i = 0; i < 90; i++) {
          await fixture.minutes(1);
          const [entered = NaN, exited = NaN] = fixture.truth().today;
          const { occupancy } = fixture.metrics();
          // Behind us: windows of the service's time hold rows of long before, and keys are unknown.
          const known = oursAheadMs > 0 || occupancy !== undefined;
          expect(known ? occupancy : entered - exited).toBe(entered - exited);
        }
        expect(fixture.totals()).toEqual(fixture.truth().totals);
        await fixture.stop();
      }
    },
  );

  test('an hour, a poll costs no more than otherwise, but while the day has not begun there', async () => {
    start({ startMs: Date.UTC(2026, 10, 18, 9), oursAheadMs: HOUR_MS });
    await fixture.minutes(5);
    const before = fixture.requests;
    await fixture.minutes(30);
    expect(fixture.requests - before).toBe(30);
  });

  test('an hour that it does not tell, no counter is above the service, and each is exact once an hour', async () => {
    start({ startMs: Date.UTC(2026, 10, 18, 9), oursAheadMs: HOUR_MS, tellsTime: false });
    await fixture.minutes(10);
    let exact = 0;
    for (let i = 0; i < 130; i++) {
      fixture.violations.length = 0;
      await fixture.minutes(1);
      const [entered = NaN] = fixture.totals();
      const [truth = NaN] = fixture.truth().totals;
      expect(entered).toBeLessThanOrEqual(truth);
      exact += entered === truth ? 1 : 0;
    }
    expect(exact).toBeGreaterThanOrEqual(2);
  });
});
