/** Our own clock steps, and no figure is wrong. */
import { afterEach, describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS, busyRig } from './clock-fixture.ts';
import type { Rig, RigOptions } from './clock-fixture.ts';
import { SCENES, local } from './clock-scenarios.ts';

let rig: Rig;
afterEach(() => rig.stop());

function rigOf(options: RigOptions): Rig {
  rig = busyRig(options);
  return rig;
}

/** Everything is shown, and is the service's. */
function expectExact(): void {
  expect(rig.totals()).toEqual(rig.truth().totals);
  expect(rig.today()).toEqual(rig.truth().today);
  expect(rig.figures().occupancy).toBeDefined();
}

describe('our clock goes', () => {
  test.each(SCENES)('%s: no figure is wrong, and all are back', async (_, startMs, moves) => {
    rigOf({ startMs });
    for (const [move, minutes] of moves) {
      if (move === 'run') {
        await rig.minutes(minutes);
      } else {
        rig.step(minutes * MINUTE_MS);
      }
    }
    expect(rig.violations).toEqual([]);
    expectExact();
  });
});

describe('a clock that steps', () => {
  test('back over the start of the epoch does not bring the old epoch back', async () => {
    rigOf({ startMs: local(31, 3, 50) });
    await rig.minutes(30);
    const december = local(31, 4);
    expect(rig.figures().periodStartMs).toBe(december);
    const before = rig.totals();
    rig.step(-HOUR_MS);
    expect(rig.figures().periodStartMs).toBe(december);
    expect(rig.totals()).toEqual(before);
    await rig.minutes(5);
    expect(rig.figures().periodStartMs).toBe(december);
    expect(rig.totals()).toEqual(rig.truth().totals);
  });

  test('over the start of the epoch hides the counters at once', async () => {
    rigOf({ startMs: local(31, 3, 30) });
    await rig.minutes(5);
    rig.step(HOUR_MS);
    expect(rig.figures().periodStartMs).toBe(local(31, 4));
    expect(rig.totals()).toEqual([undefined, undefined]);
    expect(rig.today()).toEqual([undefined, undefined]);
    expect(rig.figures().occupancy).toBeUndefined();
  });

  test('over the start of the day, in either direction, hides the figures of today at once', async () => {
    rigOf({ startMs: local(18, 3, 30) });
    await rig.minutes(5);
    rig.step(HOUR_MS);
    expect(rig.today()).toEqual([undefined, undefined]);
    expect(rig.figures().occupancy).toBeUndefined();
    expect(rig.totals()).toEqual(rig.truth().totals);
    await rig.minutes(2);
    expect(rig.today()).toEqual([0, 0]);
    rig.step(-HOUR_MS);
    expect(rig.today()).toEqual([undefined, undefined]);
    expect(rig.figures().occupancy).toBeUndefined();
    await rig.minutes(2);
    expect(rig.today()).toEqual(rig.truth().today);
  });

  test('by minutes over the start of the day leaves nobody inside from the day before', async () => {
    rigOf({ startMs: local(18, 3, 50) });
    await rig.minutes(5);
    expect(rig.figures().occupancy).toBeGreaterThan(0);
    rig.step(10 * MINUTE_MS);
    expect(rig.figures().occupancy).toBeUndefined();
    await rig.minutes(2);
    expect(rig.figures().occupancy).toBe(0);
  });

  test('by days into the next epoch and back finds the mark of the old one', async () => {
    rigOf({ startMs: local(29, 12) });
    await rig.minutes(5);
    const held = rig.totals();
    const eventMs = rig.serviceMs - 2 * MINUTE_MS;
    rig.service.records.push({ eventMs, arrivalMs: rig.serviceMs, counts: [-3, 0] });
    rig.traffic = () => [0, 0];
    rig.step(3 * DAY_MS);
    await rig.minutes(5);
    expect(rig.totals()).toEqual([0, 0]);
    rig.clock.step(-3 * DAY_MS);
    await rig.clock.advance(MINUTE_MS);
    expect(rig.figures().periodStartMs).toBe(Date.UTC(2026, 10, 1, 3));
    expect(rig.totals().map((total) => Number(total) >= 0)).toEqual([true, true]);
    expect(rig.totals()[0]).toBeGreaterThanOrEqual(Number(held[0]));
    expect(rig.figures().counters.people_entered?.excess).toBe(3);
  });

  test('back does not keep an old occupancy while the service is away', async () => {
    rigOf({ startMs: local(18, 12) });
    await rig.minutes(5);
    rig.away = true;
    rig.step(-HOUR_MS);
    expect(rig.figures().occupancy).toBeUndefined();
    expect(rig.totals()).toEqual(rig.truth().totals);
    rig.away = false;
    await rig.minutes(3);
    expect(rig.figures().occupancy).toBeDefined();
  });
});
