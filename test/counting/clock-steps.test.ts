/** Our own clock steps, and no value is wrong. */
import { afterEach, describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS, busyFixture } from './clock-fixture.ts';
import type { ClockFixture, ClockFixtureOptions } from './clock-fixture.ts';

/** In local time of Copenhagen in winter. */
function local(day: number, hour: number, minute = 0): number {
  return Date.UTC(2026, 10, day, hour - 1, minute);
}

const TO_1970 = local(18, 12) / MINUTE_MS;
/** Steps of our clock in minutes with a sign, and minutes that it runs. */
const SCENARIOS: readonly [string, number, string][] = [
  ['forward by an hour at noon', local(18, 12), '10 +60 100'],
  ['back by an hour at noon', local(18, 12), '10 -60 100'],
  ['forward over the start of the day and back', local(18, 3, 40), '5 +60 5 -60 100'],
  ['back over the start of the day and forward', local(18, 3, 50), '30 -60 10 +60 100'],
  ['forward over the start of the period and back', local(31, 3, 40), '5 +60 5 -60 100'],
  ['back over the start of the period and forward', local(31, 3, 50), '30 -60 10 +60 100'],
  ['forward by three days over the start of the period', local(29, 12), '10 +4320 10 -4320 80'],
  ['to 1970 and back', local(18, 12), `10 -${TO_1970} 5 +${TO_1970} 80`],
  ['a little every minute', local(18, 3, 30), '-3 1 +3 1 '.repeat(60)],
  ['not at all for an hour, and is corrected', local(31, 3, 30), `${'1 -1 '.repeat(60)}+60 40`],
];

let fixture: ClockFixture;
afterEach(() => fixture.stop());

function start(options: ClockFixtureOptions): ClockFixture {
  fixture = busyFixture(options);
  return fixture;
}

/** Everything is shown, and is the service's. */
function expectExact(): void {
  expect(fixture.totals()).toEqual(fixture.truth().totals);
  expect(fixture.today()).toEqual(fixture.truth().today);
  expect(fixture.metrics().occupancy).toBeDefined();
}

describe('our clock goes', () => {
  test.each(SCENARIOS)('%s: no value is wrong, and all are back', async (_, startMs, moves) => {
    start({ startMs });
    for (const move of moves.trim().split(' ')) {
      if (/^[+-]/.test(move)) {
        fixture.step(Number(move) * MINUTE_MS);
      } else {
        await fixture.minutes(Number(move));
      }
    }
    expect(fixture.violations).toEqual([]);
    expectExact();
  });
});

describe('a clock that steps', () => {
  test('back over the start of the counting period does not bring the old counting period back', async () => {
    start({ startMs: local(31, 3, 50) });
    await fixture.minutes(30);
    const december = local(31, 4);
    expect(fixture.metrics().periodStartMs).toBe(december);
    const before = fixture.totals();
    fixture.step(-HOUR_MS);
    expect(fixture.metrics().periodStartMs).toBe(december);
    expect(fixture.totals()).toEqual(before);
    await fixture.minutes(5);
    expect(fixture.metrics().periodStartMs).toBe(december);
    expect(fixture.totals()).toEqual(fixture.truth().totals);
  });

  test('over the start of the counting period hides the counters at once', async () => {
    start({ startMs: local(31, 3, 30) });
    await fixture.minutes(5);
    fixture.step(HOUR_MS);
    expect(fixture.metrics().periodStartMs).toBe(local(31, 4));
    expect(fixture.totals()).toEqual([undefined, undefined]);
    expect(fixture.today()).toEqual([undefined, undefined]);
    expect(fixture.metrics().occupancy).toBeUndefined();
  });

  test('over the start of the day, in either direction, hides the values of today at once', async () => {
    start({ startMs: local(18, 3, 30) });
    await fixture.minutes(5);
    fixture.step(HOUR_MS);
    expect(fixture.today()).toEqual([undefined, undefined]);
    expect(fixture.metrics().occupancy).toBeUndefined();
    expect(fixture.totals()).toEqual(fixture.truth().totals);
    await fixture.minutes(2);
    expect(fixture.today()).toEqual([0, 0]);
    fixture.step(-HOUR_MS);
    expect(fixture.today()).toEqual([undefined, undefined]);
    expect(fixture.metrics().occupancy).toBeUndefined();
    await fixture.minutes(2);
    expect(fixture.today()).toEqual(fixture.truth().today);
  });

  test('by days into the next counting period and back finds the mark of the old one', async () => {
    start({ startMs: local(29, 12) });
    await fixture.minutes(5);
    const before = fixture.totals();
    const eventMs = fixture.serviceMs - 2 * MINUTE_MS;
    fixture.service.records.push({ eventMs, arrivalMs: fixture.serviceMs, counts: [-3, 0] });
    fixture.traffic = () => [0, 0];
    fixture.step(3 * DAY_MS);
    await fixture.minutes(5);
    expect(fixture.totals()).toEqual([0, 0]);
    fixture.clock.step(-3 * DAY_MS);
    await fixture.clock.advance(MINUTE_MS);
    expect(fixture.metrics().periodStartMs).toBe(Date.UTC(2026, 10, 1, 3));
    expect(fixture.totals().map((total) => Number(total) >= 0)).toEqual([true, true]);
    expect(fixture.totals()[0]).toBeGreaterThanOrEqual(Number(before[0]));
    expect(fixture.metrics().counters.people_entered?.excess).toBe(3);
  });

  test('back does not keep an old occupancy while the service is away', async () => {
    start({ startMs: local(18, 12) });
    await fixture.minutes(5);
    fixture.away = true;
    fixture.step(-HOUR_MS);
    expect(fixture.metrics().occupancy).toBeUndefined();
    expect(fixture.totals()).toEqual(fixture.truth().totals);
    fixture.away = false;
    await fixture.minutes(3);
    expect(fixture.metrics().occupancy).toBeDefined();
  });
});
