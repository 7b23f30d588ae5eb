/**
 * Clocks that are wrong: ours, those of devices and that of the service. After every minute and every
 * step, each value must be the service's or absent.
 */
import { describe, expect, test } from 'vitest';
import type { Conventions } from '../../../src/simulator/conventions.ts';
import { NOVEMBER, OWNER } from '../../support/owner.ts';
import { MINUTE_KEYS } from '../../support/simulated-people.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, polledPeople, StreamFixture } from '../fixture.ts';
import type { StreamOptions } from '../fixture.ts';

/** Returns an instant by local time of Copenhagen in winter; day 31 of November is 1 December. */
function local(day: number, hour: number, minute = 0): number {
  return Date.UTC(2026, 10, day, hour - 1, minute);
}

/** A library with visitors in each minute, whose values are compared after each of them. */
class BusyLibrary extends StreamFixture {
  readonly #violations: string[] = [];
  traffic = (minute: number): readonly number[] => [1 + (minute % 3), 1];

  static async polled(options: StreamOptions, aheadMs = 0): Promise<BusyLibrary> {
    const library = new BusyLibrary({ startMs: local(18, 11), ...options });
    library.aheadMs = aheadMs;
    await library.poll();
    return library;
  }

  async minutes(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      this.record(this.nowMs + MINUTE_MS / 2, this.traffic(this.nowMs / MINUTE_MS));
      await this.polls(1);
      this.#audit();
    }
  }

  /** Steps our clock. */
  step(ms: number): void {
    this.aheadMs += ms;
    this.#audit();
  }

  /** Returns the service's totals of the day by our clock. */
  servedToday(): number[] {
    return this.served(this.customer.calendar.dayAt(this.clockMs).startMs);
  }

  #audit(isPresent = false): void {
    const exported = [...this.totals(), ...this.today()];
    const served = [...this.served(this.metrics().periodStartMs), ...this.servedToday()];
    const expected = isPresent
      ? served
      : exported.map((value, i) => (value === undefined ? value : served[i]));
    if (exported.some((value, i) => value !== expected[i])) {
      const at = new Date(this.clockMs).toISOString();
      this.#violations.push(`${at}: ${exported.join()} of ${served.join()}`);
    }
  }

  /** Returns the values that were wrong, or are absent now. */
  violations(): readonly string[] {
    this.#audit(true);
    return this.metrics().occupancy === undefined
      ? [...this.#violations, 'no occupancy']
      : this.#violations;
  }
}

describe('our clock', () => {
  const TO_1970 = local(18, 12) / MINUTE_MS;

  /** Steps in minutes with a sign, and minutes that it runs. */
  test.each([
    ['forward by an hour at noon', local(18, 12), '10 +60 100'],
    ['back by an hour at noon', local(18, 12), '10 -60 100'],
    ['forward over the start of the day and back', local(18, 3, 40), '5 +60 5 -60 100'],
    ['back over the start of the day and forward', local(18, 3, 50), '30 -60 10 +60 100'],
    ['forward over the start of the period and back', local(31, 3, 40), '5 +60 5 -60 100'],
    ['back over the start of the period and forward', local(31, 3, 50), '30 -60 10 +60 100'],
    ['forward by three days over the start of the period', local(29, 12), '10 +4320 10 -4320 80'],
    ['to 1970 and back', local(18, 12), `10 -${TO_1970} 5 +${TO_1970} 80`],
    ['a little every minute', local(18, 3, 30), `${'-3 1 +3 1 '.repeat(60)}1`],
    ['not at all for an hour, and is corrected', local(31, 3, 30), `${'1 -1 '.repeat(60)}+60 40`],
  ])('goes %s: no value is wrong, and all are back', async (_, startMs, moves) => {
    const library = await BusyLibrary.polled({ startMs });
    for (const move of moves.split(' ')) {
      if (/^[+-]/.test(move)) {
        library.step(Number(move) * MINUTE_MS);
      } else {
        await library.minutes(Number(move));
      }
    }
    expect(library.violations()).toEqual([]);
  });

  test('hides the values of another period and day at once', async () => {
    const library = await BusyLibrary.polled({ startMs: local(31, 3, 50) });
    library.step(15 * MINUTE_MS);
    expect(library.metrics()).toMatchObject({
      periodStartMs: local(31, 4),
      occupancy: undefined,
    });
    expect([...library.totals(), ...library.today()]).toEqual(Array(4).fill(undefined));
  });

  test('goes by days into the next period and back: the old mark stays', async () => {
    const people = new StreamFixture({ startMs: local(29, 12) });
    people.record(local(29, 11), [3, 0], { goneMs: local(29, 12, 2) });
    await people.poll();
    people.aheadMs = 3 * DAY_MS;
    // A first total of 0 is confirmed after a reconcile interval.
    await people.polls(62);
    expect(people.totals()).toEqual([0, 0]);
    people.aheadMs = 0;
    await people.polls(1);
    expect(people.totals()).toEqual([50, 39]);
    expect(people.excess()).toEqual([3, 0]);
  });

  test('goes by hours into the next period and back: the new period is discarded, also by a restart', async () => {
    const people = new StreamFixture({ startMs: local(30, 21) });
    people.record(local(31, 5), [1, 0], { arrivesMs: local(30, 20) });
    await people.poll();
    people.aheadMs = 10 * HOUR_MS;
    await people.polls(1);
    expect(people.metrics().periodStartMs).toBe(NOVEMBER.endMs);
    expect(people.totals()).toEqual([1, 0]);
    people.aheadMs = 0;
    people.restart();
    await people.polls(1);
    expect(people.metrics().periodStartMs).toBe(NOVEMBER.startMs);
    expect(people.totals()).toEqual([48, 39]);
    expect(people.marks.ofPeriod(OWNER, 'people_entered', NOVEMBER.endMs)).toBeUndefined();
  });
});

describe('the clock of a device is ahead', () => {
  const AHEAD = [2 * MINUTE_MS, 20 * MINUTE_MS, 3 * HOUR_MS, 65 * DAY_MS, 4000 * DAY_MS];
  const CONVENTIONS: readonly Partial<Conventions>[] = [
    { fromEdge: 'inclusive' },
    { windowTime: 'server' },
    { minuteKey: MINUTE_KEYS['UTC without Z'] },
  ];
  const CASES = AHEAD.flatMap((aheadMs) => CONVENTIONS.map((own) => [aheadMs, own] as const));

  test.each(CASES)('by %i ms at a service with %j: who comes counts at once', async (...one) => {
    const [aheadMs, conventions] = one;
    const library = await BusyLibrary.polled({ conventions });
    library.traffic = () => [1, 1];
    await library.minutes(5);
    const { occupancy = NaN } = library.metrics();
    const arrivesMs = library.nowMs + 1000;
    library.record(arrivesMs + aheadMs, [30, 0], { arrivesMs });
    await library.minutes(1);
    expect(library.violations()).toEqual([]);
    const { occupancy: before, streams } = library.metrics();
    expect(before).toBe(occupancy);
    expect(streams.people?.lastSeenMs).toBeLessThanOrEqual(library.nowMs);
    await library.minutes(80);
    expect(library.violations()).toEqual([]);
    // Inside from its minute on.
    expect(library.metrics().occupancy).toBe(occupancy + (aheadMs < HOUR_MS ? 30 : 0));
  });

  test('as all devices are: what cannot be dated is absent, and no counter is wrong', async () => {
    const people = new StreamFixture({ records: [] });
    await people.polls(2);
    for (let i = 0; i < 20; i++) {
      const arrivesMs = people.nowMs + 1000;
      people.record(arrivesMs + 3 * HOUR_MS, [3, 1], { arrivesMs });
      await people.polls(1);
      expect(people.totals()).toEqual([3 * i + 3, i + 1]);
      expect(people.today()).toEqual(people.totals());
      const { occupancy = 0, streams } = people.metrics();
      expect([occupancy, streams.people?.lastSeenMs]).toEqual([0, undefined]);
    }
  });
});

describe('our clock is ahead of the service by', () => {
  const OFFSETS = [10, -16, 60, -60, 185, -185].map((min) => min * MINUTE_MS);

  /** The start of a day or a period may lie between both clocks. */
  test.each(OFFSETS)('%i ms, and every counter is exact', async (aheadMs) => {
    for (const startMs of [local(18, 10), local(18, 2, 30), local(31, 2, 30)]) {
      const library = await BusyLibrary.polled({ startMs }, aheadMs);
      await library.minutes(130);
      expect(library.violations()).toEqual([]);
    }
  });

  test.each(OFFSETS)('%i ms, and the people of the last minutes are inside', async (aheadMs) => {
    for (const key of ['UTC with Z', 'local time', 'local time of day'] as const) {
      const conventions = { minuteKey: MINUTE_KEYS[key] };
      const library = await BusyLibrary.polled({ conventions }, aheadMs);
      for (let i = 0; i < 70; i++) {
        await library.minutes(1);
        const [entered = NaN, exited = NaN] = library.servedToday();
        expect(library.metrics().occupancy).toBe(entered - exited);
      }
    }
  });

  test('an hour, and a poll costs no more than otherwise', async () => {
    const library = await BusyLibrary.polled({}, HOUR_MS);
    await library.minutes(5);
    for (let i = 0; i < 30; i++) {
      await library.minutes(1);
      expect(library.requests).toHaveLength(1);
    }
  });

  test('an hour that it does not tell: no counter is too high, and each is exact once an hour', async () => {
    const people = await polledPeople();
    people.aheadMs = HOUR_MS;
    people.serviceNowMs = () => people.clockMs;
    let exact = 0;
    for (let i = 0; i < 140; i++) {
      people.record(people.nowMs + MINUTE_MS / 2, [1 + (i % 3), 1]);
      await people.polls(1);
      const [entered = NaN] = people.totals();
      const [total = NaN] = people.served();
      expect(entered).toBeLessThanOrEqual(total);
      exact += entered === total ? 1 : 0;
    }
    expect(exact).toBeGreaterThanOrEqual(2);
  });
});

test('a service that tells an hour too much, and every counter is exact', async () => {
  const library = new BusyLibrary({ startMs: local(18, 11) });
  library.serviceNowMs = () => library.nowMs + HOUR_MS;
  await library.minutes(70);
  expect(library.violations()).toEqual([]);
});
